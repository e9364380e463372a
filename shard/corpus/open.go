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
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mattn/go-sqlite3"

	"arborist/shard/internal/harden"
)

// readers is the number of read connections: reads are short, and more than a
// few only compete for the same cores.
const readers = 4

// A Store is one file of corpora.
type Store struct {
	write  *sql.DB     // one connection; every transaction is IMMEDIATE
	read   *sql.DB     // query_only
	path   string      // absolute
	broken error       // why it cannot be used, nil: it can
	doubt  atomic.Bool // the next write settles the write-ahead log first, and Close leaves it

	changes atomic.Uint64 // transactions that were committed
	trees   subtrees      // of signed heads

	witnesses atomic.Pointer[witnesses] // whose cosignatures are kept
	now       func() time.Time          // the clock of cosignatures
	filing    sync.Mutex                // held while evidence files are written; guards evidence
	evidence  string                    // folder of the evidence files, empty: none are written

	keeper  HeadKeeper // set before use; nil: none
	keeping sync.Mutex // held around calls of keeper

	mu      sync.Mutex               // guards what follows
	audited map[int64]bool           // logs, by number; see audit
	writing map[string]chan struct{} // by origin: held for the whole of an Extend
}

// Open opens the file of corpora at path and creates it, readable by its owner
// alone, when it is missing. It refuses a file of another kind ([ErrForeign])
// or of a newer version ([ErrNewer]), and anything but a regular file.
// Whatever an interrupted process had written is durable when Open returns. On a
// disk without room to move it into the file it is read where it is, and writes
// fail with [ErrFull] until there is.
func Open(path string) (*Store, error) {
	s, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("open corpora %s: %w", path, err)
	}
	return s, nil
}

func open(path string) (*Store, error) {
	if err := harden.Register(); err != nil {
		return nil, err
	}
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
		write:   sql.OpenDB(connector{file + "?mode=rw&_txlock=immediate&_journal_mode=WAL&_cache_size=-16384" + common}),
		read:    sql.OpenDB(connector{file + "?mode=ro&_txlock=deferred&_query_only=1" + common}),
		path:    abs,
		audited: make(map[int64]bool),
		writing: make(map[string]chan struct{}),
		now:     time.Now,
	}
	s.witnesses.Store(&witnesses{})
	s.doubt.Store(true) // of what the process before us may have left
	s.write.SetMaxOpenConns(1)
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	ctx := context.Background()
	if err := prepare(ctx, s.write); err != nil {
		s.Close()
		return nil, classify(err)
	}
	err = settle(ctx, s.write, s.path)
	s.doubt.Store(err != nil)
	if err != nil && !errors.Is(err, errNoRoom) {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Unusable returns a Store for a file at path that cannot be used: every call
// fails with why. What stands at path is left alone.
func Unusable(path string, why error) *Store {
	db := Refusing(why)
	s := &Store{write: db, read: db, path: path, broken: why, audited: make(map[int64]bool), writing: make(map[string]chan struct{}), now: time.Now}
	s.witnesses.Store(&witnesses{})
	return s
}

// Broken says why the file cannot be used; nil where it can.
func (s *Store) Broken() error { return s.broken }

// Refusing returns a handle of no file: whatever is asked of it fails with why.
func Refusing(why error) *sql.DB { return sql.OpenDB(refusing{why}) }

// refusing is a connector without connections.
type refusing struct{ why error }

func (r refusing) Connect(context.Context) (driver.Conn, error) { return nil, r.why }
func (r refusing) Driver() driver.Driver                        { return nil }

// Close waits for running calls and closes the file.
func (s *Store) Close() error {
	return CloseFile(s.path, s.read, s.write, s.doubt.Load())
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

// A connector opens connections with the settings that a data source name
// cannot carry.
type connector struct{ dsn string }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.Driver().Open(c.dsn) }

func (connector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{ConnectHook: settings} }

// maxValue caps every string and blob that SQLite builds or reads, in bytes:
// the largest of ours is a tile of 8 KiB or a record of 16 KiB.
const maxValue = 1 << 20

func settings(conn *sqlite3.SQLiteConn) error {
	conn.SetLimit(sqlite3.SQLITE_LIMIT_LENGTH, maxValue)
	conn.SetLimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
	_, err := conn.Exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; "+
		"PRAGMA journal_size_limit = 16777216; SELECT arborist_harden()", nil)
	return err
}

