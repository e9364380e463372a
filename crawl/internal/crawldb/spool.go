package crawldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"arborist/crawl/internal/frontier"
	"arborist/document"
	"arborist/ingest"
)

// Recall calls fn for each settled entry, in the order of discovery. The
// outcomes have no links and no pages.
func (c *Crawl) Recall(ctx context.Context, fn func(frontier.Outcome) error) error {
	rows, err := c.db.file.Reader().QueryContext(ctx,
		"SELECT id, url, depth, chain, trail, state, status, class, reason FROM frontier WHERE crawl = ? AND state <> 0 ORDER BY id", c.id)
	if err != nil {
		return fmt.Errorf("recall crawl: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var o frontier.Outcome
		if o.Entry, err = scanEntry(rows.Scan, &o.State, &o.Status, &o.Class, &o.Reason); err != nil {
			return fmt.Errorf("recall crawl: %w", err)
		}
		if err := fn(o); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Unstored hands on the pages that were fetched but whose documents were not
// stored, in the order of discovery. Pages that were handed on before, and the
// program ended, are left to [Crawl.SetApart]: one of them may have ended it.
func (c *Crawl) Unstored(ctx context.Context, emit func(ingest.Raw) error) error {
	return c.handOn(ctx, "tries = 0", emit)
}

// SetApart hands on the pages that Unstored leaves, those first that were
// handed on least often. None is ever given up: that the program ended, however
// often, may have been a kill. A page that does end it holds up no other, if
// each is stored before the next is handed on.
func (c *Crawl) SetApart(ctx context.Context, emit func(ingest.Raw) error) error {
	return c.handOn(ctx, "tries > 0", emit)
}

func (c *Crawl) handOn(ctx context.Context, which string, emit func(ingest.Raw) error) error {
	entries, err := c.kept(ctx, which)
	if err != nil {
		return fmt.Errorf("read kept pages: %w", err)
	}
	for _, entry := range entries {
		raw, err := c.page(ctx, entry)
		if errors.Is(err, sql.ErrNoRows) {
			continue // stored meanwhile, under the same address
		}
		if err != nil {
			return fmt.Errorf("read kept pages: %w", err)
		}
		// Counted first: a page that ends the program has been handed on.
		err = c.db.file.Write(ctx, func(tx *sql.Tx) error {
			_, err := tx.Exec("UPDATE spool SET tries = tries + 1 WHERE entry = ?", entry)
			return err
		})
		if err != nil {
			return err
		}
		if err := emit(raw); err != nil {
			return err
		}
	}
	return nil
}

// kept lists the entries of this crawl whose pages are kept.
func (c *Crawl) kept(ctx context.Context, which string) (entries []int64, err error) {
	rows, err := c.db.file.Reader().QueryContext(ctx,
		"SELECT entry FROM spool JOIN frontier ON id = entry WHERE crawl = ? AND "+which+" ORDER BY tries, entry", c.id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var entry int64
		if err := rows.Scan(&entry); err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, rows.Err()
}

func (c *Crawl) page(ctx context.Context, entry int64) (raw ingest.Raw, err error) {
	l := document.Location{Source: "crawl"}
	var at int64
	err = c.db.file.Reader().QueryRowContext(ctx,
		"SELECT url, fetched_at, content_type, status, etag, modified, body FROM spool WHERE entry = ?", entry).
		Scan(&l.URI, &at, &l.ContentType, &l.Status, &l.ETag, &l.Modified, &raw.Body)
	l.FetchedAt = time.Unix(at, 0).UTC()
	raw.Location = l
	return raw, err
}

// Unreadable marks pages as done that can never become documents, for example
// empty ones, and drops their bytes. They were fetched, so they are no
// failures of the crawl.
func (db *DB) Unreadable(ctx context.Context, urls []string) error {
	list, err := json.Marshal(urls)
	if err != nil {
		return err
	}
	return db.drop(ctx, string(list), frontier.Done, "", "not ingested")
}
