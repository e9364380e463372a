package corpus

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/mattn/go-sqlite3"
)

// rebuildSuffix names the file in which [Rebuild] gathers what is in another.
const rebuildSuffix = ".compact"

// rebuildStep is how many pages are copied between two looks at the context.
const rebuildStep = 256

// Rebuild writes an SQLite file in WAL mode anew, without the free pages and the
// holes in it, in one transaction of its writer: others read on, a crash leaves
// the old content or the new one, which hold the same rows. It takes up to twice
// the size of what is in the file, on the same disk, for a while.
//
// Conn is the file's only writer and is in no transaction; nobody else gets it
// meanwhile. Progress, if not nil, is told how many of how many pages are copied.
//
// SQLite's own VACUUM does the same with a temporary file in memory or in a
// folder that all users write to.
func Rebuild(ctx context.Context, conn *sql.Conn, path string, progress func(done, total int)) error {
	work := path + rebuildSuffix
	if err := RemoveRebuild(path); err != nil {
		return err
	}
	defer RemoveRebuild(path)
	// Ours alone from the first byte on; SQLite takes an empty file.
	file, err := os.OpenFile(work, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := vacuumInto(ctx, path, work); err != nil {
		return fmt.Errorf("gather what is in it: %w", err)
	}
	from, err := (&sqlite3.SQLiteDriver{}).Open((&url.URL{Scheme: "file", OmitHost: true, Path: work, RawQuery: "mode=ro&immutable=1"}).String())
	if err != nil {
		return err
	}
	defer from.Close()
	err = conn.Raw(func(to any) error {
		b, err := to.(*sqlite3.SQLiteConn).Backup("main", from.(*sqlite3.SQLiteConn), "main")
		if err != nil {
			return err
		}
		for done := false; err == nil && !done; {
			if err = ctx.Err(); err != nil {
				break
			}
			if done, err = b.Step(rebuildStep); err == nil && progress != nil {
				progress(b.PageCount()-b.Remaining(), b.PageCount())
			}
		}
		return errors.Join(err, b.Finish())
	})
	if err != nil {
		return fmt.Errorf("copy it back: %w", err)
	}
	return nil
}

// vacuumInto writes what is in a file into an empty one.
func vacuumInto(ctx context.Context, path, work string) error {
	db := sql.OpenDB(plainConnector((&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: "mode=ro&_busy_timeout=5000"}).String()))
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY"); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, "VACUUM INTO ?", work)
	return err
}

// A plainConnector opens connections with SQLite's own settings.
type plainConnector string

func (c plainConnector) Connect(context.Context) (driver.Conn, error) {
	return c.Driver().Open(string(c))
}

func (plainConnector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

// RemoveRebuild removes what a [Rebuild] that was killed has left beside a file.
func RemoveRebuild(path string) error {
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		if err := os.Remove(path + rebuildSuffix + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Compact writes the file of corpora anew and empties its write-ahead log.
func (s *Store) Compact(ctx context.Context) error {
	if s.doubt.Load() {
		if err := s.renew(ctx); err != nil {
			return err
		}
	}
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return classify(err)
	}
	defer conn.Close()
	if err := Rebuild(ctx, conn, s.path, nil); err != nil {
		s.doubt.Store(true)
		return fmt.Errorf("compact %s: %w", s.path, classify(err))
	}
	var busy, frames, copied int
	// Where others still read the old state, the log is emptied later.
	if err := conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &copied); err != nil {
		return fmt.Errorf("compact %s: %w", s.path, classify(err))
	}
	return nil
}
