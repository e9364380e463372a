package shard

import (
	"context"
	"database/sql"
	"errors"

	"arborist/document"
	"arborist/merkle"
)

// A state is the row of the table state.
type state struct {
	generation, documents, chunks, bytes, passages, words int64
}

func readState(ctx context.Context, tx *sql.Tx) (s state, err error) {
	err = tx.QueryRowContext(ctx, "SELECT generation, documents, chunks, bytes, passages, words FROM state").
		Scan(&s.generation, &s.documents, &s.chunks, &s.bytes, &s.passages, &s.words)
	return s, err
}

// An applier writes changes in one transaction of one file.
type applier struct {
	// Statements run without the caller's context: a context that can end costs
	// a goroutine for each of them. The caller's is asked between documents, and
	// its end rolls the transaction back.
	tx      *sql.Tx
	state   state
	next    int64 // id of the next chunk
	origins map[string]int64
}

var background = context.Background()

// apply writes changes and retirements and keeps the counters.
func apply(ctx context.Context, tx *sql.Tx, changes []change, retire []retirement) error {
	s, err := readState(background, tx)
	if err != nil {
		return err
	}
	a := &applier{tx: tx, state: s, origins: make(map[string]int64)}
	a.state.generation++
	if err := tx.QueryRowContext(background, "SELECT coalesce(max(id), 0) + 1 FROM chunks").Scan(&a.next); err != nil {
		return err
	}
	for _, c := range changes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.change(c); err != nil {
			return err
		}
	}
	for _, r := range retire {
		if err := a.retire(r); err != nil {
			return err
		}
	}
	return a.exec("UPDATE state SET generation = ?, documents = ?, chunks = ?, bytes = ?, passages = ?, words = ?",
		a.state.generation, a.state.documents, a.state.chunks, a.state.bytes, a.state.passages, a.state.words)
}

func (a *applier) exec(query string, args ...any) error {
	_, err := a.tx.ExecContext(background, query, args...)
	return err
}

func (a *applier) change(c change) error {
	l := c.entry.Location
	if c.refresh != 0 {
		err := a.exec(`UPDATE locations SET title = ?, source = ?, fetched_at = ?, content_type = ?,
			extractor = ?, status = ?, etag = ?, modified = ? WHERE id = ?`,
			l.Title, l.Source, l.FetchedAt.Unix(), l.ContentType, l.Extractor, l.Status, l.ETag, l.Modified, c.refresh)
		if err != nil {
			return err
		}
	}
	if c.seq == 0 {
		return a.retireAll(c.retire)
	}
	id, fresh, err := a.store(c.entry.Document)
	if err != nil {
		return err
	}
	c.outcome.New = fresh
	origin, err := a.origin(l.Corpus)
	if err != nil {
		return err
	}
	err = a.exec(`INSERT INTO locations (document, origin, place, seq, current, uri, title, source, fetched_at,
		content_type, extractor, status, etag, modified) VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id, origin, c.place[:], c.seq, l.URI, l.Title, l.Source, l.FetchedAt.Unix(),
		l.ContentType, l.Extractor, l.Status, l.ETag, l.Modified)
	if err != nil {
		return err
	}
	if err := a.show(id, c.entry.Document); err != nil {
		return err
	}
	return a.retireAll(c.retire)
}

func (a *applier) retireAll(all []retirement) error {
	for _, r := range all {
		if err := a.retire(r); err != nil {
			return err
		}
	}
	return nil
}

// store writes a document's content, unless it is here.
func (a *applier) store(d *document.Document) (id int64, fresh bool, err error) {
	h := d.Header()
	err = a.tx.QueryRowContext(background, "SELECT id FROM documents WHERE root = ?", h.Root[:]).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, false, err
	}
	id = a.next
	err = a.exec("INSERT INTO documents (id, root, chunks, bytes, norm, chunker, words, visible, changed) VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0)",
		id, h.Root[:], int64(h.Chunks), int64(h.Bytes), h.Norm, h.Chunker)
	if err != nil {
		return 0, false, err
	}
	hashes := make([]byte, 0, merkle.HashSize*d.Chunks())
	for i := range d.Chunks() {
		leaf, err := d.Tree().Node(0, uint64(i))
		if err != nil {
			return 0, false, err
		}
		hashes = append(hashes, leaf[:]...)
		if err := a.exec("INSERT INTO chunks (id, text) VALUES (?, ?)", id+int64(i), d.Chunk(i)); err != nil {
			return 0, false, err
		}
	}
	if err := a.exec("INSERT INTO leaves (document, hashes) VALUES (?, ?)", id, hashes); err != nil {
		return 0, false, err
	}
	a.next += int64(d.Chunks())
	a.state.documents++
	a.state.chunks += int64(h.Chunks)
	a.state.bytes += int64(h.Bytes)
	return id, true, nil
}

// show brings a document into the index, unless it is there.
func (a *applier) show(id int64, d *document.Document) error {
	var visible bool
	if err := a.tx.QueryRowContext(background, "SELECT visible FROM documents WHERE id = ?", id).Scan(&visible); err != nil {
		return err
	}
	if visible {
		return nil
	}
	for i := range d.Chunks() {
		if err := a.exec("INSERT INTO fts (rowid, text) VALUES (?, ?)", id+int64(i), string(d.Chunk(i))); err != nil {
			return err
		}
	}
	n := int64(d.Chunks())
	var words int64
	err := a.tx.QueryRowContext(background, "SELECT sum(arborist_length(sz)) FROM fts_docsize WHERE id >= ? AND id < ?", id, id+n).Scan(&words)
	if err != nil {
		return err
	}
	a.state.passages += n
	a.state.words += words
	return a.exec("UPDATE documents SET visible = 1, words = ?, changed = ? WHERE id = ?", words, a.state.generation, id)
}

// retire ends a version's time as current and takes its document out of the
// index where no other location of it is current.
func (a *applier) retire(r retirement) error {
	var by any // NULL: withdrawn
	if r.by != (document.Root{}) {
		by = r.by[:]
	}
	if err := a.exec("UPDATE locations SET current = 0, superseded_by = ? WHERE id = ? AND current = 1", by, r.row); err != nil {
		return err
	}
	var id, n, words int64
	var visible, current bool
	err := a.tx.QueryRowContext(background, `SELECT id, chunks, words, visible,
		EXISTS (SELECT 1 FROM locations WHERE document = documents.id AND current = 1) FROM documents WHERE root = ?`, r.root[:]).
		Scan(&id, &n, &words, &visible, &current)
	if err != nil || current || !visible {
		return err
	}
	if err := a.exec("DELETE FROM fts WHERE rowid >= ? AND rowid < ?", id, id+n); err != nil {
		return err
	}
	a.state.passages -= n
	a.state.words -= words
	return a.exec("UPDATE documents SET visible = 0, words = 0, changed = ? WHERE id = ?", a.state.generation, id)
}

func (a *applier) origin(origin string) (id int64, err error) {
	if id, ok := a.origins[origin]; ok {
		return id, nil
	}
	err = a.tx.QueryRowContext(background, "SELECT id FROM origins WHERE origin = ?", origin).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = a.tx.QueryRowContext(background, "INSERT INTO origins (origin) VALUES (?) RETURNING id", origin).Scan(&id)
	}
	if err == nil {
		a.origins[origin] = id
	}
	return id, err
}
