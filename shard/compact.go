package shard

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"

	"arborist/shard/corpus"
)

// compactFactor is how many times the bytes of a file a compaction may take
// beside it for a while: the merged index, what is gathered, and the log that
// brings it back.
const compactFactor = 3

// A Compacted says what a compaction did to one file.
type Compacted struct {
	Path          string
	Before, After int64 // bytes of the file with its log
	Err           error // why it was left as it was; nil: it was not
}

// CompactRoom returns how many bytes have to be free to compact the files of the
// set, which is done one after the other.
func (s *Shared) CompactRoom() (need int64) {
	s.gate.enter()
	defer s.gate.leave()
	for _, f := range s.files {
		need = max(need, f.CompactRoom())
	}
	return max(need, compactFactor*sizeWithLog(filepath.Join(s.dir, CorporaName)))
}

// CompactRoom is [Shared.CompactRoom] for one file.
func (f *File) CompactRoom() int64 { return compactFactor * sizeWithLog(f.path) }

// sizeWithLog is what a file takes on the disk, in bytes.
func sizeWithLog(path string) (size int64) {
	for _, name := range []string{path, path + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		}
	}
	return size
}

// Compact makes the files of the set as small as they can be: it merges each
// index into one segment, writes the file anew without free pages, and empties
// its log. Searches and other reads go on; a Put waits while the file is written
// that is in turn. Everything found stays the same, to the bit. A crash leaves a
// file as it was or compacted. Each file is reported when it is done; one that
// fails is left as it was, and the others go on.
func (s *Shared) Compact(ctx context.Context, done func(Compacted)) error {
	release, err := take(ctx, s.upkeep)
	if err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	defer release()
	s.gate.enter()
	defer s.gate.leave()
	for _, f := range s.files {
		if err := f.Compact(ctx, done); err != nil {
			return err
		}
	}
	return compactOne(ctx, filepath.Join(s.dir, CorporaName), done, func() error { return s.corpora.Compact(ctx) })
}

// Compact is [Shared.Compact] for one file.
func (f *File) Compact(ctx context.Context, done func(Compacted)) error {
	release, err := take(ctx, f.turn)
	if err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	defer release()
	return compactOne(ctx, f.path, done, func() error { return f.compact(ctx) })
}

// compactOne reports a failure that is about one file, and returns one that
// ends the whole.
func compactOne(ctx context.Context, path string, done func(Compacted), fn func() error) error {
	c := Compacted{Path: path, Before: sizeWithLog(path)}
	c.Err = fn()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	c.After = sizeWithLog(path)
	done(c)
	if corpus.IsFull(c.Err) {
		return c.Err
	}
	return nil
}

func (f *File) compact(ctx context.Context) error {
	if f.broken != nil {
		return f.Broken()
	}
	if f.foreign {
		return f.fail(ErrReadOnly)
	}
	if err := f.indexAll(ctx); err != nil {
		return err
	}
	if err := f.Write(ctx, func(tx *sql.Tx) error { return f.mergeAll(tx) }); err != nil {
		return err
	}
	conn, err := f.surely(ctx)
	if err != nil {
		return f.fail(err)
	}
	defer conn.Close()
	if err := corpus.Rebuild(ctx, conn, f.path, nil); err != nil {
		// As after a commit that failed: see Write.
		f.doubt.Store(true)
		conn.Raw(func(any) error { return driver.ErrBadConn })
		return f.fail(err)
	}
	var busy, frames, moved int
	// Where others still read the old state, the log is emptied later.
	return f.fail(conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved))
}

// mergeAll makes one segment of all those of the index, and one of all counts.
func (f *File) mergeAll(tx *sql.Tx) error {
	a, err := newApplier(f, tx)
	if err != nil {
		return err
	}
	merged, err := a.index.mergeAll()
	if err != nil || !merged {
		return err
	}
	return a.finish()
}
