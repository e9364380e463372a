// Package crawldb is the private crawl database: documents that never reach a
// peer, and the frontiers of the crawls that bring them.
//
// It is one [shard.File] of kind [shard.KindPrivate], which
// [shard.OpenShared] refuses. It lies below crawl/internal, so that the
// compiler keeps it from package peer.
//
// The package guarantees that
//
//   - the file is readable by its owner alone (0600), and so is a folder made
//     for it (0700);
//   - what [Crawl.Settle] noted is durable when it returns, as a whole or not
//     at all: an address's state, the addresses found on its page, and the
//     page's bytes;
//   - the bytes of a page stay until its document is durable: [DB.Put] stores
//     documents first and drops bytes after. A crash between the two leaves
//     bytes that are handed on again, and storing the same document again
//     writes nothing;
//   - a page is never given up because the program ended while it was being
//     stored, however often: see [Crawl.SetApart].
package crawldb

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"arborist/crawl/internal/frontier"
	"arborist/document"
	"arborist/shard"
)

//go:embed schema.sql
var schemaSQL string

// formatVersion is the version of the tables in schema.sql.
const formatVersion = 1

var (
	// ErrNoCrawl: there is no crawl of that seed to go on with.
	ErrNoCrawl = errors.New("no crawl of this seed is kept")
	// ErrDepth: the crawl of that seed was begun with another depth.
	ErrDepth = errors.New("begun with another depth")
	// ErrBusy: the seed is being crawled.
	ErrBusy = errors.New("seed is being crawled already")
)

// A DB is an open crawl database. It is safe for concurrent use.
type DB struct {
	file *shard.File

	mu    sync.Mutex
	seeds map[string]bool // being crawled
}

// Open opens the database and makes it, with its folder, where there is none.
// Errors are those of [shard.OpenFile].
func Open(path string) (*DB, error) { return openWith(path, shard.OpenFile) }

// OpenAnyway is Open for the database's owner: of one that cannot be used it
// returns a DB whose every call fails with [shard.ErrBroken].
func OpenAnyway(path string) (*DB, error) {
	db, err := openWith(path, shard.OpenFileAnyway)
	if errors.Is(err, shard.ErrCorrupt) {
		return &DB{file: shard.UnusableFile(path, shard.KindPrivate, err), seeds: map[string]bool{}}, nil
	}
	return db, err
}

func openWith(path string, open func(string, shard.Kind, string) (*shard.File, error)) (*DB, error) {
	if err := shard.MakeFolder(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("open crawl db: %w", err)
	}
	file, err := open(path, shard.KindPrivate, schemaSQL)
	if err != nil {
		return nil, fmt.Errorf("open crawl db: %w", err)
	}
	db := &DB{file: file, seeds: map[string]bool{}}
	if file.Broken() != nil {
		return db, nil
	}
	if err := errors.Join(restrict(path), db.checkFormat()); err != nil {
		file.Close()
		return nil, fmt.Errorf("open crawl db %s: %w", path, err)
	}
	return db, nil
}

// restrict takes away what others may do with a file that was let loose.
func restrict(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(path, 0o600)
}

func (db *DB) checkFormat() error {
	var found any
	if err := db.file.Reader().QueryRow("SELECT version FROM crawl_format").Scan(&found); err != nil {
		return err
	}
	version, ok := found.(int64)
	if !ok || version < 1 || version > shard.LastVersion { // another page stands there
		return fmt.Errorf("%w: the version of its crawl tables, %v, is none", shard.ErrCorrupt, found)
	}
	if version > formatVersion {
		return fmt.Errorf("%w: its crawl tables have version %d, this program knows %d", shard.ErrNewer, version, formatVersion)
	}
	return nil
}

// File gives the documents' side of the database.
func (db *DB) File() *shard.File { return db.file }

// Close closes the database.
func (db *DB) Close() error { return db.file.Close() }

// Put stores documents, and then drops the bytes kept for their addresses.
// See [shard.File.Put]: content that is here is not written again.
func (db *DB) Put(ctx context.Context, entries []document.Entry) ([]document.Outcome, error) {
	return db.put(ctx, entries, db.file.Put)
}

// Store is Put without the search index: see [shard.File.Store].
func (db *DB) Store(ctx context.Context, entries []document.Entry) ([]document.Outcome, error) {
	return db.put(ctx, entries, db.file.Store)
}

func (db *DB) put(ctx context.Context, entries []document.Entry, put func(context.Context, []document.Entry) ([]document.Outcome, error)) ([]document.Outcome, error) {
	outcomes, err := put(ctx, entries)
	if err != nil {
		return nil, err
	}
	var urls []string
	for _, e := range entries {
		if !e.Recorded { // an old page says nothing of what is waiting, or gone, now
			urls = append(urls, e.Location.URI)
		}
	}
	if len(urls) == 0 {
		return outcomes, nil
	}
	// The documents are durable from here on. If this fails they are put once
	// more after the next start, which changes nothing.
	if err := errors.Join(db.stored(ctx, urls), db.back(ctx, urls)); err != nil {
		return nil, fmt.Errorf("put: note what is stored: %w", err)
	}
	return outcomes, nil
}

// stored marks the addresses as done whose documents are durable.
func (db *DB) stored(ctx context.Context, urls []string) error {
	list, err := json.Marshal(urls)
	if err != nil {
		return err
	}
	// Documents from elsewhere have no bytes kept: no write for them.
	var found bool
	err = db.file.Reader().QueryRowContext(ctx,
		"SELECT EXISTS (SELECT 1 FROM json_each(?) j JOIN spool ON spool.url = j.value)", string(list)).Scan(&found)
	if err != nil || !found {
		return err
	}
	return db.drop(ctx, string(list), frontier.Done, "", "")
}

// drop ends the wait of kept pages and drops their bytes.
func (db *DB) drop(ctx context.Context, list string, state frontier.State, class, reason string) error {
	return db.file.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec(`UPDATE frontier SET state = ?, class = ?, reason = ?
			WHERE state = ? AND id IN (SELECT entry FROM json_each(?) j JOIN spool ON spool.url = j.value)`,
			state, class, reason, frontier.Fetched, list)
		if err != nil {
			return err
		}
		_, err = tx.Exec("DELETE FROM spool WHERE url IN (SELECT value FROM json_each(?))", list)
		return err
	})
}
