package shard

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"arborist/document"
	"arborist/shard/corpus"
)

// A File is one SQLite file. It is safe for concurrent use. Only one File may
// have a path open for writing: the home's lock sees to it.
type File struct {
	path    string
	kind    Kind
	foreign bool    // from a stranger: nothing in it is believed
	writer  *sql.DB // nil where foreign
	reader  *sql.DB

	number, total int // place in the set

	broken error                 // why it cannot be used, nil: it can
	met    atomic.Pointer[error] // the first damage met, see Damage

	turn     chan struct{} // holds one token; who has it may Put into the set
	doubt    atomic.Bool   // guarded by the writer's connection; a sync may have failed: see surely
	verified *rootCache    // documents hashed whole, where foreign
	overlaps *overlapCache
	shows    *shownCache
	index    *invertedCache
	filtered *filterCache
	*workshop
}

// OpenFile opens a file of ours for reading and writing, and creates it where
// there is none. The schema is run each time, after our own tables exist: it
// is for the tables of the file's owner and must change nothing where they are
// there already (CREATE TABLE IF NOT EXISTS). It holds no views, triggers or
// virtual tables.
//
// Errors wrap [ErrKind], [ErrNewer], [ErrUnsafe], [ErrCorrupt] and name the
// file.
func OpenFile(path string, kind Kind, schema string) (*File, error) {
	f, err := openFile(path, kind, schema)
	if err != nil {
		return nil, named(path, fmt.Errorf("open shard: %w", err))
	}
	return f, nil
}

func openFile(path string, kind Kind, schema string) (*File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(takeReady(path), corpus.RemoveRebuild(path)); err != nil {
		return nil, err
	}
	found, version, err := inspect(path)
	if errors.Is(err, ErrNotFound) {
		if err := create(path, kind, 0, 1); err != nil {
			return nil, err
		}
		found, version, err = inspect(path)
	}
	if err != nil {
		return nil, err
	}
	if err := expect(found, version, kind); err != nil {
		return nil, err
	}
	return attachFile(path, kind, version, schema)
}

// attachFile opens a file that was inspected.
func attachFile(path string, kind Kind, version uint32, schema string) (_ *File, err error) {
	f := newFile(path, kind)
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if f.writer, err = connect(path, writing); err != nil {
		return nil, err
	}
	if f.reader, err = connect(path, reading); err != nil {
		return nil, err
	}
	f.doubt.Store(true) // of what the process before us may have left
	ctx := context.Background()
	if version < SchemaVersion {
		if err := f.migrate(ctx, version); err != nil {
			return nil, fmt.Errorf("bring it to schema version %d: %w", SchemaVersion, err)
		}
	}
	if err := checkSchema(ctx, f.writer, kind, schemaSQL); err != nil {
		return nil, err
	}
	if err := f.makeSure(ctx); err != nil && !errors.Is(err, ErrFull) {
		return nil, err // on a full disk it can be read; see put and Write
	}
	if schema != "" {
		err := f.Write(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, schema)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("run owner's schema: %w", err)
		}
	}
	return f, f.readPlace(ctx)
}

func newFile(path string, kind Kind) *File {
	f := &File{path: path, kind: kind, turn: make(chan struct{}, 1), verified: newRootCache(), overlaps: newOverlapCache(), shows: new(shownCache), index: newInvertedCache(), filtered: new(filterCache), workshop: &workshop{proven: newProvenSet()}}
	f.turn <- struct{}{}
	return f
}

// readPlace reads which part of its set the file is.
func (f *File) readPlace(ctx context.Context) error {
	var number, total any // whatever a damaged page says
	err := f.reader.QueryRowContext(ctx, "SELECT shard, shards FROM state").Scan(&number, &total)
	if err != nil {
		return stateless(err)
	}
	n, ok1 := number.(int64)
	of, ok2 := total.(int64)
	if !ok1 || !ok2 {
		return corrupt("it does not say which shard it is")
	}
	f.number, f.total = int(n), int(of)
	if f.total < 1 || f.total > MaxShards || f.total&(f.total-1) != 0 || f.number < 0 || f.number >= f.total {
		return corrupt("it says that it is shard %d of %d", f.number, f.total)
	}
	return nil
}

// create makes a new file under a passing name and moves it into place, so
// that a file with its final name is always whole.
func create(path string, kind Kind, number, total int) error {
	temp := fmt.Sprintf("%s.%s.new", path, rand.Text()[:8])
	defer func() {
		os.Remove(temp) // only there where something failed
		os.Remove(temp + "-journal")
	}()
	// Ours alone from the first byte on.
	file, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	db, err := connect(temp, creating)
	if err != nil {
		return err
	}
	script := fmt.Sprintf("BEGIN IMMEDIATE; PRAGMA application_id=%d; PRAGMA user_version=%d; %s UPDATE state SET shard=%d, shards=%d; COMMIT; PRAGMA journal_mode=WAL;",
		uint32(kind), SchemaVersion, schemaSQL, number, total)
	_, err = db.Exec(script)
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	return SyncFolder(filepath.Dir(path))
}

