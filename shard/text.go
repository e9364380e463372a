package shard

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"arborist/document"
	"arborist/merkle"
)

// Text is stored in frames of several chunks: alone, a chunk is too short to
// be compressed well, and a document whole is too long to be read for one of
// its chunks.
const (
	frameChunks = 16
	frameBytes  = 16 << 10
	codecWindow = 4 * frameBytes
	// maxFrame is the most text that a frame is believed to hold. A chunk of
	// any chunker that is known here is far below.
	maxFrame = 1 << 20
)

// A codec compresses and restores the text of frames. A frame is
//
//	number of chunks, length of each        varints
//	1 byte                                  0: the text follows, 1: a zstd frame of it does
//
// It is safe for concurrent use.
type codec struct {
	once sync.Once
	err  error
	enc  *zstd.Encoder
	dec  *zstd.Decoder
}

// A workshop is what the files of a set use to write and read, together.
type workshop struct {
	codec    codec
	proven   *provenSet
	fresh    freshSet
	indexers sync.Pool // of *indexer, which keep their buffers and their vocabulary
}

func (c *codec) open() error {
	c.once.Do(func() {
		n := runtime.GOMAXPROCS(0)
		var werr, rerr error
		c.enc, werr = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(n), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(codecWindow), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		c.dec, rerr = zstd.NewReader(nil, zstd.WithDecoderConcurrency(n), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxFrame))
		c.err = errors.Join(werr, rerr)
	})
	return c.err
}

// encode makes a frame of the text of chunks with these lengths. Packed, if not
// nil, is a zstd frame of that text, which is taken as it is.
func (c *codec) encode(lengths []int, text, packed []byte) ([]byte, error) {
	if err := c.open(); err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(make([]byte, 0, max(len(text)/2, len(packed))+64), uint64(len(lengths)))
	for _, n := range lengths {
		b = binary.AppendUvarint(b, uint64(n))
	}
	head := len(b)
	if b = append(b, 1); packed != nil {
		return append(b, packed...), nil
	}
	b = c.enc.EncodeAll(text, b)
	if len(b) > head+1+len(text) {
		b = append(append(b[:head], 0), text...)
	}
	return b, nil
}

// A storedText is text in the chunks that it is stored in.
type storedText struct {
	text []byte
	ends []int // of chunks in text
}

// Chunks returns the number of chunks.
func (s *storedText) Chunks() int { return len(s.ends) }

// Chunk returns a chunk.
func (s *storedText) Chunk(i int) []byte {
	if i == 0 {
		return s.text[:s.ends[0]]
	}
	return s.text[s.ends[i-1]:s.ends[i]]
}

// verify hashes the chunks against the root of their document. Nothing is stored
// under a root but canonical text, cut by the rule, so text that gives it in the
// chunks that it is stored in is that text.
func (s *storedText) verify(h document.Header) error {
	var root merkle.Builder
	for i := range s.Chunks() {
		root.Append(merkle.LeafHash(s.Chunk(i)))
	}
	if root.Root() != h.Root.Hash() {
		return corrupt("document %s: its text does not hash to its root", h.Root)
	}
	return nil
}

// decode adds what a frame holds to a text. After an error the text is not to be used.
func (c *codec) decode(to *storedText, data []byte) error {
	if err := c.open(); err != nil {
		return err
	}
	take := func() uint64 {
		v, n := binary.Uvarint(data)
		data = data[max(n, 0):]
		if n <= 0 {
			return 0
		}
		return v
	}
	n := take()
	if n == 0 || n > frameChunks {
		return corrupt("a frame of %d chunks", n)
	}
	before, total := len(to.text), uint64(0)
	for range n {
		length := take()
		if total += length; length == 0 || length > maxFrame || total > maxFrame {
			return corrupt("a frame with a chunk of %d bytes", length)
		}
		to.ends = append(to.ends, before+int(total))
	}
	if len(data) == 0 || data[0] > 1 {
		return corrupt("a frame of an unknown kind")
	}
	text := data[1:]
	if data[0] == 1 {
		// The decoder's limit counts what stands in front, so nothing may.
		to.text = slices.Grow(to.text, int(total))
		var err error
		if text, err = c.dec.DecodeAll(text, to.text[before:]); err != nil {
			return corrupt("a frame: %w", err)
		}
	}
	if uint64(len(text)) != total {
		return corrupt("a frame of %d bytes holds %d", total, len(text))
	}
	to.text = append(to.text, text...)
	return nil
}

// frames calls fn with each frame of a document. Came, which may be nil, is what
// its text came in: see [Arrival].
func (c *codec) frames(d *document.Document, came [][]byte, fn func(first int, data []byte) error) error {
	lengths := make([]int, 0, frameChunks)
	for first := 0; first < d.Chunks(); first += len(lengths) {
		lengths = lengths[:0]
		from := d.Span(first).Start
		end := from
		for i := first; i < d.Chunks() && len(lengths) < frameChunks; i++ {
			s := d.Span(i)
			if len(lengths) > 0 && s.End-from > frameBytes {
				break
			}
			lengths, end = append(lengths, s.End-s.Start), s.End
		}
		// Chunks partition the text, so those of a frame are one piece of it.
		var packed []byte
		packed, came = nextOf(came, end-from)
		data, err := c.encode(lengths, d.Text()[from:end], packed)
		if err != nil {
			return err
		}
		if err := fn(first, data); err != nil {
			return err
		}
	}
	return nil
}

// readText reads the whole text of a document, as long as its header says and
// otherwise unproven, in place of what into holds. Hash, which may be nil, gets
// its frames.
func (c *codec) readText(ctx context.Context, tx queryer, row docRow, into *storedText, hash *rowHash) error {
	rows, err := tx.QueryContext(ctx, "SELECT id, data FROM texts WHERE id >= ? AND id < ? ORDER BY id", row.id, row.end())
	if err != nil {
		return err
	}
	defer rows.Close()
	into.text = slices.Grow(into.text[:0], int(min(row.header.Bytes, maxFrame)))
	into.ends = into.ends[:0]
	for rows.Next() {
		var id int64
		var data sql.RawBytes
		if err := rows.Scan(&id, &data); err != nil {
			return err
		}
		if next := row.id + int64(len(into.ends)); id != next {
			return corrupt("document %s: a frame starts at chunk %d, want %d", row.header.Root, id-row.id, next-row.id)
		}
		if hash != nil {
			hash.add(id-row.id, data)
		}
		if err := c.decode(into, data); err != nil {
			return corrupt("document %s: %w", row.header.Root, err)
		}
		if uint64(len(into.text)) > row.header.Bytes {
			return corrupt("document %s is longer than its header says", row.header.Root)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if n, h := uint64(len(into.ends)), row.header; n != h.Chunks || uint64(len(into.text)) != h.Bytes {
		return corrupt("document %s: %d of %d chunks, %d of %d bytes are stored", h.Root, n, h.Chunks, len(into.text), h.Bytes)
	}
	return nil
}

// chunk returns one chunk of a document, unproven, from the frame that starts
// with chunk id.
func (c *codec) chunk(row docRow, index uint64, id int64, data []byte) ([]byte, error) {
	var frame storedText
	if err := c.decode(&frame, data); err != nil {
		return nil, fmt.Errorf("document %s: %w", row.header.Root, err)
	}
	i := row.id + int64(index) - id
	if id < row.id || i >= int64(frame.Chunks()) {
		return nil, corrupt("document %s lacks chunk %d", row.header.Root, index)
	}
	return frame.Chunk(int(i)), nil
}
