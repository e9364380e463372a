package crawldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arborist/crawl/internal/frontier"
)

// About is what is known of a fetched page beside its document. It is no part
// of a location: locations are the same in every shard file, and what a crawl
// knows stays in its own.
type About struct {
	Author string
	Parent string // of a document file: the page that it was found on
}

// About says what is known of an address, nothing where it is not known.
func (db *DB) About(ctx context.Context, url string) (a About, err error) {
	err = db.file.Reader().QueryRowContext(ctx, "SELECT author, parent FROM about WHERE url = ?", url).Scan(&a.Author, &a.Parent)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return a, fmt.Errorf("read what is known of %s: %w", url, err)
	}
	return a, nil
}

// about keeps what an outcome says of its page.
func (c *Crawl) about(tx *sql.Tx, o frontier.Outcome) error {
	a := About{Author: o.Author}
	if o.Document {
		// Where redirects led to it, the page that linked to the first of them.
		linked := o.Entry.URL
		if len(o.Entry.Trail) > 0 {
			linked = o.Entry.Trail[0]
		}
		err := tx.QueryRow(`SELECT p.url FROM frontier f JOIN referrers r ON r.entry = f.id JOIN frontier p ON p.id = r.page
			WHERE f.crawl = ? AND f.url = ?`, c.id, linked).Scan(&a.Parent)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	url := o.Page.Location.URI
	if a == (About{}) {
		_, err := tx.Exec("DELETE FROM about WHERE url = ?", url)
		return err
	}
	_, err := tx.Exec("INSERT OR REPLACE INTO about (url, author, parent) VALUES (?, ?, ?)", url, a.Author, a.Parent)
	return err
}