// settle copies the write-ahead log into the file and syncs it. After a failed
// fsync, in this process or in one that died of it, the log may hold commits
// that can be read but may not be durable; afterwards there are none, so
// nothing is ever shown that a power cut could still take back. [errNoRoom]: they
// are durable in the log, which stays as it is.
func settle(ctx context.Context, db *sql.DB, path string) error {
	conn, err := db.Conn(ctx) // the only one: nobody writes meanwhile
	if err != nil {
		return classify(err)
	}
	defer conn.Close()
	if err := RewriteLog(path); err != nil {
		return classify(err)
	}
	if err := RoomToMove(ctx, conn, path); err != nil {
		return err
	}
	var busy, frames, copied int
	err = conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &copied)
	if err == nil && busy != 0 {
		err = errors.New("another process reads the file")
	}
	if err != nil {
		return fmt.Errorf("sync write-ahead log: %w", classify(err))
	}
	return nil
}

// Changes counts the write transactions that were committed since the store was
// opened: who sees the same number twice has missed nothing.
func (s *Store) Changes() uint64 { return s.changes.Load() }

// update runs fn in a write transaction: all of it is durable when update
// returns nil, none of it happened otherwise.
func (s *Store) update(ctx context.Context, fn func(*sql.Tx) error) error {
	if s.doubt.Load() {
		if err := s.renew(ctx); err != nil {
			return err
		}
	}
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return s.named(classify(err))
	}
	if err = within(ctx, tx, fn); err == nil {
		s.changes.Add(1)
	}
	var e sqlite3.Error
	if errors.As(err, &e) && e.Code == sqlite3.ErrIoErr {
		s.doubt.Store(true)
	}
	return s.named(err)
}

// renew replaces the write connection after a failed write or sync: what it
// believes to be on disk may not be there.
func (s *Store) renew(ctx context.Context) error {
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return err
	}
	// The pool closes a connection that calls itself bad.
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
	if err := settle(ctx, s.write, s.path); err != nil {
		return err
	}
	s.doubt.Store(false)
	return nil
}

// view runs fn in a read transaction: one snapshot. Waiting for a connection and
// the statements of fn end with the context, the transaction ends with fn:
// database/sql would need a goroutine to end it before.
func (s *Store) view(ctx context.Context, fn func(*sql.Tx) error) error {
	conn, err := s.read.Conn(ctx)
	if err != nil {
		return s.named(classify(err))
	}
	defer conn.Close()
	tx, err := conn.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return s.named(classify(err))
	}
	return s.named(within(ctx, tx, fn))
}

// A damaged is an error about a file that is not what it was.
type damaged struct {
	path string
	err  error
}

func (d *damaged) Error() string { return d.path + ": " + d.err.Error() }
func (d *damaged) Unwrap() error { return d.err }

// named puts the path before an error about damage, once.
func (s *Store) named(err error) error {
	if d := (*damaged)(nil); errors.As(err, &d) || !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrForeign) {
		return err
	}
	return &damaged{s.path, err}
}

// within runs fn in a transaction and commits it.
func within(ctx context.Context, tx *sql.Tx, fn func(*sql.Tx) error) error {
	defer tx.Rollback()
	if err := fn(tx); err != nil {
		if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
			// The driver says "interrupted" or "transaction has ended" instead.
			err = fmt.Errorf("%w: %w", cause, err)
		}
		return classify(err)
	}
	return classify(tx.Commit())
}

// classify gives SQLite's findings about the file the names that callers know.
func classify(err error) error {
	var e sqlite3.Error
	if IsFull(err) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	switch {
	case !IsMalformed(err), errors.Is(err, ErrForeign), errors.Is(err, ErrCorrupt):
		return err
	case errors.As(err, &e) && e.Code == sqlite3.ErrNotADB:
		return fmt.Errorf("%w: %w", ErrForeign, err)
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// IsMalformed reports whether an error is SQLite's way to say that a file holds
// what its format does not allow, or that of database/sql to say that a value is not
// of its column's type: all our tables are STRICT.
func IsMalformed(err error) bool {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.HasPrefix(e.Error(), "sql: Scan error on column") { // it has no type of its own
			return true
		}
	}
	var e sqlite3.Error
	// No statement of ours breaks a constraint of a file that is what it should be. The
	// last is what it says of a number in the head of the file, without a code.
	return errors.As(err, &e) && (e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrConstraint || e.Code == sqlite3.ErrNotADB || e.Code == sqlite3.ErrError && e.Error() == "unsupported file format")
}

// IsFull reports whether an error is SQLite's or the system's way to say that
// no space is left.
func IsFull(err error) bool {
	var e sqlite3.Error
	if errors.As(err, &e) && (e.Code == sqlite3.ErrFull || e.SystemErrno == syscall.ENOSPC || e.SystemErrno == syscall.EDQUOT) {
		return true
	}
	return errors.Is(err, ErrFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
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