// Path returns where the file is.
func (f *File) Path() string { return f.path }

// Kind returns what the file is for.
func (f *File) Kind() Kind { return f.kind }

// Foreign reports whether the file was opened with [OpenForeign].
func (f *File) Foreign() bool { return f.foreign }

// Close closes the file. Calls that still run end with an error.
func (f *File) Close() error {
	switch {
	case f.reader != nil && f.writer != nil:
		return f.fail(corpus.CloseFile(f.path, f.reader, f.writer, f.doubt.Load()))
	case f.reader != nil:
		return f.fail(f.reader.Close())
	case f.writer != nil:
		return f.fail(f.writer.Close())
	}
	return nil
}

// Reader returns the read-only handle, for the tables of the file's owner. The
// caller must not close it.
func (f *File) Reader() *sql.DB { return f.reader }

// Write runs fn in one transaction of the file's only writer. On return
// without error everything is durable; otherwise nothing of it happened. It is
// for the tables of the file's owner: documents go through Put.
func (f *File) Write(ctx context.Context, fn func(*sql.Tx) error) error {
	if f.writer == nil {
		return f.fail(ErrReadOnly)
	}
	conn, err := f.surely(ctx)
	if err != nil {
		return f.fail(err)
	}
	defer conn.Close()
	tx, err := conn.BeginTx(context.WithoutCancel(ctx), nil) // as in snapshot
	if err != nil {
		return f.fail(err)
	}
	defer tx.Rollback() // does nothing after a commit
	if err := fn(tx); err != nil {
		return f.fail(err)
	}
	if err := ctx.Err(); err != nil {
		return f.fail(err)
	}
	if err := tx.Commit(); err != nil {
		// After a failed fsync nobody knows what is on disk. The connection is
		// dropped, so that the next one reads what there is instead of trying the
		// same pages again and calling that success.
		f.doubt.Store(true)
		conn.Raw(func(any) error { return driver.ErrBadConn })
		return f.fail(fmt.Errorf("commit: %w", err))
	}
	return nil
}

// surely returns the writer's connection, which the caller closes, after it has
// moved the write-ahead log into the file where a sync may have failed, in this
// process or in one that died of it. The log may then hold commits that can be
// read and are not on the disk, that no later sync of the log brings there, and
// behind which a power cut would lose whatever is written next. What is moved
// is synced with the file, and the log starts again.
func (f *File) surely(ctx context.Context) (*sql.Conn, error) {
	conn, err := f.writer.Conn(ctx)
	if err != nil || !f.doubt.Load() {
		return conn, err
	}
	if err = corpus.RewriteLog(f.path); err == nil {
		err = corpus.RoomToMove(ctx, conn, f.path)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	var busy, frames, moved int
	err = conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
	if err == nil && busy != 0 {
		err = errors.New("another process reads the file")
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("sync write-ahead log: %w", err)
	}
	f.doubt.Store(false)
	return conn, nil
}

// makeSure makes certain that what can be read is durable.
func (f *File) makeSure(ctx context.Context) error {
	if !f.doubt.Load() {
		return nil
	}
	conn, err := f.surely(ctx)
	if err == nil {
		err = conn.Close()
	}
	return f.fail(err)
}

// A queryer reads: a transaction, or a connection in one. Of a [sql.Tx] each
// statement costs a goroutine, which waits for the transaction to end.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// snapshot begins a read transaction, which sees one state of the file, and
// returns what ends it. Waiting for a connection ends with the context; the
// transaction does not, so that nothing of a call is left when it returns.
func (f *File) snapshot(ctx context.Context) (queryer, func(), error) {
	conn, err := f.reader.Conn(ctx)
	if err != nil {
		return nil, nil, f.fail(err)
	}
	if _, err := conn.ExecContext(background, "BEGIN"); err != nil {
		conn.Close()
		return nil, nil, f.fail(err)
	}
	return conn, func() {
		if _, err := conn.ExecContext(background, "ROLLBACK"); err != nil {
			conn.Raw(func(any) error { return driver.ErrBadConn }) // nobody else may get it
		}
		conn.Close()
	}, nil
}

// view runs fn in a read transaction.
func (f *File) view(ctx context.Context, fn func(queryer) error) error {
	tx, end, err := f.snapshot(ctx)
	if err != nil {
		return err
	}
	defer end()
	return f.fail(fn(tx))
}

// holds reports whether the leading bits of a root name this file.
func (f *File) holds(root document.Root) bool { return route(root, f.total) == f.number }

// named puts a path before an error, unless it is there.
func named(path string, err error) error {
	if fe := (*FileError)(nil); errors.As(err, &fe) {
		return err
	}
	return &FileError{Path: path, Err: damage(err)}
}
