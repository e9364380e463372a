package shard

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"arborist/document"
	"arborist/shard/corpus"
)

// A Lost is a document that a repair takes out of a file, because its text does
// not hash to its root or cannot be read.
type Lost struct {
	File      string // path
	Root      document.Root
	Reason    string
	Text      []byte // what can be read of it, unproven
	Locations []document.Location
}

// A rescue copies what is whole of one state of a file into emptied tables,
// with a new index. Rows keep their order, locations their IDs.
type rescue struct {
	ctx     context.Context
	file    *File   // read from
	from    queryer // of file
	a       *applier
	ids     map[int64]int64 // of documents: before, after
	hidden  map[int64]bool  // of those, before: of which no version was current
	origins map[int64]string
	lost    map[int64]*Lost
	order   []int64 // keys of lost
	saved   saved
	without *dropping // what is left behind; nil: nothing
}

// A saved says what of a file a rescue has brought into another one.
type saved struct {
	documents, locations int
	lost                 []*Lost
	unread               bool     // there was more, on pages that could not be read
	said                 []string // what else it did not keep
}

// better reports whether more was saved than by another way.
func (s *saved) better(than *saved) bool {
	return than == nil || cmp.Or(cmp.Compare(s.documents, than.documents), cmp.Compare(s.locations, than.locations)) > 0
}

// emptySQL empties what a rescue fills, children first.
const emptySQL = `DELETE FROM locations; DELETE FROM leaves; DELETE FROM texts; DELETE FROM documents; DELETE FROM origins;
	UPDATE state SET posting = max(posting, coalesce((SELECT max(id) + 1 FROM postings), 1)),
		documents = 0, chunks = 0, bytes = 0, passages = 0, words = 0, all_words = 0;
	DELETE FROM segments; DELETE FROM postings`

// rescueInto fills the emptied tables of tx, which is of the file to, with what
// is whole in from, which is of f, and stays. It returns the documents that are
// not whole, too. Without is nil where everything stays.
func (f *File) rescueInto(ctx context.Context, from queryer, to *File, tx *sql.Tx, without *dropping) (*saved, error) {
	a, err := newApplier(to, tx)
	if err != nil {
		return nil, err
	}
	r := &rescue{ctx: ctx, file: f, from: from, a: a,
		ids: make(map[int64]int64), hidden: make(map[int64]bool), origins: make(map[int64]string), lost: make(map[int64]*Lost), without: without}
	for _, step := range []func() error{r.documents, r.orphans, r.readOrigins, r.locations, r.placeless, r.settle, a.finish} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	for _, id := range r.order {
		r.saved.lost = append(r.saved.lost, r.lost[id])
	}
	r.saved.documents = len(r.ids)
	return &r.saved, nil
}

// report notes what is not kept.
func (r *rescue) report(format string, args ...any) {
	r.saved.said = append(r.saved.said, fmt.Sprintf(format, args...))
}

func (r *rescue) skipped(table string) func(int64, int64) {
	return func(after, next int64) {
		r.saved.unread = true
		if next < 0 {
			r.report("rows of %s behind %d cannot be read", table, after)
		} else {
			r.report("rows of %s from %d to %d cannot be read", table, after+1, next)
		}
	}
}

func (r *rescue) documents() error {
	return walk(func(after int64, look bool) (int64, error) {
		row, err := scanDoc(r.from.QueryRowContext(background, "SELECT "+docColumns+" FROM documents WHERE id > ? ORDER BY id LIMIT 1", after))
		if isCorrupt(err) && !corpus.IsMalformed(err) && row.id > after {
			if !look {
				return row.id, r.lose(row, err)
			}
			return row.id, nil
		}
		if err != nil || look {
			return row.id, err
		}
		if err := r.ctx.Err(); err != nil || r.without.drops(row.id) {
			return row.id, err
		}
		return row.id, r.document(row)
	}, r.skipped("documents"))
}

