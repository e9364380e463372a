package corpus

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/mattn/go-sqlite3"
)

// readers is the number of read connections: reads are short, and more than a
// few only compete for the same cores.
const readers = 4

// A Store is one file of corpora.
type Store struct {
	write *sql.DB // one connection; every transaction is IMMEDIATE
	read  *sql.DB // query_only

	mu      sync.Mutex               // guards writing
	writing map[string]chan struct{} // by origin: held for the whole of an Extend
}

// Open opens the file of corpora at path and creates it, readable by its owner
// alone, when it is missing. It refuses a file of another kind ([ErrForeign])
// or of a newer version ([ErrNewer]), and anything but a regular file.
// Whatever an interrupted process had written is durable when Open returns.
func Open(path string) (*Store, error) {
	s, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("open corpora %s: %w", path, err)
	}
	return s, nil
}

func open(path string) (*Store, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := ensureFile(abs); err != nil {
		return nil, err
	}
	// mode=rw: the file is there; SQLite must not create one where it was moved.
	const common = "&_busy_timeout=5000&_synchronous=FULL&_stmt_cache_size=32"
	file := (&url.URL{Scheme: "file", Path: abs}).String()
	s := &Store{
		write:   sql.OpenDB(connector{file + "?mode=rw&_txlock=immediate&_journal_mode=WAL" + common}),
		read:    sql.OpenDB(connector{file + "?mode=ro&_txlock=deferred&_query_only=1" + common}),
		writing: make(map[string]chan struct{}),
	}
	s.write.SetMaxOpenConns(1)
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	ctx := context.Background()
	if err := prepare(ctx, s.write); err != nil {
		s.Close()
		return nil, notADatabase(err)
	}
	// A process that died right after a failed fsync leaves frames in the log
	// that are readable but may not be durable. Copied and synced here, nothing
	// is ever shown that a power cut could still take back.
	if _, err := s.write.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close waits for running calls and closes the file.
func (s *Store) Close() error {
	// The writer goes last: its close folds the write-ahead log into the file,
	// which a read-only connection could not.
	return errors.Join(s.read.Close(), s.write.Close())
}

// ensureFile creates the file where it is missing and refuses whatever is not
// a regular file: a device or pipe would hang, a link would lead elsewhere.
func ensureFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: not a regular file (%s)", ErrForeign, info.Mode().Type())
	}
	return nil
}

func notADatabase(err error) error {
	var e sqlite3.Error
	if errors.As(err, &e) && e.Code == sqlite3.ErrNotADB {
		return fmt.Errorf("%w: %w", ErrForeign, err)
	}
	return err
}

// A connector opens connections with the settings that a data source name
// cannot carry.
type connector struct{ dsn string }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.dsn) }

func (connector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{ConnectHook: harden} }

// maxValue caps every string and blob that SQLite builds or reads, in bytes:
// the largest of ours is a tile of 8 KiB or a record of 16 KiB.
const maxValue = 1 << 20

func harden(conn *sqlite3.SQLiteConn) error {
	conn.SetLimit(sqlite3.SQLITE_LIMIT_LENGTH, maxValue)
	conn.SetLimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
	_, err := conn.Exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; "+
		"PRAGMA journal_size_limit = 16777216", nil)
	return err
}

// update runs fn in a write transaction: all of it is durable when update
// returns nil, none of it happened otherwise.
func (s *Store) update(ctx context.Context, fn func(*sql.Tx) error) error {
	return within(ctx, s.write, fn)
}

// view runs fn in a read transaction: one snapshot.
func (s *Store) view(ctx context.Context, fn func(*sql.Tx) error) error {
	return within(ctx, s.read, fn)
}

func within(ctx context.Context, db *sql.DB, fn func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := fn(tx); err != nil {
		if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
			// The driver says "interrupted" or "transaction has ended" instead.
			err = fmt.Errorf("%w: %w", cause, err)
		}
		return err
	}
	return tx.Commit()
}

// hold takes the lock of one log for a call that spans several transactions.
func (s *Store) hold(ctx context.Context, origin string) (release func(), err error) {
	s.mu.Lock()
	sem := s.writing[origin]
	if sem == nil {
		sem = make(chan struct{}, 1)
		s.writing[origin] = sem
	}
	s.mu.Unlock()
	select {
	case sem <- struct{}{}:
		return func() { <-sem }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
