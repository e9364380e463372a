package shard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"

	"arborist/document"
)

// A halving takes one file apart into two.
type halving struct {
	from *File
	to   [2]*File

	mu      sync.Mutex
	ids     map[int64]docAt  // of documents in from; guarded by mu
	rows    map[int64]uint64 // of locations in from: a hash of what was copied
	seed    maphash.Seed
	lastDoc int64
}

// A docAt says where a document of the old file is in the new ones.
type docAt struct {
	side uint8
	id   int64
}

// One step of copying takes at most this many documents, or this many bytes and
// one document more; or this many locations.
const (
	splitDocuments = 512
	splitBytes     = 8 << 20
	splitLocations = 4096
)

// A counter adds up what several halvings have done.
type counter struct {
	mu                 sync.Mutex
	done, total, bytes int64
	report             func(done, total, bytes int64)
}

func (c *counter) add(documents, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done, c.bytes = c.done+documents, c.bytes+bytes
	c.report(c.done, max(c.done, c.total), c.bytes)
}

// copy fills the new files from one snapshot, while others read and write.
func (h *halving) copy(ctx context.Context, c *counter) error {
	h.ids, h.rows, h.seed = make(map[int64]docAt), make(map[int64]uint64), maphash.MakeSeed()
	return h.bring(ctx, c)
}

// catchUp brings over what has changed since.
func (h *halving) catchUp(ctx context.Context) error { return h.bring(ctx, nil) }

