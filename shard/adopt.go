package shard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"arborist/shard/internal/index"
)

// ErrTooLarge: a file is over the size that the caller set.
var ErrTooLarge = errors.New("too large")

// adoptRoom is what has to be free on the disk after an adoption, in bytes.
const adoptRoom = 64 << 20

// An Adopted tells of a foreign file of which there is now a verified copy.
type Adopted struct {
	Name      string // of the copy in its folder: from the hash of the bytes that were given
	Kind      Kind
	FileBytes int64 // of what was copied
	Stats     Stats // each document of it hashed
	Migrated  bool  // it was of an older schema version, and the copy is of this one
	LogBeside bool  // a log lay beside it: what was in that alone is not in the copy
}

// Adopt copies a foreign shard file into a folder of ours and verifies all of
// the copy: the schema, every document by its hashes, counters, locations, and
// the index word by word against the texts. On return without error the copy is
// durable, under [Adopted].Name; otherwise nothing is left of it.
//
// The file must be a plain one, no link, with one name, of at most limit bytes.
// It alone is read, by one handle, and nothing is written to it; what lies
// beside it does not count. SQLite sees the copy only. A file of an older schema
// version is migrated, in the copy.
//
// Errors name the file and wrap [ErrUnsafe], [ErrKind], [ErrNewer], [ErrCorrupt],
// [ErrFull], [ErrTooLarge] or [ErrNotFound].
func Adopt(ctx context.Context, path, dir string, limit int64) (Adopted, error) {
	a, err := adopt(ctx, path, dir, limit)
	if err != nil {
		// Its own name, not that of the copy.
		var fe *FileError
		for errors.As(err, &fe) {
			err = fe.Err
		}
		return Adopted{}, &FileError{Path: path, Err: err}
	}
	return a, nil
}

func adopt(ctx context.Context, path, dir string, limit int64) (a Adopted, err error) {
	staged := filepath.Join(dir, fmt.Sprintf("%s.new", rand.Text()[:12]))
	defer func() {
		for _, suffix := range append(sidecars[:], "") {
			os.Remove(staged + suffix) // only there where something failed
		}
	}()
	if err := a.copyFile(ctx, path, staged, limit); err != nil {
		return a, err
	}
	kind, version, err := inspectFile(staged)
	if err != nil {
		return a, err
	}
	if err := expect(kind, version, KindShared, KindPrivate); err != nil {
		return a, err
	}
	a.Kind = kind
	if version < SchemaVersion {
		f, err := OpenFile(staged, kind, "")
		if err != nil {
			return a, err
		}
		if err := f.Close(); err != nil {
			return a, err
		}
		a.Migrated = true
	}
	if a.Stats, err = verifyWhole(ctx, staged); err != nil {
		return a, err
	}
	if st, err := os.Lstat(path + "-wal"); err == nil && st.Size() > 0 {
		a.LogBeside = true
	}
	if err := os.Rename(staged, filepath.Join(dir, a.Name)); err != nil {
		return a, err
	}
	return a, SyncFolder(dir)
}

// copyFile copies the main file alone, and makes the name of its copy. It
// follows no link and never blocks, whatever stands there.
func (a *Adopted) copyFile(ctx context.Context, path, to string, limit int64) error {
	if err := plain(path); errors.Is(err, ErrUnsafe) {
		return err // said better than by open, which fails on a socket
	} else if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	from, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if err := plainInfo(path, info); err != nil {
		return err
	}
	if a.FileBytes = info.Size(); a.FileBytes > limit {
		return fmt.Errorf("%w: %d bytes, at most %d are taken", ErrTooLarge, a.FileBytes, limit)
	}
	if err := room(to, a.FileBytes); err != nil {
		return err
	}
	copied, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(copied, hash), &stoppable{ctx, io.LimitReader(from, a.FileBytes)})
	if err == nil && n != a.FileBytes {
		err = corrupt("it shrank while it was copied")
	}
	a.Name = hex.EncodeToString(hash.Sum(nil)[:16]) + ".db"
	return errors.Join(err, copied.Sync(), copied.Close())
}

// room refuses where the disk has no space for a copy and, where it has to be
// migrated, for what that writes beside.
func room(path string, size int64) error {
	var st syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &st); err != nil {
		return err
	}
	free := int64(st.Bavail) * int64(st.Bsize)
	if need := 3*size + adoptRoom; free < need {
		return fmt.Errorf("%w: the copy needs up to %d bytes while it is made, %d are free", ErrFull, need, free)
	}
	return nil
}

// stoppable is a reader that fails when its context ends.
type stoppable struct {
	ctx  context.Context
	from io.Reader
}

func (s *stoppable) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.from.Read(b)
}

// verifyWhole opens a copy as a stranger's file and checks everything in it.
func verifyWhole(ctx context.Context, path string) (Stats, error) {
	f, err := OpenForeign(path)
	if err != nil {
		return Stats{}, err
	}
	defer f.Close()
	// A file with thousands of faults would tell nothing more than its first.
	ctx, enough := context.WithCancelCause(ctx)
	defer enough(nil)
	_, err = f.Check(ctx, func(problem string) {
		enough(corrupt("%s", trimPath(problem, f.path)))
	})
	if cause := context.Cause(ctx); errors.Is(cause, ErrCorrupt) {
		return Stats{}, cause
	}
	if err != nil {
		return Stats{}, err
	}
	return f.Stats(ctx)
}

func trimPath(problem, path string) string {
	if n := len(path) + 2; len(problem) > n && problem[:n] == path+": " {
		return problem[n:]
	}
	return problem
}

// adoptedReaders is how many connections read one of many adopted files.
const adoptedReaders = 2

// OpenAdopted opens a copy that [Adopt] made, with the promises and errors of
// [OpenForeign]: bytes that have lain on a disk are not believed either. It is
// for many files at once: each takes at most two file handles, and cache bytes
// of memory for the rows of its index.
func OpenAdopted(path string, cache int) (*File, error) {
	f, err := openForeign(path, adopted)
	if err != nil {
		return nil, named(path, fmt.Errorf("open adopted shard: %w", err))
	}
	f.reader.SetMaxOpenConns(adoptedReaders)
	f.reader.SetMaxIdleConns(1)
	f.index.rows = index.NewCache(cache)
	return f, nil
}
