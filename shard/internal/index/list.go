package index

import (
	"encoding/binary"
	"slices"
)

// Postings of one term, in the order of passages, go into blocks; blocks go
// into parts, of which each is one row of postings and one of positions.
const (
	blockLen = 128 // most postings in a block
	partLen  = 64  // most blocks in a part
)

// An encoder writes the list of one term, block by block. block.go has what is
// in a block; positions are, for each posting, differences, the first from 0.
// The zero encoder is ready for use; reset makes it ready for the next term.
type encoder struct {
	lengths   []byte // of the passages of the segment
	n         int    // postings
	times     uint64 // positions
	open      block  // that is not full
	body, pos []byte
	blocks    []blockHead
}

func (e *encoder) reset(lengths []byte) {
	e.lengths, e.n, e.times, e.open.n = lengths, 0, 0, 0
	e.body, e.pos, e.blocks = e.body[:0], e.pos[:0], e.blocks[:0]
}

// posting adds a posting, whose positions were appended to e.pos.
func (e *encoder) posting(doc, tf uint32) {
	b := &e.open
	b.docs[b.n], b.tfs[b.n] = doc, tf
	b.n++
	e.n++
	e.times += uint64(tf)
	if b.n == blockLen {
		e.endBlock()
	}
}

// endBlock ends the open block.
func (e *encoder) endBlock() {
	b := &e.open
	if b.n == 0 {
		return
	}
	h := blockHead{first: b.docs[0], last: b.docs[b.n-1], n: b.n, limit: limit{minLength: maxWords}}
	for i, doc := range b.docs[:b.n] {
		h.maxTF = max(h.maxTF, b.tfs[i])
		h.minLength = min(h.minLength, uint32(binary.LittleEndian.Uint16(e.lengths[2*doc:])))
	}
	e.body = b.encode(e.body, h)
	h.body, h.pos = len(e.body), len(e.pos)
	e.blocks = append(e.blocks, h)
	b.n = 0
}

// copy adds a block as it is, with its postings moved up by a number, and the
// bytes of their positions. How many these are is not looked at: the caller
// knows times.
func (e *encoder) copy(h blockHead, up uint32, body, pos []byte) {
	e.endBlock()
	e.body, e.pos = append(e.body, body...), append(e.pos, pos...)
	h.first, h.last = h.first+up, h.last+up
	h.body, h.pos = len(e.body), len(e.pos)
	e.blocks = append(e.blocks, h)
	e.n += h.n
}

// parts returns how many parts the list has.
func (e *encoder) parts() int { return (len(e.blocks) + partLen - 1) / partLen }

// part returns the two rows of a part, with its last passage and the number of
// its postings. The row of postings is the number of blocks, the head of each,
// and the blocks; beside it stand for each block its bytes of positions, then
// these.
func (e *encoder) part(i int) (docs, pos []byte, end partEnd) {
	blocks := e.blocks[i*partLen : min((i+1)*partLen, len(e.blocks))]
	var from blockHead
	before := int64(-1)
	if i > 0 {
		from = e.blocks[i*partLen-1]
		before = int64(from.last)
	}
	start := from
	docs = binary.AppendUvarint(nil, uint64(len(blocks)))
	for _, h := range blocks {
		docs = appendHead(docs, h, before, from.body)
		pos = binary.AppendUvarint(pos, uint64(h.pos-from.pos))
		end.n += uint32(h.n)
		from, before = h, int64(h.last)
	}
	docs = append(slices.Grow(docs, from.body-start.body), e.body[start.body:from.body]...)
	pos = append(slices.Grow(pos, from.pos-start.pos), e.pos[start.pos:from.pos]...)
	end.last = from.last
	return docs, pos, end
}

// A partEnd says where a part of a list ends.
type partEnd struct {
	last uint32 // passage
	n    uint32 // postings in it
}
