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

// classUnreadable stands beside the classes of failed fetches. It is final: the
// page came, and nothing could be made of it.
const classUnreadable = "unreadable"

// maxTries is how often a page is handed on again after a crash.
const maxTries = 8

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
// stored, in the order of discovery. One that was handed on in vain too often
// becomes a failure instead.
func (c *Crawl) Unstored(ctx context.Context, emit func(ingest.Raw) error) error {
	for after := int64(0); ; {
		entry, tries, raw, err := c.nextUnstored(ctx, after)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read kept pages: %w", err)
		}
		after = entry
		if tries >= maxTries {
			err := c.db.giveUp(ctx, entry, fmt.Sprintf("it could not be turned into a document, and the program ended %d times meanwhile", tries))
			if err != nil {
				return err
			}
			continue
		}
		// Counted first: a page that brings the process down has been tried.
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
}

func (c *Crawl) nextUnstored(ctx context.Context, after int64) (entry int64, tries int, raw ingest.Raw, err error) {
	l := document.Location{Source: "crawl"}
	var at int64
	err = c.db.file.Reader().QueryRowContext(ctx, `SELECT s.entry, s.tries, s.url, s.fetched_at, s.content_type, s.status, s.etag, s.modified, s.body
		FROM spool s JOIN frontier f ON f.id = s.entry WHERE f.crawl = ? AND s.entry > ? ORDER BY s.entry LIMIT 1`, c.id, after).
		Scan(&entry, &tries, &l.URI, &at, &l.ContentType, &l.Status, &l.ETag, &l.Modified, &raw.Body)
	l.FetchedAt = time.Unix(at, 0).UTC()
	raw.Location = l
	return entry, tries, raw, err
}

func (db *DB) giveUp(ctx context.Context, entry int64, reason string) error {
	return db.file.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.Exec("UPDATE frontier SET state = ?, class = ?, reason = ? WHERE id = ?",
			frontier.Failed, classUnreadable, reason, entry); err != nil {
			return err
		}
		_, err := tx.Exec("DELETE FROM spool WHERE entry = ?", entry)
		return err
	})
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
