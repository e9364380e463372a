package index

import (
	"encoding/binary"
	"slices"
)

// Postings of one term, in the order of passages, go into blocks; blocks go
// into parts, of which each is one row of postings and one of positions.
const (
	blockLen = 128 // postings in a block
	partLen  = 64  // blocks in a part
)

// An encoder writes the list of one term, block by block:
//
//	postings   for each: delta<<1, or delta<<1|1 and frequency-2; delta from the one before, the first from -1
//	positions  for each posting: its positions, as differences, the first from 0
//
// The zero encoder is ready for use; reset makes it ready for the next term.
type encoder struct {
	n         int    // postings
	times     uint64 // positions
	last      uint32
	docs, pos []byte
	blocks    []blockEnd
}

// A blockEnd says where a block of a list ends.
type blockEnd struct {
	last      uint32 // passage
	docs, pos int    // bytes up to there
}

func (e *encoder) reset() {
	e.n, e.times, e.last = 0, 0, 0
	e.docs, e.pos, e.blocks = e.docs[:0], e.pos[:0], e.blocks[:0]
}

func (e *encoder) add(doc uint32, positions []uint32) {
	before := uint32(0)
	for _, p := range positions {
		e.pos = binary.AppendUvarint(e.pos, uint64(p-before))
		before = p
	}
	e.posting(doc, uint32(len(positions)))
}

// addRaw is add with the positions as they are encoded.
func (e *encoder) addRaw(doc, tf uint32, positions []byte) {
	e.pos = append(e.pos, positions...)
	e.posting(doc, tf)
}

func (e *encoder) posting(doc, tf uint32) {
	delta := uint64(doc - e.last)
	if e.n == 0 {
		delta = uint64(doc) + 1
	}
	if tf == 1 {
		e.docs = binary.AppendUvarint(e.docs, delta<<1)
	} else {
		e.docs = binary.AppendUvarint(e.docs, delta<<1|1)
		e.docs = binary.AppendUvarint(e.docs, uint64(tf-2))
	}
	e.last, e.times = doc, e.times+uint64(tf)
	if e.n++; e.n%blockLen == 0 {
		e.endBlock()
	}
}

func (e *encoder) endBlock() {
	e.blocks = append(e.blocks, blockEnd{e.last, len(e.docs), len(e.pos)})
}

// finish ends the last block.
func (e *encoder) finish() {
	if e.n%blockLen != 0 {
		e.endBlock()
	}
}

// parts returns how many parts the list has.
func (e *encoder) parts() int { return (len(e.blocks) + partLen - 1) / partLen }

// part returns the two rows of a part and its last passage: the number of
// blocks, for each the difference of its last passage and its bytes, then the
// blocks; beside it for each block its bytes of positions, then these.
func (e *encoder) part(i int) (docs, pos []byte, last uint32) {
	blocks := e.blocks[i*partLen : min((i+1)*partLen, len(e.blocks))]
	var from blockEnd
	if i > 0 {
		from = e.blocks[i*partLen-1]
	}
	start := from
	docs = binary.AppendUvarint(nil, uint64(len(blocks)))
	for _, b := range blocks {
		docs = binary.AppendUvarint(docs, uint64(b.last-from.last))
		docs = binary.AppendUvarint(docs, uint64(b.docs-from.docs))
		pos = binary.AppendUvarint(pos, uint64(b.pos-from.pos))
		from = b
	}
	docs = append(slices.Grow(docs, from.docs-start.docs), e.docs[start.docs:from.docs]...)
	pos = append(slices.Grow(pos, from.pos-start.pos), e.pos[start.pos:from.pos]...)
	return docs, pos, from.last
}

// A block is a decoded block of postings.
type block struct {
	n    int
	docs [blockLen]uint32
	tfs  [blockLen]uint32
}

// decode reads n postings behind the passage before, which is -1 at the start
// of a list. They have to ascend, to last at most, and take all bytes.
func (b *block) decode(data []byte, n int, before int64, last uint32) error {
	at, doc := 0, before
	for i := range n {
		var v uint64
		// One byte is by far the most frequent length.
		if at < len(data) && data[at] < 0x80 {
			v, at = uint64(data[at]), at+1
		} else {
			u, w := binary.Uvarint(data[at:])
			if w <= 0 {
				return formatErrorf("a block of postings is cut off")
			}
			v, at = u, at+w
		}
		tf := uint64(1)
		if v&1 != 0 {
			u, w := binary.Uvarint(data[at:])
			if w <= 0 || u > maxWords {
				return formatErrorf("a frequency is over %d", maxWords)
			}
			tf, at = u+2, at+w
		}
		if v>>1 == 0 || v>>1 > uint64(last)+1 {
			return formatErrorf("postings do not ascend")
		}
		if doc += int64(v >> 1); doc > int64(last) {
			return formatErrorf("a posting is behind the end of its block")
		}
		b.docs[i], b.tfs[i] = uint32(doc), uint32(tf)
	}
	if at != len(data) || n == 0 {
		return formatErrorf("a block of postings is longer than its postings")
	}
	b.n = n
	return nil
}
