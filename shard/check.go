package shard

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"

	"arborist/document"
	"arborist/shard/corpus"
	"arborist/shard/internal/pages"
)

// Check reads a file whole and reports, line by line, whatever is not as it
// must be: the database itself, documents against their roots, counters, index
// against documents, locations. It returns how many documents it hashed. An
// error means that the check could not be done, not that something was found.
func (f *File) Check(ctx context.Context, report func(problem string)) (documents int, err error) {
	return f.checkSome(ctx, Subset{}, report)
}

func (f *File) checkSome(ctx context.Context, subset Subset, report func(problem string)) (documents int, err error) {
	documents, _, err = f.inspectRows(ctx, subset, report)
	return documents, err
}

// inspectRows is checkSome that also says whether pages of the file are damaged: SQLite
// itself finds fault with them, or what stands on them cannot be read as what it is.
func (f *File) inspectRows(ctx context.Context, subset Subset, report func(problem string)) (documents int, damaged bool, err error) {
	if f.broken != nil {
		report(fmt.Sprintf("%v; %s", f.Broken(), MendBroken))
		return 0, true, nil
	}
	how := reading
	if f.foreign {
		how = immutable
	}
	// A connection of its own: a check takes long, and searches have few.
	db, err := connect(f.path, how)
	if err != nil {
		return 0, false, f.fail(err)
	}
	defer db.Close()
	c := &checker{file: f, subset: subset, report: func(format string, args ...any) {
		report(f.path + ": " + fmt.Sprintf(format, args...))
	}}
	tx, err := db.BeginTx(ctx, nil)
	if isUnreadable(damage(err)) {
		c.report("it cannot be read: %v", err)
		return 0, true, nil
	} else if err != nil {
		return 0, false, f.fail(err)
	}
	defer tx.Rollback()
	c.tx = tx
	for _, step := range []func(context.Context) error{c.database, c.documents, c.index, c.locations} {
		// A damaged page makes one step fail; the others may still tell more.
		if err := step(ctx); isUnreadable(damage(err)) {
			c.report("%v", err)
			c.damaged = true
		} else if err != nil {
			return c.hashed, c.damaged, f.fail(err)
		}
	}
	return c.hashed, c.damaged, nil
}

// Check is [File.Check] over the set, with [corpus.Store.Check] and a comparison
// of this node's own logs with the shards. It also looks for places with more
// than one current version, which a crash in a Put over two files leaves, and
// ends the Put by retiring the older one; it reports that it did.
func (s *Shared) Check(ctx context.Context, report func(problem string)) (documents int, err error) {
	return s.CheckWith(ctx, CheckOptions{}, report)
}

// isUnreadable reports whether an error is about what the disk holds or cannot
// give back.
func isUnreadable(err error) bool {
	var se sqlite3.Error
	return isCorrupt(err) || errors.As(err, &se) && !corpus.IsFull(err) && (se.Code == sqlite3.ErrIoErr || se.Code == sqlite3.ErrCantOpen)
}

type checker struct {
	file   *File
	tx     queryer
	subset Subset // whose text is read
	report func(format string, args ...any)
	hashed int

	damaged bool // see [File.inspectRows]
}

// lines runs a query whose rows are problems of one text each.
func (c *checker) lines(ctx context.Context, format, query string, args ...any) error {
	rows, err := c.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		if line != "ok" { // how SQLite's own check says that it found nothing
			c.report(format, line)
		}
	}
	return rows.Err()
}

func (c *checker) database(ctx context.Context) error {
	report := c.report
	c.report = func(format string, args ...any) {
		c.damaged = true
		report(format, args...)
	}
	err := c.lines(ctx, "database: %s", "PRAGMA integrity_check(100)")
	if err == nil {
		err = pages.ReadIndexes(ctx, c.tx)
	}
	if c.report = report; err != nil {
		return err
	}
	return c.lines(ctx, "foreign key: %s", `SELECT "table" || ' row ' || rowid || ' names a row of ' || parent || ' that is not there' FROM pragma_foreign_key_check LIMIT 100`)
}

