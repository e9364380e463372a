package shard

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"time"

	"github.com/mattn/go-sqlite3"

	"arborist/document"
	"arborist/shard/internal/harden"
)

// access says how a connection uses a file.
type access int

const (
	writing   access = iota // the one writer
	reading                 // beside the writer
	immutable               // a file that nobody writes: no locks, no sidecars
	adopted                 // one of very many such files
	creating                // a new file, before it is in WAL mode
	memory                  // no file at all
)

// maxReaders is how many connections read one file at a time. A search holds
// one in every file that it looks at, and a set may have hundreds of files.
const maxReaders = 4

// maxValue caps a value in a file or in an argument, in bytes: above the
// longest text and the leaf hashes of any real document.
const maxValue = document.MaxBytes + 32<<20

// connect returns a handle whose connections all have our limits and settings.
// It opens nothing yet.
func connect(path string, how access) (*sql.DB, error) {
	if err := harden.Register(); err != nil {
		return nil, err
	}
	params := url.Values{"_stmt_cache_size": {"64"}, "_busy_timeout": {"5000"}}
	switch how {
	case writing:
		params.Set("mode", "rw")
		params.Set("_txlock", "immediate")
	case creating:
		params.Set("mode", "rwc")
		params.Set("_txlock", "immediate")
	case reading:
		params.Set("mode", "ro")
	case immutable, adopted:
		params.Set("mode", "ro")
		params.Set("immutable", "1")
	case memory:
		params.Set("mode", "memory")
	}
	// The path goes through URL escaping, so that no character in it is taken
	// for a parameter.
	name := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: params.Encode()}
	db := sql.OpenDB(connector{name: name.String(), driver: &sqlite3.SQLiteDriver{
		ConnectHook: func(c *sqlite3.SQLiteConn) error { return settle(c, how) },
	}})
	switch how {
	case writing, creating, memory:
		db.SetMaxOpenConns(1)
	default:
		db.SetMaxOpenConns(maxReaders)
		db.SetMaxIdleConns(maxReaders)
		db.SetConnMaxIdleTime(time.Minute)
	}
	return db, nil
}

// connector opens connections without a driver name in the global registry.
type connector struct {
	name   string
	driver *sqlite3.SQLiteDriver
}

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.name) }
func (c connector) Driver() driver.Driver                        { return c.driver }

// settle sets one new connection up.
func settle(c *sqlite3.SQLiteConn, how access) error {
	c.SetLimit(sqlite3.SQLITE_LIMIT_LENGTH, maxValue)
	c.SetLimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 64<<10)
	c.SetLimit(sqlite3.SQLITE_LIMIT_COLUMN, 64)
	c.SetLimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 64)
	c.SetLimit(sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 16)
	c.SetLimit(sqlite3.SQLITE_LIMIT_FUNCTION_ARG, 16)
	c.SetLimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 256)
	c.SetLimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 64)
	c.SetLimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1)
	c.SetLimit(sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0)
	if how == reading || how == immutable || how == adopted {
		c.SetLimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
	}
	settings := "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;" +
		" PRAGMA temp_store=MEMORY; SELECT arborist_harden();"
	switch how {
	case reading, immutable:
		settings += " PRAGMA query_only=ON;"
	case adopted:
		// The pages that SQLite keeps, 2 MB otherwise: in KiB.
		settings += " PRAGMA query_only=ON; PRAGMA cache_size=-256;"
	case writing:
		// The log would keep the size of the largest transaction for ever.
		settings += " PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA journal_mode=WAL; PRAGMA journal_size_limit=8388608;"
	case creating:
		settings += " PRAGMA synchronous=FULL; PRAGMA journal_mode=DELETE;"
	}
	if _, err := c.Exec(settings, nil); err != nil {
		return fmt.Errorf("set up connection: %w", err)
	}
	return nil
}
