package shard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arborist/document"
	"arborist/merkle"
)

// A Stored is a document as it lies in a file: its text, hashed against the
// header, and the same text as zstd frames, for whoever hands it on compressed.
type Stored struct {
	Header document.Header
	Text   []byte
	Zstd   [][]byte // decoded one after the other they give Text
}

const storedSQL = "SELECT d.id, d.root, d.chunks, d.bytes, d.norm, d.chunker, d.visible, t.id, t.data " +
	"FROM documents d JOIN texts t ON t.id >= d.id AND t.id < d.id + d.chunks WHERE d.root = ? ORDER BY t.id"

// Stored returns a document without parsing it again: its chunks are those that
// it was stored in, and their hashes give its root. Errors wrap [ErrNotFound]
// or [ErrCorrupt].
func (s *Shared) Stored(ctx context.Context, root document.Root) (*Stored, error) {
	f := s.home(root)
	doc, err := f.stored(ctx, root)
	return doc, f.fail(err)
}

func (f *File) stored(ctx context.Context, root document.Root) (*Stored, error) {
	conn, err := f.reader.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	// One statement sees one state of the file. A context that can end costs a
	// goroutine a statement, so it is asked between frames.
	rows, err := conn.QueryContext(context.WithoutCancel(ctx), storedSQL, root[:])
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var doc *Stored
	var leaves []merkle.Hash
	for rows.Next() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var row docRow
		var id int64
		var named, data []byte
		var chunks, size int64
		h := &row.header
		if err := rows.Scan(&row.id, &named, &chunks, &size, &h.Norm, &h.Chunker, &row.visible, &id, &data); err != nil {
			return nil, err
		}
		if doc == nil {
			if chunks < 1 || size < chunks || size > document.MaxBytes {
				return nil, corrupt("document %s: %d chunks, %d bytes", root, chunks, size)
			}
			h.Root, h.Chunks, h.Bytes = root, uint64(chunks), uint64(size)
			doc = &Stored{Header: *h, Text: make([]byte, 0, min(size, maxFrame))}
		}
		text, ends, err := f.codec.decode(data)
		if err != nil {
			return nil, fmt.Errorf("document %s: %w", root, err)
		}
		if id != row.id+int64(len(leaves)) {
			return nil, corrupt("document %s: a frame starts at chunk %d, want %d", root, id-row.id, len(leaves))
		}
		from := 0
		for _, end := range ends {
			leaves = append(leaves, merkle.LeafHash(text[from:end]))
			from = end
		}
		frame, err := f.codec.zstdOf(data, len(ends), text)
		if err != nil {
			return nil, err
		}
		doc.Text, doc.Zstd = append(doc.Text, text...), append(doc.Zstd, frame)
		if uint64(len(doc.Text)) > doc.Header.Bytes {
			return nil, corrupt("document %s is longer than its header says", root)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return doc, checkStored(ctx, conn, doc, root, leaves)
}

// checkStored compares what was read with the root that was asked for.
func checkStored(ctx context.Context, conn *sql.Conn, doc *Stored, root document.Root, leaves []merkle.Hash) error {
	if doc == nil {
		// Nowhere, or there without any text.
		var id int64
		err := conn.QueryRowContext(context.WithoutCancel(ctx), "SELECT id FROM documents WHERE root = ?", root[:]).Scan(&id)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("document %s: %w", root, ErrNotFound)
		case err != nil:
			return err
		}
		return corrupt("document %s lacks its text", root)
	}
	if h := doc.Header; uint64(len(leaves)) != h.Chunks || uint64(len(doc.Text)) != h.Bytes {
		return corrupt("document %s: %d of %d chunks are stored", root, len(leaves), h.Chunks)
	}
	if merkle.Root(leaves) != root.Hash() {
		return corrupt("document %s: its text does not hash to its root", root)
	}
	return nil
}

// zstdOf returns the zstd frame of a stored frame that was decoded to a text of
// so many chunks.
func (c *codec) zstdOf(data []byte, chunks int, text []byte) ([]byte, error) {
	// The number of chunks and the length of each come first; none can be
	// missing, since they were decoded.
	for range chunks + 1 {
		for data[0] >= 0x80 {
			data = data[1:]
		}
		data = data[1:]
	}
	if data[0] == 1 {
		return data[1:], nil
	}
	return c.enc.EncodeAll(text, nil), nil
}
