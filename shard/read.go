package shard

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"arborist/document"
	"arborist/merkle"
)

// A Passage is one chunk of a document with the path that proves it: the leaf
// hash of Text at Index, in a tree of Header.Chunks leaves, leads over Path to
// Header.Root. That was checked when it was read.
type Passage struct {
	Header document.Header
	Index  uint64
	Text   []byte
	Path   []merkle.Hash
}

// Stats counts what is stored, superseded content included.
type Stats struct {
	Documents uint64
	Chunks    uint64
	Bytes     uint64 // of canonical text
}

// A docRow is a row of documents.
type docRow struct {
	id      int64
	header  document.Header
	visible bool
}

// end is the id behind the last chunk.
func (d docRow) end() int64 { return d.id + int64(d.header.Chunks) }

const docColumns = "id, root, chunks, bytes, norm, chunker, visible"

// scanDoc reads docColumns and refuses a header that no document can have: in
// a stranger's file the numbers may be anything.
func scanDoc(row *sql.Row, more ...any) (docRow, error) {
	var d docRow
	var root []byte
	var chunks, size int64
	h := &d.header
	into := append([]any{&d.id, &root, &chunks, &size, &h.Norm, &h.Chunker, &d.visible}, more...)
	if err := row.Scan(into...); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return d, ErrNotFound
		}
		return d, err
	}
	if len(root) != len(h.Root) || chunks < 1 || size < chunks || size > document.MaxBytes || d.id < 1 || d.id > 1<<62 {
		return d, corrupt("document row %d: a root of %d bytes, %d chunks, %d bytes", d.id, len(root), chunks, size)
	}
	h.Root, h.Chunks, h.Bytes = document.Root(root), uint64(chunks), uint64(size)
	return d, nil
}

// inOrder fails where the row behind an id, as SQLite found it, does not stand behind
// it. That is so where a page is damaged: the rows of a table are searched as if they
// were in order. Whoever goes on from there goes round for ever.
func inOrder(after, id int64) error {
	if id <= after {
		return corrupt("rows of documents are not in order: behind %d comes %d", after, id)
	}
	return nil
}

func findDoc(ctx context.Context, tx queryer, root document.Root) (docRow, error) {
	d, err := scanDoc(tx.QueryRowContext(ctx, "SELECT "+docColumns+" FROM documents WHERE root = ?", root[:]))
	if errors.Is(err, ErrNotFound) {
		return d, fmt.Errorf("document %s: %w", root, ErrNotFound)
	}
	return d, err
}

// Document returns a document, hashed whole against its header. Errors wrap
// [ErrNotFound] or [ErrCorrupt].
func (f *File) Document(ctx context.Context, root document.Root) (d *document.Document, err error) {
	err = f.view(ctx, func(tx queryer) error {
		row, err := findDoc(ctx, tx, root)
		if err != nil {
			return err
		}
		d, err = f.readDocument(ctx, tx, row)
		return err
	})
	return d, err
}

func (f *File) readDocument(ctx context.Context, tx queryer, row docRow) (*document.Document, error) {
	var stored storedText
	if err := f.codec.readText(ctx, tx, row, &stored, nil); err != nil {
		return nil, err
	}
	d, err := document.Verify(row.header, stored.text)
	if err != nil {
		return nil, corrupt("document %s: %w", row.header.Root, err)
	}
	return d, nil
}

// Passage returns chunk index of a document with its path. Errors wrap
// [ErrNotFound] or [ErrCorrupt].
func (f *File) Passage(ctx context.Context, root document.Root, index uint64) (p Passage, err error) {
	err = f.view(ctx, func(tx queryer) error {
		row, err := findDoc(ctx, tx, root)
		if err != nil {
			return err
		}
		p, err = f.passage(ctx, tx, row, index)
		return err
	})
	return p, err
}