func (r *rescue) document(row docRow) error {
	d, err := r.file.readDocument(background, r.from, row)
	r.saved.unread = r.saved.unread || corpus.IsMalformed(err)
	if isCorrupt(err) || corpus.IsMalformed(err) {
		return r.lose(row, err)
	}
	if err != nil {
		return err
	}
	id, fresh, err := r.a.store(d, nil)
	if err != nil {
		return err
	}
	if !fresh {
		r.report("document %s stood there twice", d.Root())
	}
	r.ids[row.id], r.hidden[row.id] = id, !row.visible
	return nil
}

// lose notes that a document cannot be kept, with what can be read of it, where its
// row is not all that is wrong.
func (r *rescue) lose(row docRow, why error) error {
	if whole, err := r.adopt(row.id); whole || err != nil {
		return err
	}
	l := &Lost{File: r.file.path, Root: row.header.Root, Reason: why.Error()}
	// Its own header may be what is wrong: the next document ends it too.
	end := row.end()
	var next int64
	if r.from.QueryRowContext(background, "SELECT id FROM documents WHERE id > ? ORDER BY id LIMIT 1", row.id).Scan(&next) == nil && (next < end || end < row.id) {
		end = next
	}
	l.Text = r.rawText(row.id, end)
	r.lost[row.id] = l
	r.order = append(r.order, row.id)
	return nil
}

// rawText returns what can be read of the text of some chunks.
func (r *rescue) rawText(first, end int64) (text []byte) {
	rows, err := r.from.QueryContext(background, "SELECT data FROM texts WHERE id >= ? AND id < ? ORDER BY id", first, end)
	if err != nil {
		return nil
	}
	defer rows.Close()
	for rows.Next() && len(text) < document.MaxBytes {
		var data []byte
		if rows.Scan(&data) != nil {
			break
		}
		var frame storedText
		if r.file.codec.decode(&frame, data) == nil {
			data = frame.text
		}
		text = append(text, data...)
	}
	return text
}

func (r *rescue) readOrigins() error {
	return walk(func(after int64, look bool) (id int64, err error) {
		var origin string
		err = r.from.QueryRowContext(background, "SELECT id, origin FROM origins WHERE id > ? ORDER BY id LIMIT 1", after).Scan(&id, &origin)
		if err == nil && !look {
			r.origins[id] = origin
		}
		return id, err
	}, r.skipped("origins"))
}

const rescueLocationSQL = `SELECT id, document, origin, place, seq, current, superseded_by, uri, title, source, fetched_at, content_type,
	extractor, status, etag, modified FROM locations WHERE id > ? ORDER BY id LIMIT 1`

func (r *rescue) locations() error {
	return walk(func(after int64, look bool) (id int64, err error) {
		var doc, origin, seq, fetched int64
		var current bool
		var by, at []byte
		var l document.Location
		err = r.from.QueryRowContext(background, rescueLocationSQL, after).Scan(&id, &doc, &origin, &at, &seq, &current, &by,
			&l.URI, &l.Title, &l.Source, &fetched, &l.ContentType, &l.Extractor, &l.Status, &l.ETag, &l.Modified)
		if err != nil || look {
			return id, err
		}
		l.FetchedAt = time.Unix(fetched, 0).UTC()
		name, known := r.origins[origin]
		l.Corpus = name
		if r.without.leaves(name, doc) {
			return id, nil
		}
		if lost := r.lost[doc]; lost != nil {
			lost.Locations = append(lost.Locations, l)
			return id, nil
		}
		to, stored := r.ids[doc]
		p := placeOf(name, l.URI)
		switch err := checkLocation(l); {
		case !stored:
			r.report("location %.200q is of a document that is not there, and left out", l.URI)
		case !known:
			r.report("location %.200q is of a corpus whose name is lost, and left out", l.URI)
		case !bytes.Equal(at, p[:]):
			r.report("location %.200q is not what stood there, and left out", l.URI)
		case err != nil || by != nil && len(by) != len(document.Root{}) || seq < 1:
			r.report("location %.200q cannot be, and is left out", l.URI)
		default:
			return id, r.location(id, to, seq, current, by, l)
		}
		return id, nil
	}, r.skipped("locations"))
}

