package shard

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"arborist/document"
)

// A state is the row of the table state.
type state struct {
	generation, documents, chunks, bytes, passages, words int64
	allWords, posting                                     int64
}

const stateSQL = "SELECT generation, documents, chunks, bytes, passages, words, all_words, posting FROM state"

func (s *state) scan(scan func(...any) error) error {
	return stateless(scan(&s.generation, &s.documents, &s.chunks, &s.bytes, &s.passages, &s.words, &s.allWords, &s.posting))
}

// stateless names the lack of the one row that each file has.
func stateless(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return corrupt("it does not say what it is, nor what it holds")
	}
	return err
}

func readState(ctx context.Context, tx queryer) (s state, err error) {
	err = s.scan(tx.QueryRowContext(ctx, stateSQL).Scan)
	return s, err
}

// holdState reads the state and returns it with the row open.
func holdState(conn *sql.Conn) (s state, row *sql.Rows, err error) {
	if row, err = conn.QueryContext(background, stateSQL); err != nil {
		return s, nil, err
	}
	if !row.Next() {
		err = stateless(cmp.Or(row.Err(), sql.ErrNoRows))
	} else {
		err = s.scan(row.Scan)
	}
	return s, row, err
}

// An applier writes changes in one transaction of one file.
type applier struct {
	// Statements run without the caller's context: a context that can end costs
	// a goroutine for each of them. The caller's is asked between documents, and
	// its end rolls the transaction back.
	tx      *sql.Tx
	state   state
	file    *File
	next    int64    // id of the next chunk
	indexed int64    // id behind the last chunk in the index: see pending.go
	when    indexing // of what is stored
	codec   *codec
	index   *indexer
	text    storedText // that was read last
	origins map[string]int64
}

var background = context.Background()

func newApplier(f *File, tx *sql.Tx) (*applier, error) {
	s, err := readState(background, tx)
	if err != nil {
		return nil, err
	}
	a := &applier{tx: tx, file: f, state: s, codec: &f.codec, origins: make(map[string]int64)}
	a.index, _ = f.indexers.Get().(*indexer)
	if a.index == nil {
		a.index = new(indexer)
	}
	a.index.begin(tx, &a.state)
	a.state.generation++
	if a.indexed, err = indexedTo(background, tx); err != nil {
		return nil, err
	}
	err = tx.QueryRowContext(background, "SELECT coalesce((SELECT id + chunks FROM documents ORDER BY id DESC LIMIT 1), 1)").Scan(&a.next)
	return a, err
}

// apply writes changes and retirements and keeps the counters.
func (f *File) apply(ctx context.Context, tx *sql.Tx, changes []change, retire []retirement, when indexing) error {
	a, err := newApplier(f, tx)
	if err != nil {
		return err
	}
	a.when = when
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
	if err := a.finish(); err != nil {
		return err
	}
	f.indexers.Put(a.index)
	return nil
}

// finish writes the index and the counters.
func (a *applier) finish() error {
	if err := a.index.finish(); err != nil {
		return err
	}
	return a.exec("UPDATE state SET generation = ?, documents = ?, chunks = ?, bytes = ?, passages = ?, words = ?, all_words = ?, posting = ?",
		a.state.generation, a.state.documents, a.state.chunks, a.state.bytes, a.state.passages, a.state.words, a.state.allWords, a.state.posting)
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
	id, fresh, err := a.store(c.entry.Document, c.entry.Frames)
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
	if !fresh {
		if err := a.setVisible(c.entry.Document.Root(), true, c.entry.Document); err != nil {
			return err
		}
		if err := a.found(c.entry.Document.Root()); err != nil {
			return err
		}
	}
	return a.retireAll(c.retire)
}

// found drops the address that a repair gave to a private document whose own was lost.
func (a *applier) found(root document.Root) error {
	if a.file.kind != KindPrivate {
		return nil
	}
	lost := placeOf("", LostURI+root.String())
	return a.exec("DELETE FROM locations WHERE place = ?", lost[:])
}

func (a *applier) retireAll(all []retirement) error {
	for _, r := range all {
		if err := a.retire(r); err != nil {
			return err
		}
	}
	return nil
}

// store writes a document's content, unless it is here. Came is as in [Arrival].
func (a *applier) store(d *document.Document, came [][]byte) (id int64, fresh bool, err error) {
	h := d.Header()
	err = a.tx.QueryRowContext(background, "SELECT id FROM documents WHERE root = ?", h.Root[:]).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, false, err
	}
	id = a.next
	_, err = a.storeNew(d, came)
	return id, err == nil, err
}

