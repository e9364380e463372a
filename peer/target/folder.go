package target

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"syscall"

	"arborist/peer"
)

// passing is the folder within a target in which files lie until they are
// whole.
const passing = ".arborist-passing"

// A Folder is a folder on this machine. One process at a time writes to it.
type Folder struct {
	root *os.Root
	lock *os.File

	mu    sync.Mutex
	known map[string]bool // folders whose own names are durable; guarded by mu
}

var _ peer.Target = (*Folder)(nil)

// OpenFolder opens a folder, which is made where it is missing. Files that a
// publish that was cut left unfinished are removed. Nothing is ever written
// outside: links that lead there are errors.
func OpenFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{root: root, known: map[string]bool{}}
	if err := f.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare %s: %w", dir, err), f.Close())
	}
	return f, nil
}

func (f *Folder) begin() (err error) {
	if err := f.root.Mkdir(passing, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if f.lock, err = f.root.OpenFile(passing+"/lock", os.O_CREATE|os.O_RDWR, 0o644); err != nil {
		return err
	}
	if err := syscall.Flock(int(f.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another publish writes there: %w", err)
	}
	left, err := fs.ReadDir(f.root.FS(), passing)
	if err != nil {
		return err
	}
	for _, e := range left {
		if e.Name() != "lock" {
			if err := f.root.Remove(passing + "/" + e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close ends the use of the folder.
func (f *Folder) Close() error {
	var err error
	if f.lock != nil {
		err = f.lock.Close() // and the lock on it ends
	}
	return errors.Join(err, f.root.Close())
}

// Size implements [peer.Target].
func (f *Folder) Size(_ context.Context, name string) (int64, error) {
	info, err := f.root.Lstat(filepath.FromSlash(name))
	switch {
	case err != nil:
		return 0, err
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%s is not a plain file", name)
	}
	return info.Size(), nil
}

// Get implements [peer.Target].
func (f *Folder) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	if _, err := f.Size(ctx, name); err != nil {
		return nil, err
	}
	file, err := f.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readAll(file, name, limit)
}

// readAll reads at most limit bytes of what has a name.
func readAll(r io.Reader, name string, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is over %d bytes", name, limit)
	}
	return b, err
}

// Put implements [peer.Target]: the file is written and synced under a passing
// name, then gets its own.
func (f *Folder) Put(_ context.Context, name string, file peer.TargetFile, content io.Reader) (err error) {
	part := passing + "/" + rand.Text()
	w, err := f.root.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	n, err := io.Copy(w, content)
	if err == nil && n != file.Size {
		err = fmt.Errorf("%s: %d bytes, want %d", name, n, file.Size)
	}
	if err == nil {
		err = w.Sync()
	}
	if err = errors.Join(err, w.Close()); err == nil {
		err = f.name(part, name)
	}
	if err != nil {
		return errors.Join(err, f.root.RemoveAll(part))
	}
	return nil
}

// name gives a file its name, and makes that durable with the folders above it.
func (f *Folder) name(part, name string) error {
	if err := f.root.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o755); err != nil {
		return err
	}
	if err := f.root.Rename(part, filepath.FromSlash(name)); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		known := f.known[dir]
		d, err := f.root.Open(filepath.FromSlash(dir))
		if err != nil {
			return err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return err
		}
		f.known[dir] = true
		if known || dir == "." {
			return nil
		}
	}
}
