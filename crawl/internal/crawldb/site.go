package crawldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"arborist/crawl/internal/frontier"
)

// An Address is one address of a crawl and what became of it.
type Address struct {
	URL     string
	FoundOn string // the first page with a link to it; empty where there is none
	Depth   int
	Trail   []string
	State   frontier.State
	Status  int
	Reason  string

	Document bool // it was fetched and is a document file
}

// Addresses calls fn with every address of the latest crawl of these seeds, in
// the order of discovery, until fn fails. It fails with [ErrNoCrawl].
func (db *DB) Addresses(ctx context.Context, seeds []string, fn func(Address) error) error {
	seed := nameOf(seeds)
	var id int64
	err := db.file.Reader().QueryRowContext(ctx, "SELECT id FROM crawls WHERE seed = ?", seed).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNoCrawl
	}
	if err != nil {
		return fmt.Errorf("read crawl of %s: %w", seed, err)
	}
	rows, err := db.file.Reader().QueryContext(ctx, `SELECT f.url, coalesce(p.url, ''), f.depth, f.trail, f.state, f.status, f.reason, coalesce(a.parent, '') <> ''
		FROM frontier f LEFT JOIN referrers r ON r.entry = f.id LEFT JOIN frontier p ON p.id = r.page LEFT JOIN about a ON a.url = f.url
		WHERE f.crawl = ? ORDER BY f.id`, id)
	if err != nil {
		return fmt.Errorf("read crawl of %s: %w", seed, err)
	}
	defer rows.Close()
	for rows.Next() {
		var a Address
		var trail string
		if err := rows.Scan(&a.URL, &a.FoundOn, &a.Depth, &trail, &a.State, &a.Status, &a.Reason, &a.Document); err != nil {
			return fmt.Errorf("read crawl of %s: %w", seed, err)
		}
		if trail != "" {
			a.Trail = strings.Split(trail, "\n")
		}
		if err := fn(a); err != nil {
			return err
		}
	}
	return rows.Err()
}
