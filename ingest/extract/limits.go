package extract

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"time"
)

// Limits of the tree path. A page beyond one of them is read by its tokens,
// which is linear in its size.
const (
	maxTree     = 4 << 20  // bytes of a page
	maxElements = 50_000   // start tags
	maxGrown    = 150_000  // elements that the parser may add by itself
	maxMerged   = 64 << 20 // bytes that the parser may copy while it joins text
	maxWork     = 32 << 20 // bytes that an extractor may look at, counted once for each container; real pages stay below 5 MB
	maxTime     = 2 * time.Second
)

// errLimit: a page went over a limit of the tree path.
var errLimit = errors.New("page is over a limit of the tree path")

// A clock bounds what one page may cost. It measures the processor time of its
// own thread where the system can tell, so that a busy machine changes no
// result, and it is the last line only: pages are counted first.
type clock struct {
	ctx   context.Context
	limit time.Duration
	begun time.Time
	spent time.Duration // of the thread at begun
}

// startClock binds the goroutine to its thread until stop is called.
func startClock(ctx context.Context, limit time.Duration) *clock {
	runtime.LockOSThread()
	return &clock{ctx: ctx, limit: limit, begun: time.Now(), spent: threadTime()}
}

func (c *clock) stop() { runtime.UnlockOSThread() }

// err returns the context's error, or errLimit when the time is up.
func (c *clock) err() error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	if time.Since(c.begun) < c.limit {
		return nil // the thread cannot have had more than the wall clock
	}
	if now := threadTime(); now != 0 && now-c.spent < c.limit {
		return nil
	}
	return errLimit
}

// An abort is thrown through a library that takes no context.
type abort struct{ err error }

// check throws an abort when the time is up.
func (c *clock) check() {
	if err := c.err(); err != nil {
		panic(abort{err})
	}
}

// guard calls f and returns what was thrown out of it: an abort's own error,
// errLimit for any other panic, which is a fault of the library that f calls.
func guard(f func() error) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case abort:
			err = v.err
		default:
			err = errLimit
		}
	}()
	return f()
}

// logger returns a logger that logs nothing: the extractor asks it at every
// node whether it is enabled, and there it is stopped.
func (c *clock) logger() *slog.Logger { return slog.New(stopper{c}) }

type stopper struct{ clock *clock }

func (s stopper) Enabled(context.Context, slog.Level) bool {
	s.clock.check()
	return false
}
func (s stopper) Handle(context.Context, slog.Record) error { return nil }
func (s stopper) WithAttrs([]slog.Attr) slog.Handler        { return s }
func (s stopper) WithGroup(string) slog.Handler             { return s }

// A slowReader hands out a page in small pieces and stops when the time is up.
// It is what ends a parser on its own slow paths.
type slowReader struct {
	clock *clock
	rest  []byte
}

func (r *slowReader) Read(p []byte) (int, error) {
	if err := r.clock.err(); err != nil {
		return 0, err
	}
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 1024)], r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
