package shard

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arborist/document"
	"arborist/merkle"
)

// Chunks returns the chunks of a document at ascending places, each hashed against
// its leaf. Leaves are what [Shared.Leaves] gives. It decodes the frames that hold
// them and no others. Errors wrap [ErrNotFound] or [ErrCorrupt].
func (s *Shared) Chunks(ctx context.Context, root document.Root, leaves []merkle.Hash, places []int) (chunks [][]byte, err error) {
	s.gate.enter()
	defer s.gate.leave()
	f := s.home(root)
	err = f.view(ctx, func(tx queryer) error {
		row, err := findDoc(ctx, tx, root)
		if err != nil {
			return err
		}
		chunks, err = f.codec.chunks(ctx, tx, row, leaves, places)
		return err
	})
	return chunks, err
}

// frameSQL finds the frame that has a chunk.
const frameSQL = "SELECT id, data FROM texts WHERE id <= ? ORDER BY id DESC LIMIT 1"

func (c *codec) chunks(ctx context.Context, tx queryer, row docRow, leaves []merkle.Hash, places []int) (chunks [][]byte, err error) {
	var frame storedText
	first := 0 // chunk of the document that the frame starts with
	for _, place := range places {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if place < first || place >= first+frame.Chunks() {
			if first, err = c.frameAt(ctx, tx, row, place, &frame); err != nil {
				return nil, err
			}
		}
		chunk := frame.Chunk(place - first)
		if merkle.LeafHash(chunk) != leaves[place] {
			return nil, corrupt("chunk %d of document %s has another hash than its leaf", place, row.header.Root)
		}
		chunks = append(chunks, bytes.Clone(chunk))
	}
	return chunks, nil
}

// frameAt decodes the frame that has a chunk, in place of what frame holds, and
// returns its first chunk.
func (c *codec) frameAt(ctx context.Context, tx queryer, row docRow, place int, frame *storedText) (first int, err error) {
	var id int64
	var data []byte
	err = tx.QueryRowContext(context.WithoutCancel(ctx), frameSQL, row.id+int64(place)).Scan(&id, &data)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	frame.text, frame.ends = frame.text[:0], frame.ends[:0]
	if err == nil && id >= row.id {
		if err := c.decode(frame, data); err != nil {
			return 0, fmt.Errorf("document %s: %w", row.header.Root, err)
		}
	}
	first = int(id - row.id)
	if place >= first+frame.Chunks() {
		return 0, corrupt("document %s lacks chunk %d", row.header.Root, place)
	}
	return first, nil
}