// bring brings documents, locations and what is hidden up to one snapshot.
func (h *halving) bring(ctx context.Context, c *counter) error {
	// A connection of its own: it is held for long, and searches have few.
	db, err := connect(h.from.path, reading)
	if err != nil {
		return h.from.fail(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return h.from.fail(err)
	}
	defer tx.Rollback()
	if err := h.documents(ctx, tx, c); err != nil {
		return h.from.fail(err)
	}
	touched, err := h.locations(ctx, tx)
	if err != nil {
		return h.from.fail(err)
	}
	return h.visibility(ctx, touched)
}

// documents copies the documents behind the last that was copied.
func (h *halving) documents(ctx context.Context, tx queryer, c *counter) error {
	var batch [2][]docRow
	var docs [2][]*document.Document
	var size uint64
	flush := func() error {
		err := each(2, func(i int) error { return h.store(ctx, i, batch[i], docs[i]) })
		if err != nil {
			return err
		}
		for i := range batch {
			if c != nil && len(batch[i]) > 0 {
				var bytes int64
				for _, row := range batch[i] {
					bytes += int64(row.header.Bytes)
				}
				c.add(int64(len(batch[i])), bytes)
			}
			batch[i], docs[i] = nil, nil
		}
		size = 0
		return nil
	}
	for {
		row, err := scanDoc(tx.QueryRowContext(ctx, "SELECT "+docColumns+" FROM documents WHERE id > ? ORDER BY id LIMIT 1", h.lastDoc))
		if isNotFound(err) {
			return flush()
		}
		if err != nil {
			return err
		}
		if err := inOrder(h.lastDoc, row.id); err != nil {
			return err
		}
		h.lastDoc = row.id
		if !h.from.holds(row.header.Root) {
			return corrupt("document %s belongs into shard %s", row.header.Root, fileName(route(row.header.Root, h.from.total)))
		}
		d, err := h.from.readDocument(ctx, tx, row)
		if err != nil {
			return err
		}
		i := h.side(row.header.Root)
		batch[i], docs[i] = append(batch[i], row), append(docs[i], d)
		if size += row.header.Bytes; size >= splitBytes || len(batch[0])+len(batch[1]) >= splitDocuments {
			if err := flush(); err != nil {
				return err
			}
		}
	}
}

// store puts documents into one of the new files. They are visible until
// visibility says otherwise.
func (h *halving) store(ctx context.Context, i int, rows []docRow, docs []*document.Document) error {
	if len(rows) == 0 {
		return nil
	}
	ids := make([]int64, len(rows))
	err := h.write(ctx, i, func(a *applier) error {
		for j, d := range docs {
			id, fresh, err := a.store(d, nil)
			if err != nil {
				return err
			}
			if !fresh {
				return corrupt("document %s stands there twice", d.Root())
			}
			ids[j] = id
		}
		return nil
	})
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for j, row := range rows {
		h.ids[row.id] = docAt{uint8(i), ids[j]}
	}
	return nil
}

// write runs fn in a transaction of one of the new files.
func (h *halving) write(ctx context.Context, i int, fn func(*applier) error) error {
	f := h.to[i]
	return f.Write(ctx, func(tx *sql.Tx) error {
		a, err := newApplier(f, tx)
		if err != nil {
			return err
		}
		if err := fn(a); err != nil {
			return err
		}
		if err := a.finish(); err != nil {
			return err
		}
		f.indexers.Put(a.index)
		return nil
	})
}

const splitLocationSQL = `SELECT l.id, l.document, d.root, o.origin, l.place, l.seq, l.current, l.superseded_by, l.uri, l.title, l.source, l.fetched_at,
	l.content_type, l.extractor, l.status, l.etag, l.modified
	FROM locations l JOIN documents d ON d.id = l.document JOIN origins o ON o.id = l.origin ORDER BY l.id`

// A locationRow is a row as it stands in the file.
type locationRow struct {
	id, document           int64
	root                   []byte
	origin                 string
	place                  []byte
	seq                    int64
	current                bool
	by                     []byte
	uri, title, source     string
	fetched                int64
	contentType, extractor string
	status                 int64
	etag, modified         string
}

func (l *locationRow) scan(rows *sql.Rows) error {
	return rows.Scan(&l.id, &l.document, &l.root, &l.origin, &l.place, &l.seq, &l.current, &l.by, &l.uri, &l.title, &l.source,
		&l.fetched, &l.contentType, &l.extractor, &l.status, &l.etag, &l.modified)
}

// hash is of all that can change of a row.
func (h *halving) hash(l *locationRow) uint64 {
	var m maphash.Hash
	m.SetSeed(h.seed)
	for _, s := range []string{l.origin, l.uri, l.title, l.source, l.contentType, l.extractor, l.etag, l.modified, string(l.place), string(l.by)} {
		maphash.WriteComparable(&m, len(s))
		m.WriteString(s)
	}
	for _, n := range []int64{l.document, l.seq, l.fetched, l.status} {
		maphash.WriteComparable(&m, n)
	}
	maphash.WriteComparable(&m, l.current)
	return m.Sum64()
}

// locations copies the locations that are new or have changed, under their old
// IDs, and returns the roots of their documents, by side.
func (h *halving) locations(ctx context.Context, tx queryer) (touched [2]map[document.Root]bool, err error) {
	touched = [2]map[document.Root]bool{{}, {}}
	rows, err := tx.QueryContext(ctx, splitLocationSQL)
	if err != nil {
		return touched, err
	}
	defer rows.Close()
	var batch [2][]locationRow
	flush := func() error {
		err := each(2, func(i int) error { return h.storeLocations(ctx, i, batch[i]) })
		batch = [2][]locationRow{}
		return err
	}
	for rows.Next() {
		var l locationRow
		if err := l.scan(rows); err != nil {
			return touched, err
		}
		sum := h.hash(&l)
		if h.rows[l.id] == sum {
			continue
		}
		at, ok := h.ids[l.document]
		if !ok || len(l.root) != len(document.Root{}) {
			return touched, corrupt("location %.200q is of a document that is not there", l.uri)
		}
		h.rows[l.id] = sum
		touched[at.side][document.Root(l.root)] = true
		l.document = at.id
		batch[at.side] = append(batch[at.side], l)
		if len(batch[0])+len(batch[1]) >= splitLocations {
			if err := flush(); err != nil {
				return touched, err
			}
		}
	}
	return touched, errors.Join(rows.Err(), flush())
}

func (h *halving) storeLocations(ctx context.Context, i int, rows []locationRow) error {
	if len(rows) == 0 {
		return nil
	}
	return h.write(ctx, i, func(a *applier) error {
		for _, l := range rows {
			origin, err := a.origin(l.origin)
			if err != nil {
				return err
			}
			var by any
			if l.by != nil {
				by = l.by
			}
			err = a.exec(`INSERT OR REPLACE INTO locations (id, document, origin, place, seq, current, superseded_by, uri, title, source, fetched_at,
				content_type, extractor, status, etag, modified) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				l.id, l.document, origin, l.place, l.seq, l.current, by, l.uri, l.title, l.source, l.fetched,
				l.contentType, l.extractor, l.status, l.etag, l.modified)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// visibility shows and hides documents as their locations say.
func (h *halving) visibility(ctx context.Context, touched [2]map[document.Root]bool) error {
	return each(2, func(i int) error {
		if len(touched[i]) == 0 {
			return nil
		}
		return h.write(ctx, i, func(a *applier) error {
			for root := range touched[i] {
				// Each of them changes nothing where it does not apply.
				if err := errors.Join(a.setVisible(root, true, nil), a.setVisible(root, false, nil)); err != nil {
					return err
				}
				if err := ctx.Err(); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// compare compares what the old file counts with the new ones.
func (h *halving) compare(ctx context.Context) (documents int64, err error) {
	var was, sum [7]int64
	const count = `SELECT documents, chunks, bytes, passages, words, all_words, (SELECT count(*) FROM locations) FROM state`
	for i, f := range []*File{h.from, h.to[0], h.to[1]} {
		var n [7]int64
		err := f.reader.QueryRowContext(ctx, count).Scan(&n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6])
		if err != nil {
			return 0, f.fail(err)
		}
		for j := range n {
			if i == 0 {
				was[j] = n[j]
			} else {
				sum[j] += n[j]
			}
		}
	}
	if was != sum {
		return 0, h.from.fail(corrupt("it counts %v, the two that it was taken apart into %v", was, sum))
	}
	return was[0], nil
}

func (h *halving) close() error {
	var errs []error
	for i, f := range h.to {
		if f != nil {
			errs = append(errs, f.Close())
			h.to[i] = nil
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close what was made of %s: %w", h.from.path, err)
	}
	return nil
}