// storeNew writes the content of a document that is not here and returns the
// number of its words, which is 0 where the document is pending.
func (a *applier) storeNew(d *document.Document, came [][]byte) (words int64, err error) {
	h, id := d.Header(), a.next
	visible := a.when == indexNow
	if visible {
		if words, err = a.indexNew(id, d); err != nil {
			return 0, err
		}
	} else {
		a.file.fresh.keep(d)
	}
	err = a.exec("INSERT INTO documents (id, root, chunks, bytes, norm, chunker, words, visible, changed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		id, h.Root[:], int64(h.Chunks), int64(h.Bytes), h.Norm, h.Chunker, words, visible, a.state.generation)
	if err != nil {
		return 0, err
	}
	if err := a.storeText(id, d, came); err != nil {
		return 0, err
	}
	a.next += int64(d.Chunks())
	a.state.documents++
	a.state.chunks += int64(h.Chunks)
	a.state.bytes += int64(h.Bytes)
	return words, nil
}

// storeText writes the text of a document and the hashes of its leaves.
func (a *applier) storeText(id int64, d *document.Document, came [][]byte) error {
	hash := a.file.proven.hash(d.Root())
	err := a.codec.frames(d, came, func(first int, data []byte) error {
		hash.add(int64(first), data)
		return a.exec("INSERT INTO texts (id, data) VALUES (?, ?)", id+int64(first), data)
	})
	if err != nil {
		return err
	}
	a.file.proven.keep(hash) // which is true whatever becomes of the transaction
	hashes, err := hashesOf(d)
	if err != nil {
		return err
	}
	return a.exec("INSERT INTO leaves (document, hashes, nodes) VALUES (?, ?, ?)", id, hashes.leaves, hashes.nodes)
}

// replaceText puts the text of a document in the place of a damaged one.
func (a *applier) replaceText(row docRow, d *document.Document) error {
	if err := a.exec("DELETE FROM texts WHERE id >= ? AND id < ?", row.id, row.end()); err != nil {
		return err
	}
	if err := a.exec("DELETE FROM leaves WHERE document = ?", row.id); err != nil {
		return err
	}
	return a.storeText(row.id, d, nil)
}

// retire ends a version's time as current and takes its document out of the
// search where no other location of it is current.
func (a *applier) retire(r retirement) error {
	var by any // NULL: withdrawn
	if r.by != (document.Root{}) {
		by = r.by[:]
	}
	if err := a.exec("UPDATE locations SET current = 0, superseded_by = ? WHERE id = ? AND current = 1", by, r.row); err != nil {
		return err
	}
	return a.setVisible(r.root, false, nil)
}

// setVisible brings a document into the search, or out of it where no location
// of it is current. A pending one gets there, or not, when it is indexed. Where its
// text is damaged, d, if not nil, takes its place; otherwise it counts as the index
// has it, since an old version must not keep a new one out.
func (a *applier) setVisible(root document.Root, visible bool, d *document.Document) error {
	var words int64
	var current bool
	row, err := scanDoc(a.tx.QueryRowContext(background, "SELECT "+docColumns+", words, "+
		"EXISTS (SELECT 1 FROM locations WHERE document = documents.id AND current = 1) FROM documents WHERE root = ?", root[:]), &words, &current)
	if err != nil || row.visible == visible || current != visible || row.id >= a.indexed {
		return err
	}
	err = damage(a.readStored(row))
	switch {
	case err == nil:
		return a.setVisibleAs(row, &a.text, words, visible)
	case !isCorrupt(err):
		return err
	case d != nil && d.Header() == row.header:
		if err := a.replaceText(row, d); err != nil {
			return err
		}
	default:
		a.file.meet(err)
	}
	end := min(row.end(), a.indexed) // unless its number of chunks is what is damaged
	if err := a.tx.QueryRowContext(background, "SELECT coalesce(min(id), ?2) FROM documents WHERE id > ?1 AND id < ?2", row.id, end).Scan(&end); err != nil {
		return err
	}
	if err := a.index.countIndexed(row.id, end, visible); err != nil {
		return err
	}
	return a.turn(row, words, visible)
}

// readStored reads the text of a document and verifies it, unless what lies there
// is known to be sound: mostly it was stored a moment ago.
func (a *applier) readStored(row docRow) error {
	proven := a.file.proven
	hash := proven.hash(row.header.Root)
	if err := a.codec.readText(background, a.tx, row, &a.text, hash); err != nil || proven.has(hash) {
		return err
	}
	if err := a.text.verify(row.header); err != nil {
		return err
	}
	proven.keep(hash)
	return nil
}

// setVisibleAs is setVisible for a document that was read.
func (a *applier) setVisibleAs(row docRow, d chunked, words int64, visible bool) error {
	if err := a.index.count(d, visible); err != nil {
		return err
	}
	return a.turn(row, words, visible)
}

// turn notes that a document that was counted is visible, or is no more.
func (a *applier) turn(row docRow, words int64, visible bool) error {
	sign := int64(-1)
	if visible {
		sign = 1
	}
	a.state.passages += sign * int64(row.header.Chunks)
	a.state.words += sign * words
	return a.exec("UPDATE documents SET visible = ?, changed = ? WHERE id = ?", visible, a.state.generation, row.id)
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
