package shard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mattn/go-sqlite3"
)

// stepPages is how many pages are copied between two looks at the context.
const stepPages = 512

// A Snapshot is one state of an SQLite file, kept readable by an open read
// transaction while others go on writing. It has to be closed: until then the
// file's write-ahead log grows with each write.
type Snapshot struct {
	path string
	db   *sql.DB
	conn *sql.Conn
}

// HoldFile takes a snapshot of an SQLite file of ours, whatever is in it.
func HoldFile(ctx context.Context, path string) (_ *Snapshot, err error) {
	s := &Snapshot{path: path}
	defer func() {
		if err != nil {
			err = named(path, fmt.Errorf("take a snapshot: %w", err))
			s.Close()
		}
	}()
	if err := plain(path); err != nil {
		return nil, err
	}
	if s.db, err = connect(path, reading); err != nil {
		return nil, err
	}
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return nil, err
	}
	// The transaction begins with its first read.
	var tables int
	if _, err := s.conn.ExecContext(ctx, "BEGIN"); err != nil {
		return nil, err
	}
	return s, s.conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
}

// Snapshot takes a snapshot of the file.
func (f *File) Snapshot(ctx context.Context) (*Snapshot, error) { return HoldFile(ctx, f.path) }

// Snapshots takes snapshots of all files of the set and of its logs, of one
// moment: no document is between its file and its log. During, if not nil, runs
// in that moment too; nothing is put or published until it returns.
func (s *Shared) Snapshots(ctx context.Context, during func() error) (_ []*Snapshot, err error) {
	// The order is that of a Publisher, which takes the turn while it publishes.
	release, err := take(ctx, s.publishing, s.turn)
	if err != nil {
		return nil, fmt.Errorf("take a snapshot: %w", err)
	}
	defer release()
	s.gate.enter()
	defer s.gate.leave()
	var all []*Snapshot
	defer func() {
		if err != nil {
			for _, snap := range all {
				err = errors.Join(err, snap.Close())
			}
		}
	}()
	// A sync puts documents and then extends its copy of the log, in many steps
	// and without either token: the log goes first, so that it names nothing
	// that the files lack.
	paths := []string{filepath.Join(s.dir, CorporaName)}
	for _, f := range s.files {
		paths = append(paths, f.path)
	}
	for _, path := range paths {
		snap, err := HoldFile(ctx, path)
		if err != nil {
			return all, err
		}
		all = append(all, snap)
	}
	if during != nil {
		return all, during()
	}
	return all, nil
}

// Path returns the file that the snapshot is of.
func (s *Snapshot) Path() string { return s.path }

// Size returns how many bytes a copy takes.
func (s *Snapshot) Size(ctx context.Context) (int64, error) {
	var pages, size int64
	err := s.conn.QueryRowContext(ctx, "SELECT page_count, page_size FROM pragma_page_count, pragma_page_size").Scan(&pages, &size)
	if err != nil {
		return 0, named(s.path, err)
	}
	return pages * size, nil
}

// CopyTo writes the state into a new file, which its owner alone can read and
// which is durable on return. It tells progress, if that is not nil, how many
// bytes of it are written. Where it fails it leaves nothing.
func (s *Snapshot) CopyTo(ctx context.Context, path string, progress func(done int64)) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("copy %s: %w", s.path, err)
	}
	defer func() {
		err = errors.Join(err, file.Close())
		if err != nil {
			err = fmt.Errorf("copy %s to %s: %w", s.path, path, damage(err))
			os.Remove(path)
		}
	}()
	to, err := connect(path, creating)
	if err != nil {
		return err
	}
	err = errors.Join(s.copyPages(ctx, to, progress), to.Close())
	return errors.Join(err, file.Sync())
}

func (s *Snapshot) copyPages(ctx context.Context, to *sql.DB, progress func(int64)) error {
	conn, err := to.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// A copy that is cut short is thrown away: it needs no journal, and one sync
	// at its end.
	if _, err := conn.ExecContext(ctx, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF"); err != nil {
		return err
	}
	return s.conn.Raw(func(from any) error {
		return conn.Raw(func(to any) error {
			return step(ctx, to.(*sqlite3.SQLiteConn), from.(*sqlite3.SQLiteConn), progress)
		})
	})
}

// pageSize is that of every file of ours: SQLite's own choice, which none
// changes. Progress alone depends on it.
const pageSize = 4096

// step copies page by page. Between the steps the source stays in its read
// transaction, so no write of others makes SQLite begin again.
func step(ctx context.Context, to, from *sqlite3.SQLiteConn, progress func(int64)) error {
	b, err := to.Backup("main", from, "main")
	if err != nil {
		return err
	}
	for done := false; err == nil && !done; {
		if err = ctx.Err(); err != nil {
			break
		}
		if done, err = b.Step(stepPages); err == nil && progress != nil {
			progress(int64(b.PageCount()-b.Remaining()) * pageSize)
		}
	}
	return errors.Join(err, b.Finish())
}

// Close ends the snapshot. A second Close does nothing.
func (s *Snapshot) Close() error {
	if s.db == nil {
		return nil
	}
	var errs []error
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	errs = append(errs, s.db.Close())
	s.db, s.conn = nil, nil
	return errors.Join(errs...)
}
