package crawldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"arborist/document"
	"arborist/shard"
)

// A Page is a stored page that was crawled, as it is current.
type Page struct {
	ID   int64 // of its location
	URL  string
	Root document.Root
	// ETag and Modified are the newest validators known for this content.
	ETag, Modified string
	Gone           bool // it bears the mark
}

// A Check is what a look at a page's address found.
type Check struct {
	URL            string
	At             time.Time
	State          string
	Status         int
	Reason         string
	Root           document.Root // of the content that was checked
	ETag, Modified string
}

// crawled is the condition for a page to be checked: of one host, with any
// scheme and port, or with the port given; all where the first is empty.
const crawled = `l.current = 1 AND l.source = 'crawl' AND (?1 = '' OR
	substr(l.uri, instr(l.uri, '://') + 3, length(?1) + 1) IN (?1 || '/', ?1 || ':', ?1 || '?'))`

// Pages gives the location numbers of the current crawled pages of a host, "" for all,
// by origin; those whose check is longest ago come first. n caps them where it
// is positive.
func (db *DB) Pages(ctx context.Context, host string, n int) (map[string][]int64, error) {
	if n <= 0 {
		n = -1
	}
	rows, err := db.file.Reader().QueryContext(ctx, `SELECT l.id, substr(l.uri, 1, instr(substr(l.uri, 9), '/') + 7)
		FROM locations l LEFT JOIN checks c ON c.url = l.uri WHERE `+crawled+`
		ORDER BY coalesce(c.at, l.fetched_at * 1000), l.id LIMIT ?2`, host, n)
	if err != nil {
		return nil, fmt.Errorf("list pages: %w", err)
	}
	defer rows.Close()
	pages := map[string][]int64{}
	for rows.Next() {
		var id int64
		var origin string
		if err := rows.Scan(&id, &origin); err != nil {
			return nil, fmt.Errorf("list pages: %w", err)
		}
		pages[origin] = append(pages[origin], id)
	}
	return pages, rows.Err()
}

// Page gives a page by the number that [DB.Pages] gave, and false where it is
// current no more.
func (db *DB) Page(ctx context.Context, id int64) (p Page, ok bool, err error) {
	var root, checked []byte
	var etag, modified string
	err = db.file.Reader().QueryRowContext(ctx, `SELECT l.uri, d.root, l.etag, l.modified, coalesce(c.root, x''), coalesce(c.etag, ''), coalesce(c.modified, ''), coalesce(c.state = ?2, 0)
		FROM locations l JOIN documents d ON d.id = l.document LEFT JOIN checks c ON c.url = l.uri
		WHERE l.id = ?1 AND l.current = 1`, id, Gone).Scan(&p.URL, &root, &p.ETag, &p.Modified, &checked, &etag, &modified, &p.Gone)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return p, false, nil
	case err != nil:
		return p, false, fmt.Errorf("read page: %w", err)
	}
	p.ID = id
	copy(p.Root[:], root)
	if string(checked) == string(root) && (etag != "" || modified != "") {
		p.ETag, p.Modified = etag, modified
	}
	return p, true, nil
}

// Note keeps checks; each takes the place of the one before.
func (db *DB) Note(ctx context.Context, checks []Check) error {
	return db.file.Write(ctx, func(tx *sql.Tx) error {
		for _, c := range checks {
			at := c.At.UnixMilli()
			_, err := tx.ExecContext(ctx, `INSERT INTO checks (url, at, state, since, status, reason, root, etag, modified) VALUES (?1, ?2, ?3, ?2, ?4, ?5, ?6, ?7, ?8)
				ON CONFLICT (url) DO UPDATE SET at = ?2, since = CASE WHEN state = ?3 THEN since ELSE ?2 END,
				state = ?3, status = ?4, reason = ?5, root = ?6, etag = ?7, modified = ?8`,
				c.URL, at, c.State, c.Status, c.Reason, c.Root[:], c.ETag, c.Modified)
			if err != nil {
				return fmt.Errorf("note check: %w", err)
			}
		}
		return nil
	})
}

// Gone is the state of a page that the site has no more.
const Gone = "gone"

// MarkGone notes of those addresses at which a page is stored that it is gone,
// and returns how many those are.
func (db *DB) MarkGone(ctx context.Context, checks []Check) (marked int, err error) {
	var stored []Check
	for _, c := range checks {
		history, err := db.file.History(ctx, c.URL)
		if err != nil && !errors.Is(err, shard.ErrNotFound) {
			return 0, err
		}
		for _, v := range history {
			if v.Current {
				c.Root, c.State = v.Root, Gone
				stored = append(stored, c)
				break
			}
		}
	}
	if len(stored) == 0 {
		return 0, nil
	}
	return len(stored), db.Note(ctx, stored)
}

// GoneSince says since when a page is gone, and false where it is not, as far as
// is known.
func (db *DB) GoneSince(ctx context.Context, url string) (since time.Time, gone bool, err error) {
	var ms int64
	err = db.file.Reader().QueryRowContext(ctx, "SELECT since FROM checks WHERE url = ? AND state = ?", url, Gone).Scan(&ms)
	if errors.Is(err, sql.ErrNoRows) {
		return since, false, nil
	}
	return time.UnixMilli(ms).UTC(), err == nil, err
}

// back takes the mark from pages that were fetched again.
func (db *DB) back(ctx context.Context, urls []string) error {
	list, err := json.Marshal(urls)
	if err != nil {
		return err
	}
	const gone = "state = 'gone' AND url IN (SELECT value FROM json_each(?))"
	var found bool
	err = db.file.Reader().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM checks WHERE "+gone+")", string(list)).Scan(&found)
	if err != nil || !found {
		return err
	}
	return db.file.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM checks WHERE "+gone, string(list))
		return err
	})
}
