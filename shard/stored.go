package shard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arborist/document"
	"arborist/merkle"
)

// A Stored is the text of a document as it lies in a file, hashed against the
// root, for whoever hands it on.
type Stored struct {
	// Parts are the text in pieces or, where it was wanted compressed, zstd
	// frames that give the text when they are decoded one after the other.
	Parts [][]byte
	// Err wraps [ErrNotFound] or [ErrCorrupt]; then there are no parts.
	Err error
}

// storedSQL goes through the documents in the order that they are asked for in,
// and for each through its frames: CROSS JOIN makes the loops stand as written.
const storedSQL = "SELECT j.key, t.id - d.id, t.data FROM json_each(?) j CROSS JOIN documents d ON d.root = unhex(j.value) " +
	"CROSS JOIN texts t ON t.id >= d.id AND t.id < d.id + d.chunks"

// Stored reads documents of which the headers are known, with one statement for
// each file that has some. They are not cut into chunks again: the chunks are
// those that they were stored in, and their hashes give the root. An error is
// none of single documents.
func (s *Shared) Stored(ctx context.Context, headers []document.Header, compressed bool) ([]Stored, error) {
	s.gate.enter()
	defer s.gate.leave()
	docs := make([]Stored, len(headers))
	perFile := make([][]int, len(s.files))
	for i, h := range headers {
		home := route(h.Root, len(s.files))
		perFile[home] = append(perFile[home], i)
	}
	for home, at := range perFile {
		if len(at) == 0 {
			continue
		}
		f := s.files[home]
		r := &storedReader{file: f, headers: headers, docs: docs, at: at, compressed: compressed, leaves: make([][]merkle.Hash, len(at)), sizes: make([]uint64, len(at))}
		if err := r.read(ctx); err != nil {
			return nil, f.fail(err)
		}
	}
	return docs, nil
}

// A storedReader reads documents out of one file.
type storedReader struct {
	file       *File
	headers    []document.Header
	docs       []Stored
	at         []int // numbers of the documents that the file has, in headers and docs
	compressed bool
	leaves     [][]merkle.Hash // by place in at
	sizes      []uint64
	text       []byte // buffer for that of the next frame, where its hash alone is wanted
}

func (r *storedReader) read(ctx context.Context) error {
	list, err := rootList(r.at, func(i int) document.Root { return r.headers[i].Root })
	if err != nil {
		return err
	}
	// A context that can end costs a goroutine a statement, so it is asked
	// between frames.
	rows, err := r.file.reader.QueryContext(context.WithoutCancel(ctx), storedSQL, list)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		var key int
		var offset int64
		var data []byte
		if err := rows.Scan(&key, &offset, &data); err != nil {
			return err
		}
		if doc := &r.docs[r.at[key]]; doc.Err == nil {
			doc.Err = r.frame(doc, key, offset, data)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for key, i := range r.at {
		doc := &r.docs[i]
		if doc.Err == nil {
			doc.Err = r.check(ctx, key)
		}
		if doc.Err != nil {
			doc.Parts, doc.Err = nil, r.file.fail(doc.Err)
		}
	}
	return nil
}

// frame takes the next frame of a document.
func (r *storedReader) frame(doc *Stored, key int, offset int64, data []byte) error {
	root := r.headers[r.at[key]].Root
	frame := storedText{text: r.text[:0]}
	if err := r.file.codec.decode(&frame, data); err != nil {
		return fmt.Errorf("document %s: %w", root, err)
	}
	if offset != int64(len(r.leaves[key])) {
		return corrupt("document %s: a frame starts at chunk %d, want %d", root, offset, len(r.leaves[key]))
	}
	for i := range frame.Chunks() {
		r.leaves[key] = append(r.leaves[key], merkle.LeafHash(frame.Chunk(i)))
	}
	if r.sizes[key] += uint64(len(frame.text)); r.sizes[key] > r.headers[r.at[key]].Bytes {
		return corrupt("document %s is longer than its header says", root)
	}
	part := frame.text
	if r.compressed {
		part = r.file.codec.zstdOf(data, frame.Chunks(), frame.text)
		r.text = frame.text
	}
	doc.Parts = append(doc.Parts, part)
	return nil
}

// check compares what was read with the header that was asked for.
func (r *storedReader) check(ctx context.Context, key int) error {
	h, leaves := r.headers[r.at[key]], r.leaves[key]
	if len(leaves) == 0 {
		// Nowhere, or there without any text.
		var id int64
		err := r.file.reader.QueryRowContext(context.WithoutCancel(ctx), "SELECT id FROM documents WHERE root = ?", h.Root[:]).Scan(&id)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("document %s: %w", h.Root, ErrNotFound)
		case err != nil:
			return err
		}
		return corrupt("document %s lacks its text", h.Root)
	}
	if uint64(len(leaves)) != h.Chunks || r.sizes[key] != h.Bytes {
		return corrupt("document %s: %d of %d chunks are stored", h.Root, len(leaves), h.Chunks)
	}
	if merkle.Root(leaves) != h.Root.Hash() {
		return corrupt("document %s: its text does not hash to its root", h.Root)
	}
	return nil
}

// zstdOf returns the zstd frame of a stored frame that was decoded to a text of
// so many chunks.
func (c *codec) zstdOf(data []byte, chunks int, text []byte) []byte {
	// The number of chunks and the length of each come first; none can be
	// missing, since they were decoded.
	for range chunks + 1 {
		for data[0] >= 0x80 {
			data = data[1:]
		}
		data = data[1:]
	}
	if data[0] == 1 {
		return data[1:]
	}
	return c.enc.EncodeAll(text, nil)
}
