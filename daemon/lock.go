package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"arborist/daemon/api"
)

// ErrLocked: another process owns the home.
var ErrLocked = errors.New("in use by another process")

// A lock is the single-owner lock of a home: an advisory lock on a file that
// holds the owner's process ID. The kernel drops it with the process, so a
// kill -9 leaves none behind.
type lock struct {
	f *os.File
}

// takeLock takes the lock, waiting up to wait for a short-lived owner.
func takeLock(ctx context.Context, home Home, wait time.Duration) (*lock, error) {
	f, err := os.OpenFile(home.Lock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", home, err)
	}
	deadline := time.Now().Add(wait)
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", home, err)
		}
		if time.Now().After(deadline) {
			owner, _ := io.ReadAll(io.LimitReader(f, 32))
			f.Close()
			return nil, api.NewError(api.CodeLocked,
				fmt.Errorf("open %s: %w (pid %s)", home, ErrLocked, strings.TrimSpace(string(owner))),
				"wait for it, or stop it (Ctrl-C keeps what it has done); beside a daemon all verbs work at the same time: when it is done, start one: arborist daemon")
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", home, err)
	}
	return &lock{f}, nil
}

func (l *lock) release() error { return l.f.Close() }
