package crawldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Carried is what [Carry] brought over.
type Carried struct {
	Crawls, Addresses int
	Whole             bool // all that stood there, as far as can be told
}

// Carry copies what the crawler keeps beside the documents out of a database that may
// be damaged into a new one, row by row and whatever can be read. What is there
// afterwards is consistent: an address whose page is lost waits to be fetched again.
// It is an error only where the new one cannot be written.
func Carry(ctx context.Context, old *sql.DB, fresh string) (c Carried, err error) {
	db, err := Open(fresh)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.file.Write(ctx, func(tx *sql.Tx) error {
		c.Whole = true
		// What rows belong to may be lost; reconcile sees to that before the commit.
		if _, err := tx.Exec("PRAGMA defer_foreign_keys = ON"); err != nil {
			return err
		}
		for _, t := range carried() {
			whole, err := t.carry(ctx, old, tx)
			if err != nil {
				return fmt.Errorf("carry over %s: %w", t.name, err)
			}
			c.Whole = c.Whole && whole
		}
		whole, err := reconcile(tx)
		if err != nil {
			return err
		}
		c.Whole = c.Whole && whole
		return errors.Join(tx.QueryRow("SELECT count(*) FROM crawls").Scan(&c.Crawls), tx.QueryRow("SELECT count(*) FROM frontier").Scan(&c.Addresses))
	})
	return c, err
}

// A carriedTable is a table of schema.sql: columns are "name type", the key first.
type carriedTable struct {
	name    string
	columns []string
	and     string // what holds for each row besides, its values being ?1, ?2, …
}

func carried() []carriedTable {
	return []carriedTable{
		{"crawls", []string{"id integer", "seed text", "depth integer", "begun integer"}, "?2 LIKE 'http%'"},
		{"seed_vectors", []string{"crawl integer", "vector blob"}, ""},
		{"frontier", []string{"id integer", "crawl integer", "url text", "depth integer", "chain integer", "trail text", "state integer", "status integer", "class text", "reason text"},
			"?3 LIKE 'http%' AND ?4 >= 0 AND ?5 >= 0 AND ?7 BETWEEN 0 AND 5"},
		{"referrers", []string{"entry integer", "page integer"}, ""},
		{"checks", []string{"url text", "at integer", "state text", "since integer", "status integer", "reason text", "root blob", "etag text", "modified text"}, "?1 LIKE 'http%'"},
		{"about", []string{"url text", "author text", "parent text"}, ""},
		{"spool", []string{"entry integer", "url text", "tries integer", "fetched_at integer", "content_type text", "status integer", "etag text", "modified text", "body blob"}, ""},
	}
}

// statements read a table, and write one row of it where its values are what the
// table may hold.
func (t carriedTable) statements() (read, write string) {
	names, values, and := make([]string, len(t.columns)), make([]string, len(t.columns)), []string{}
	for i, column := range t.columns {
		name, kind, _ := strings.Cut(column, " ")
		names[i], values[i] = name, fmt.Sprintf("?%d", i+1)
		and = append(and, fmt.Sprintf("typeof(?%d) = '%s'", i+1, kind))
	}
	if t.and != "" {
		and = append(and, t.and)
	}
	list := strings.Join(names, ", ")
	return "SELECT " + list + " FROM " + t.name,
		"INSERT OR IGNORE INTO " + t.name + " (" + list + ") SELECT " + strings.Join(values, ", ") + " WHERE " + strings.Join(and, " AND ")
}

// carry copies the rows that can be read: where the way from the first row ends at a
// damaged page, those behind it from the last one on.
func (t carriedTable) carry(ctx context.Context, old *sql.DB, tx *sql.Tx) (whole bool, err error) {
	read, write := t.statements()
	stmt, err := tx.Prepare(write)
	if err != nil {
		return false, err
	}
	defer stmt.Close()
	whole, ended, err := t.rows(ctx, old, read, stmt)
	if err == nil && !ended {
		_, _, err = t.rows(ctx, old, read+" ORDER BY 1 DESC", stmt)
	}
	return whole && ended, err
}

// rows copies what one statement reads. It ended where nothing kept it from reading
// all, and all was whole where each row was taken.
func (t carriedTable) rows(ctx context.Context, old *sql.DB, read string, write *sql.Stmt) (whole, ended bool, err error) {
	rows, err := old.QueryContext(ctx, read)
	if err != nil {
		return false, false, ctx.Err()
	}
	defer rows.Close()
	values, to := make([]any, len(t.columns)), make([]any, len(t.columns))
	for i := range values {
		to[i] = &values[i]
	}
	whole = true
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return false, false, ctx.Err()
		}
		res, err := write.Exec(values...)
		if err != nil {
			return false, false, err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			whole = false
		}
	}
	return whole, rows.Err() == nil, ctx.Err()
}

// reconcile drops what belongs to rows that were lost, and has pages fetched again
// whose bytes were.
func reconcile(tx *sql.Tx) (whole bool, err error) {
	whole = true
	for _, statement := range []string{
		"DELETE FROM seed_vectors WHERE crawl NOT IN (SELECT id FROM crawls)",
		"DELETE FROM frontier WHERE crawl NOT IN (SELECT id FROM crawls)",
		"DELETE FROM referrers WHERE entry NOT IN (SELECT id FROM frontier) OR page NOT IN (SELECT id FROM frontier)",
		"DELETE FROM spool WHERE entry NOT IN (SELECT id FROM frontier WHERE state = 1)",
		"UPDATE frontier SET state = 0 WHERE state = 1 AND id NOT IN (SELECT entry FROM spool)",
	} {
		res, err := tx.Exec(statement)
		if err != nil {
			return false, err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			whole = false
		}
	}
	return whole, nil
}