// passage reads a chunk and proves it. The header of a stranger's file is
// believed only after the whole document was hashed: a path alone does not
// show how many leaves its tree has.
func (f *File) passage(ctx context.Context, tx queryer, row docRow, index uint64) (Passage, error) {
	root := row.header.Root
	if index >= row.header.Chunks {
		return Passage{}, fmt.Errorf("passage %d of document %s: %w: it has %d", index, root, ErrNotFound, row.header.Chunks)
	}
	if f.foreign && !f.verified.has(row) {
		if _, err := f.readDocument(ctx, tx, row); err != nil {
			return Passage{}, err
		}
		f.verified.add(row)
	}
	rows, err := tx.QueryContext(context.WithoutCancel(ctx), passageSQL, row.id, row.id+int64(index))
	if err != nil {
		return Passage{}, err
	}
	defer rows.Close()
	var leaves, nodes, data sql.RawBytes // valid until rows is closed
	var id int64
	if !rows.Next() {
		return Passage{}, cmp.Or(rows.Err(), corrupt("document %s lacks its leaf hashes, or chunk %d", root, index))
	}
	if err := rows.Scan(&leaves, &nodes, &id, &data); err != nil {
		return Passage{}, err
	}
	hashes := leafHashes{leaves, nodes}
	if err := hashes.fit(row); err != nil {
		return Passage{}, err
	}
	p := Passage{Header: row.header, Index: index}
	if p.Text, err = f.codec.chunk(row, index, id, data); err != nil {
		return Passage{}, err
	}
	p.Text = bytes.Clone(p.Text)
	if p.Path, err = merkle.Inclusion(hashes, index, row.header.Chunks); err != nil {
		return Passage{}, corrupt("document %s: %w", root, err)
	}
	leaf := merkle.LeafHash(p.Text)
	if stored, err := hashes.Node(0, index); err != nil || stored != leaf {
		return Passage{}, corrupt("chunk %d of document %s has another hash than was stored", index, root)
	}
	// This verifies text and hashes together.
	if err := merkle.VerifyInclusion(leaf, index, row.header.Chunks, p.Path, root.Hash()); err != nil {
		return Passage{}, corrupt("chunk %d of document %s: %w", index, root, err)
	}
	return p, nil
}

// passageSQL reads the hashes of a document and the frame that has a chunk, in
// one statement: a search does this for every hit.
const passageSQL = `SELECT l.hashes, l.nodes, t.id, t.data FROM leaves l
	JOIN texts t ON t.id = (SELECT max(id) FROM texts WHERE id <= ?2) WHERE l.document = ?1`

// Has reports for each root whether its document is stored.
func (f *File) Has(ctx context.Context, roots []document.Root) ([]bool, error) {
	has := make([]bool, len(roots))
	at := 0
	for batch := range slices.Chunk(roots, batchSize) {
		list, err := rootList(batch, func(r document.Root) document.Root { return r })
		if err != nil {
			return nil, err
		}
		rows, err := f.reader.QueryContext(ctx, "SELECT j.key FROM json_each(?) j JOIN documents d ON d.root = unhex(j.value)", list)
		if err != nil {
			return nil, f.fail(err)
		}
		for rows.Next() {
			var i int
			if err := rows.Scan(&i); err != nil {
				rows.Close()
				return nil, f.fail(err)
			}
			has[at+i] = true
		}
		if err := rows.Err(); err != nil {
			return nil, f.fail(err)
		}
		at += len(batch)
	}
	return has, nil
}

// Locations returns where a document was found, current locations first. A
// document that is not here has none.
func (f *File) Locations(ctx context.Context, root document.Root) ([]Version, error) {
	rows, err := f.reader.QueryContext(ctx, "SELECT "+versionColumns+" FROM "+versionTables+
		" WHERE d.root = ? ORDER BY l.current DESC, o.origin, l.uri, l.seq DESC", root[:])
	if err != nil {
		return nil, f.fail(err)
	}
	all, err := scanVersions(rows)
	return all, f.fail(err)
}

// History returns the versions at a URI: corpus by corpus, the newest first.
func (f *File) History(ctx context.Context, uri string) ([]Version, error) {
	origins, err := f.originNames(ctx)
	if err != nil {
		return nil, err
	}
	var all []Version
	for _, origin := range origins {
		p := placeOf(origin, uri)
		rows, err := f.reader.QueryContext(ctx, "SELECT "+versionColumns+" FROM "+versionTables+" WHERE l.place = ?", p[:])
		if err != nil {
			return nil, f.fail(err)
		}
		found, err := scanVersions(rows)
		if err != nil {
			return nil, f.fail(err)
		}
		all = append(all, found...)
	}
	sortHistory(all)
	return all, nil
}

func sortHistory(all []Version) {
	slices.SortFunc(all, func(a, b Version) int {
		return cmp.Or(cmp.Compare(a.Location.Corpus, b.Location.Corpus), cmp.Compare(b.Seq, a.Seq))
	})
}

func (f *File) originNames(ctx context.Context) ([]string, error) {
	rows, err := f.reader.QueryContext(ctx, "SELECT origin FROM origins")
	if err != nil {
		return nil, f.fail(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, f.fail(err)
		}
		names = append(names, name)
	}
	return names, f.fail(rows.Err())
}

// Stats counts what is stored.
func (f *File) Stats(ctx context.Context) (Stats, error) {
	var s Stats
	err := f.reader.QueryRowContext(ctx, "SELECT documents, chunks, bytes FROM state").Scan(&s.Documents, &s.Chunks, &s.Bytes)
	return s, f.fail(stateless(err))
}
