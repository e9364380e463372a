package crawldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"arborist/crawl/internal/frontier"
	"arborist/shard"
)

// A Crawl is the frontier of one crawl. It keeps the promises of package
// frontier and is safe for concurrent use.
type Crawl struct {
	db    *DB
	id    int64
	seed  string
	known *recent
}

// nameOf gives the name that a crawl of these seeds is kept under: it is the same
// in whatever order they are given. Addresses have no line breaks.
func nameOf(seeds []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(seeds))), "\n")
}

// Begin starts a crawl of these seeds over, dropping what was kept of an earlier
// one of the same; nothing but the seeds is known in it. Release must be called at its end. It fails with [ErrBusy].
func (db *DB) Begin(ctx context.Context, seeds []string, depth int) (*Crawl, error) {
	seed := nameOf(seeds)
	c, err := db.claim(seed)
	if err != nil {
		return nil, err
	}
	err = db.file.Write(ctx, func(tx *sql.Tx) error {
		for _, q := range []string{
			"DELETE FROM spool WHERE entry IN (SELECT f.id FROM frontier f JOIN crawls c ON c.id = f.crawl WHERE c.seed = ?)",
			"DELETE FROM referrers WHERE entry IN (SELECT f.id FROM frontier f JOIN crawls c ON c.id = f.crawl WHERE c.seed = ?)",
			"DELETE FROM frontier WHERE crawl IN (SELECT id FROM crawls WHERE seed = ?)",
			"DELETE FROM seed_vectors WHERE crawl IN (SELECT id FROM crawls WHERE seed = ?)",
			"DELETE FROM crawls WHERE seed = ?",
		} {
			if _, err := tx.Exec(q, seed); err != nil {
				return err
			}
		}
		err := tx.QueryRow("INSERT INTO crawls (seed, depth, begun) VALUES (?, ?, ?) RETURNING id",
			seed, depth, time.Now().Unix()).Scan(&c.id)
		if err != nil {
			return err
		}
		return c.add(tx, frontier.Seeds(seeds), 0)
	})
	if err != nil {
		c.Release()
		return nil, fmt.Errorf("begin crawl of %s: %w", seed, err)
	}
	return c, nil
}

// Resume goes on with the crawl of these seeds, all of them and no others.
// Release must be called at its end. It fails with [ErrBusy], [ErrNoCrawl] and [ErrDepth].
func (db *DB) Resume(ctx context.Context, seeds []string, depth int) (*Crawl, error) {
	seed := nameOf(seeds)
	c, err := db.claim(seed)
	if err != nil {
		return nil, err
	}
	var begun int
	err = db.file.Reader().QueryRowContext(ctx, "SELECT id, depth FROM crawls WHERE seed = ?", seed).Scan(&c.id, &begun)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = ErrNoCrawl
	case err == nil && begun != depth:
		err = fmt.Errorf("%w: %d, not %d", ErrDepth, begun, depth)
	case err == nil:
		err = c.reopen(ctx)
	}
	if err != nil {
		c.Release()
		return nil, fmt.Errorf("resume crawl of %s: %w", seed, err)
	}
	return c, nil
}

// reopen puts back what failed in a way that may pass, or at a limit that may
// be another one today.
func (c *Crawl) reopen(ctx context.Context) error {
	const failed = "crawl = ? AND state = ? AND class IN ('fetch_transient', 'render_failed', 'resource_limit')"
	var found bool
	err := c.db.file.Reader().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM frontier WHERE "+failed+")", c.id, frontier.Failed).Scan(&found)
	if err != nil || !found {
		return err
	}
	return c.db.file.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec("UPDATE frontier SET state = 0, status = 0, class = '', reason = '' WHERE "+failed, c.id, frontier.Failed)
		return err
	})
}

// claim takes a seed for one crawl of this process. Another process is kept
// out by the home's lock.
func (db *DB) claim(seed string) (*Crawl, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.seeds[seed] {
		return nil, fmt.Errorf("begin crawl of %s: %w", seed, ErrBusy)
	}
	db.seeds[seed] = true
	return &Crawl{db: db, seed: seed, known: newRecent()}, nil
}

// Release lets the seed be crawled again. What was settled stays. That it is
// called shows that no page brought the process down.
func (c *Crawl) Release() {
	// An error means that a page may be handed on later than it might be.
	_ = c.forgive()
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	delete(c.db.seeds, c.seed)
}

// Add adds links without an outcome.
func (c *Crawl) Add(ctx context.Context, links []frontier.Link) error {
	return c.db.file.Write(ctx, func(tx *sql.Tx) error { return c.add(tx, links, 0) })
}

// A waiting entry rises to a lower depth; a settled one stays as it is.
const addSQL = `INSERT INTO frontier (crawl, url, depth, chain, trail, state, status, class, reason) VALUES (?, ?, ?, ?, ?, 0, 0, '', '')
	ON CONFLICT (crawl, url) DO UPDATE SET depth = excluded.depth, chain = excluded.chain, trail = excluded.trail
	WHERE state = 0 AND excluded.depth < frontier.depth`

// What is known already keeps the page that it was found on first.
const referSQL = `INSERT INTO referrers (entry, page) SELECT id, ?3 FROM frontier WHERE crawl = ?1 AND url = ?2 AND id <> ?3 ON CONFLICT DO NOTHING`