func (r *rescue) location(id, doc, seq int64, current bool, by []byte, l document.Location) error {
	origin, err := r.a.origin(l.Corpus)
	if err != nil {
		return err
	}
	var superseded any
	if by != nil {
		superseded = by
	}
	p := placeOf(l.Corpus, l.URI)
	res, err := r.a.tx.ExecContext(background, `INSERT INTO locations (id, document, origin, place, seq, current, superseded_by, uri, title, source,
		fetched_at, content_type, extractor, status, etag, modified) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		id, doc, origin, p[:], seq, current, superseded, l.URI, l.Title, l.Source, l.FetchedAt.Unix(), l.ContentType, l.Extractor, l.Status, l.ETag, l.Modified)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		r.report("location %.200q stood there twice", l.URI)
		return err
	}
	r.saved.locations++
	return nil
}

// LostURI begins the URI of a private document whose own was lost. Its root follows.
const LostURI = "lost:"

// placeless gives a place to each document of a private file that has none left:
// what is stored is to be found. Those of shared documents come from the logs.
func (r *rescue) placeless() error {
	if r.file.kind != KindPrivate {
		return nil
	}
	rows, err := r.a.tx.QueryContext(background, "SELECT id, root FROM documents WHERE NOT EXISTS (SELECT 1 FROM locations WHERE document = documents.id)")
	if err != nil {
		return err
	}
	without := make(map[int64]document.Root)
	for rows.Next() {
		var id int64
		var root []byte
		if err := rows.Scan(&id, &root); err != nil {
			return errors.Join(err, rows.Close())
		}
		without[id] = document.Root(root)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(without) == 0 {
		return err
	}
	var next, found int64
	if err := r.a.tx.QueryRowContext(background, "SELECT coalesce(max(id), 0) + 1 FROM locations").Scan(&next); err != nil {
		return err
	}
	for old, id := range r.ids {
		root, ok := without[id]
		if !ok {
			continue
		}
		delete(without, id) // it may have stood there twice
		if err := r.location(next, id, 1, !r.hidden[old], nil, document.Location{URI: LostURI + root.String(), Source: "repair", FetchedAt: time.Unix(0, 0)}); err != nil {
			return err
		}
		next, found = next+1, found+1
	}
	r.saved.locations -= int(found) // none of those that were there
	r.report("the addresses of %d documents are lost: each is found as %sROOT, and at its own again once its site is crawled or its file added", found, LostURI)
	return nil
}

// settle makes the newest version of each place the only one that can be
// current, and hides documents without a current location.
func (r *rescue) settle() error {
	err := r.a.exec(`UPDATE locations SET current = 0, superseded_by = (SELECT d.root FROM locations n JOIN documents d ON d.id = n.document
			WHERE n.place = locations.place ORDER BY n.seq DESC LIMIT 1)
		WHERE current = 1 AND EXISTS (SELECT 1 FROM locations n WHERE n.place = locations.place AND n.seq > locations.seq)`)
	if err != nil {
		return err
	}
	rows, err := r.a.tx.QueryContext(background, "SELECT root FROM documents WHERE NOT EXISTS (SELECT 1 FROM locations WHERE document = documents.id AND current = 1)")
	if err != nil {
		return err
	}
	var hidden []document.Root
	for rows.Next() {
		var root []byte
		if err := rows.Scan(&root); err != nil {
			return errors.Join(err, rows.Close())
		}
		hidden = append(hidden, document.Root(root))
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, root := range hidden {
		if err := r.a.setVisible(root, false, nil); err != nil {
			return fmt.Errorf("hide %s: %w", root, err)
		}
	}
	return nil
}