// documents hashes every document and compares leaves and counters.
func (c *checker) documents(ctx context.Context) error {
	end := int64(1)
	for {
		row, err := scanDoc(c.tx.QueryRowContext(ctx, "SELECT "+docColumns+" FROM documents WHERE id >= ? ORDER BY id LIMIT 1", end))
		switch {
		case errors.Is(err, ErrNotFound):
			return c.counters(ctx, end)
		case err != nil && !errors.Is(err, ErrCorrupt):
			return err
		}
		if back := inOrder(end-1, row.id); back != nil {
			return back
		}
		if err != nil {
			c.report("%v", err)
			end = row.id + 1
			continue
		}
		if row.id != end {
			c.report("chunks %d to %d are in no document", end, row.id-1)
		}
		end = row.id + int64(row.header.Chunks)
		if !c.subset.Has(row.header.Root) {
			continue
		}
		c.hashed++
		if !c.file.foreign && !c.file.holds(row.header.Root) {
			c.report("document %s belongs into shard %s", row.header.Root, fileName(route(row.header.Root, c.file.total)))
		}
		d, err := c.file.readDocument(ctx, c.tx, row)
		if errors.Is(err, ErrCorrupt) {
			c.report("%v", err)
			continue
		}
		if err != nil {
			return err
		}
		if err := c.leaves(ctx, row, d); err != nil {
			return err
		}
	}
}

func (c *checker) leaves(ctx context.Context, row docRow, d *document.Document) error {
	stored, err := readHashes(ctx, c.tx, row)
	if errors.Is(err, ErrCorrupt) {
		c.report("%v", err)
		return nil
	}
	if err != nil {
		return err
	}
	want, err := hashesOf(d)
	if err == nil && (!bytes.Equal(stored.leaves, want.leaves) || !bytes.Equal(stored.nodes, want.nodes)) {
		c.report("leaf hashes of document %s: they do not lead to its root", d.Root())
	}
	return err
}

func (c *checker) counters(ctx context.Context, end int64) error {
	if err := checkCounts(ctx, c.tx); err != nil {
		if !errors.Is(err, ErrCorrupt) {
			return err
		}
		c.report("%v", err)
	}
	return c.lines(ctx, "the text from chunk %s on is in no document", "SELECT id FROM texts WHERE id >= ? LIMIT 100", end)
}

// locations checks what search relies on: a document of the index is visible
// exactly while a location is current, and a place has one current version, its newest.
func (c *checker) locations(ctx context.Context) error {
	indexed, err := indexedTo(ctx, c.tx)
	if err != nil {
		return err
	}
	err = c.lines(ctx, "visible is wrong for document row %s", `SELECT id FROM documents WHERE id < ? AND visible <>
		EXISTS (SELECT 1 FROM locations WHERE document = documents.id AND current = 1) LIMIT 100`, indexed)
	if err != nil {
		return err
	}
	err = c.lines(ctx, "location %s is current and not the newest at its place", `SELECT uri FROM locations l WHERE current = 1
		AND EXISTS (SELECT 1 FROM locations WHERE place = l.place AND seq > l.seq) LIMIT 100`)
	if err != nil {
		return err
	}
	if err := c.placed(ctx); err != nil {
		return err
	}
	rows, err := c.tx.QueryContext(ctx, "SELECT l.place, "+versionColumns+" FROM "+versionTables)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var raw []byte
		v, err := scanVersion(func(into ...any) error { return rows.Scan(append([]any{&raw}, into...)...) })
		if errors.Is(err, ErrCorrupt) {
			c.report("%v", err)
			continue
		}
		if err != nil {
			return err
		}
		if p := placeOf(v.Location.Corpus, v.Location.URI); string(p[:]) != string(raw) {
			c.report("location %.200q stands at the place of another", v.Location.URI)
		}
	}
	return rows.Err()
}

// placed reports documents of our own private file that are at no place, not even at
// a former one. Of shared documents the logs tell the places.
func (c *checker) placed(ctx context.Context) error {
	if c.file.kind != KindPrivate || c.file.foreign {
		return nil
	}
	var n int
	err := c.tx.QueryRowContext(ctx, "SELECT count(*) FROM documents WHERE NOT EXISTS (SELECT 1 FROM locations WHERE document = documents.id)").Scan(&n)
	if err == nil && n > 0 {
		c.report("%d documents are stored at no address, and found by no search: their addresses were lost", n)
	}
	return err
}