// add adds links of a page, 0 where they are of none. It runs a statement for
// each link: given all of them as one list in JSON, SQLite took time in the
// square of their number.
func (c *Crawl) add(tx *sql.Tx, links []frontier.Link, page int64) error {
	for _, l := range links {
		// A redirect brings a trail, which the entry is to have.
		if len(l.Trail) == 0 && c.known.has(l.URL, l.Depth) {
			continue
		}
		if _, err := tx.Exec(addSQL, c.id, l.URL, l.Depth, l.Chain, strings.Join(l.Trail, "\n")); err != nil {
			return err
		}
		if page == 0 {
			continue
		}
		if _, err := tx.Exec(referSQL, c.id, l.URL, page); err != nil {
			return err
		}
	}
	return nil
}

// originSQL is [frontier.Origin] of an entry, as the index has it.
const originSQL = "substr(url, 1, instr(substr(url, 9), '/') + 7)"

// Origins returns the origins at which an entry is waiting, sorted.
func (c *Crawl) Origins(ctx context.Context) (origins []string, err error) {
	// From each origin to the next, without a look at what waits there.
	const q = "SELECT min(" + originSQL + ") FROM frontier WHERE crawl = ? AND state = 0 AND " + originSQL + " > ?"
	for after := ""; ; {
		var next sql.NullString
		if err := c.db.file.Reader().QueryRowContext(ctx, q, c.id, after).Scan(&next); err != nil {
			return nil, fmt.Errorf("read frontier: %w", err)
		}
		if !next.Valid {
			return origins, nil
		}
		if next.String <= after { // it would go round for ever
			return nil, fmt.Errorf("read frontier: %w: the index of its origins is not in order", shard.ErrCorrupt)
		}
		after = next.String
		origins = append(origins, after)
	}
}

// Next returns the lowest depth at which an entry of the origin is waiting, and
// false where none is.
func (c *Crawl) Next(ctx context.Context, origin string) (depth int, ok bool, err error) {
	err = c.db.file.Reader().QueryRowContext(ctx,
		"SELECT depth FROM frontier WHERE crawl = ? AND state = 0 AND "+originSQL+" = ? ORDER BY depth LIMIT 1", c.id, origin).Scan(&depth)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("read frontier: %w", err)
	}
	return depth, true, nil
}

// Waiting returns up to n waiting entries of one origin and depth whose ID is
// over after, in ascending order.
func (c *Crawl) Waiting(ctx context.Context, origin string, depth int, after int64, n int) ([]frontier.Entry, error) {
	rows, err := c.db.file.Reader().QueryContext(ctx, "SELECT id, url, depth, chain, trail FROM frontier WHERE crawl = ? AND state = 0 AND "+
		originSQL+" = ? AND depth = ? AND id > ? ORDER BY id LIMIT ?", c.id, origin, depth, after, n)
	if err != nil {
		return nil, fmt.Errorf("read frontier: %w", err)
	}
	defer rows.Close()
	var out []frontier.Entry
	for rows.Next() {
		e, err := scanEntry(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("read frontier: %w", err)
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

func scanEntry(scan func(...any) error, more ...any) (e frontier.Entry, err error) {
	var trail string
	err = scan(append([]any{&e.ID, &e.URL, &e.Depth, &e.Chain, &trail}, more...)...)
	if trail != "" {
		e.Trail = strings.Split(trail, "\n")
	}
	return e, err
}

// Settle notes outcomes in one transaction. An entry that is settled already
// stays as it is, and so do its links.
func (c *Crawl) Settle(ctx context.Context, outcomes []frontier.Outcome) error {
	var added []frontier.Link
	err := c.db.file.Write(ctx, func(tx *sql.Tx) error {
		for _, o := range outcomes {
			settled, err := c.settle(tx, o)
			if err != nil {
				return err
			}
			if settled {
				added = append(added, o.Links...)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write frontier: %w", err)
	}
	// Only now: a link of a transaction that failed is not known.
	for _, l := range added {
		c.known.add(l.URL, l.Depth)
	}
	return nil
}

// settle notes an outcome, and reports false where its entry was settled already.
func (c *Crawl) settle(tx *sql.Tx, o frontier.Outcome) (settled bool, err error) {
	done, err := tx.Exec("UPDATE frontier SET state = ?, status = ?, class = ?, reason = ? WHERE id = ? AND crawl = ? AND state = 0",
		o.State, o.Status, o.Class, o.Reason, o.Entry.ID, c.id)
	if err != nil {
		return false, err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	if o.Page != nil {
		if err := c.about(tx, o); err != nil {
			return false, err
		}
		l := o.Page.Location
		_, err := tx.Exec(`INSERT INTO spool (entry, url, tries, fetched_at, content_type, status, etag, modified, body)
			VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?)`,
			o.Entry.ID, l.URI, l.FetchedAt.Unix(), l.ContentType, l.Status, l.ETag, l.Modified, blob(o.Page.Body))
		if err != nil {
			return false, err
		}
	}
	if o.SeedVector != nil {
		if err := c.keepVector(tx, o.SeedVector); err != nil {
			return false, err
		}
	}
	return true, c.add(tx, o.Links, o.Entry.ID)
}

// blob keeps an empty body from becoming NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// forgive takes back that the crawl's pages were handed on.
func (c *Crawl) forgive() error {
	const tried = "tries > 0 AND entry IN (SELECT id FROM frontier WHERE crawl = ?)"
	var found bool
	err := c.db.file.Reader().QueryRow("SELECT EXISTS (SELECT 1 FROM spool WHERE "+tried+")", c.id).Scan(&found)
	if err != nil || !found {
		return err
	}
	return c.db.file.Write(context.Background(), func(tx *sql.Tx) error {
		_, err := tx.Exec("UPDATE spool SET tries = 0 WHERE "+tried, c.id)
		return err
	})
}
