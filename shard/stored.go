package shard

import (
	"context"
	"database/sql"
	"encoding/binary"
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
		r := &storedReader{file: f, headers: headers, docs: docs, at: at, compressed: compressed}
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

	frames []rowFrame // of the document that is being read
	block  []byte     // holds rows, with room for more
	text   []byte     // buffer for that of a frame, where its hash alone is wanted
}

// A rowFrame is a row of texts, of one document.
type rowFrame struct {
	first int64 // its first chunk, counted within the document
	data  []byte
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
	done := 0 // documents
	for rows.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		var key int
		var f rowFrame
		var data sql.RawBytes
		if err := rows.Scan(&key, &f.first, &data); err != nil {
			return err
		}
		f.data = r.hold(data)
		for ; done < key; done++ {
			r.finish(done)
		}
		r.frames = append(r.frames, f)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	rows.Close() // finish may ask
	for ; done < len(r.at); done++ {
		r.finish(done)
	}
	return nil
}

// storedBlock is how much memory is taken at once for rows, which are small.
const storedBlock = 64 << 10

// hold copies a row.
func (r *storedReader) hold(data []byte) []byte {
	if len(data) > cap(r.block)-len(r.block) {
		r.block = make([]byte, 0, max(storedBlock, len(data)))
	}
	from := len(r.block)
	r.block = append(r.block, data...)
	return r.block[from:len(r.block):len(r.block)]
}

// finish makes a document of the frames that were read.
func (r *storedReader) finish(key int) {
	h, doc := r.headers[r.at[key]], &r.docs[r.at[key]]
	if doc.Parts, doc.Err = r.parts(h); doc.Err != nil {
		doc.Parts, doc.Err = nil, r.file.fail(fmt.Errorf("document %s: %w", h.Root, doc.Err))
	}
	clear(r.frames)
	r.frames = r.frames[:0]
}

// parts returns the text of a document that has a header, out of its frames.
func (r *storedReader) parts(h document.Header) (parts [][]byte, err error) {
	if len(r.frames) == 0 {
		return nil, r.lacking(h.Root)
	}
	hash := r.file.proven.hash(h.Root)
	for _, f := range r.frames {
		hash.add(f.first, f.data)
	}
	if r.compressed && r.file.proven.has(hash) {
		for _, f := range r.frames {
			parts = append(parts, r.file.codec.zstdOf(f.data))
		}
		return parts, nil
	}
	var leaves []merkle.Hash
	var size uint64
	for i, f := range r.frames {
		frame := storedText{text: r.text[:0]}
		if err := r.file.codec.decode(&frame, f.data); err != nil {
			return nil, err
		}
		if f.first != int64(len(leaves)) {
			return nil, corrupt("a frame starts at chunk %d, want %d", f.first, len(leaves))
		}
		for c := range frame.Chunks() {
			leaves = append(leaves, merkle.LeafHash(frame.Chunk(c)))
		}
		if size += uint64(len(frame.text)); size > h.Bytes {
			return nil, corrupt("it is longer than its header says")
		}
		part := frame.text
		if r.compressed {
			part, r.text = r.file.codec.zstdOf(f.data), frame.text
		}
		r.frames[i].data = nil // not both that and the text of a large document
		parts = append(parts, part)
	}
	if uint64(len(leaves)) != h.Chunks || size != h.Bytes {
		return nil, corrupt("%d of %d chunks are stored", len(leaves), h.Chunks)
	}
	if merkle.Root(leaves) != h.Root.Hash() {
		return nil, corrupt("its text does not hash to its root")
	}
	r.file.proven.keep(hash)
	return parts, nil
}

// lacking says why a document has no frames: it is nowhere, or there without
// any text.
func (r *storedReader) lacking(root document.Root) error {
	var id int64
	err := r.file.reader.QueryRowContext(background, "SELECT id FROM documents WHERE root = ?", root[:]).Scan(&id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrNotFound
	case err != nil:
		return err
	}
	return corrupt("it lacks its text")
}

// zstdOf returns the zstd frame of a stored frame that was decoded, now or
// before.
func (c *codec) zstdOf(data []byte) []byte {
	// The number of chunks and the length of each come first; none can be
	// missing, since they were decoded.
	chunks, n := binary.Uvarint(data)
	data = data[n:]
	for range chunks {
		_, n := binary.Uvarint(data)
		data = data[n:]
	}
	if data[0] == 1 {
		return data[1:]
	}
	return c.enc.EncodeAll(data[1:], nil)
}
