package index

import "encoding/binary"

// maxWords is the most words that a passage can have: lengths take two bytes.
const maxWords = 1<<16 - 1

// A head is the last row of a segment: the number of dictionary blocks and the
// number of passages; for each block the difference of its row, counted from
// the segment's base, and its first term behind the term's length; the length
// of each passage in words, two bytes, little endian. A passage without words
// is one that is not in the segment.
type head struct {
	firsts  []string // first term of each dictionary block
	rows    []int64  // of each block, from the base
	lengths []byte   // two bytes a passage
}

func (h *head) passages() int { return len(h.lengths) / 2 }

// length returns the words of a passage.
func (h *head) length(doc uint32) int { return int(binary.LittleEndian.Uint16(h.lengths[2*doc:])) }

func (h *head) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(len(h.firsts)))
	b = binary.AppendUvarint(b, uint64(h.passages()))
	before := int64(-1)
	for i, f := range h.firsts {
		b = binary.AppendUvarint(b, uint64(h.rows[i]-before))
		before = h.rows[i]
		b = binary.AppendUvarint(b, uint64(len(f)))
		b = append(b, f...)
	}
	return append(b, h.lengths...)
}

// decodeHead reads the head of a segment of so many rows, itself included.
func decodeHead(data []byte, rows int64) (*head, error) {
	b := buffer{b: data}
	blocks, passages := b.uint(), b.uint()
	if b.bad || blocks > uint64(len(b.b)) || passages > uint64(len(b.b)) {
		return nil, formatErrorf("a head with %d blocks and %d passages in %d bytes", blocks, passages, len(data))
	}
	h := &head{firsts: make([]string, blocks), rows: make([]int64, blocks)}
	row := int64(-1)
	for i := range h.firsts {
		d := b.uint()
		if d == 0 || d >= uint64(rows) {
			return nil, formatErrorf("a dictionary block is outside its segment")
		}
		if row += int64(d); row >= rows-1 {
			return nil, formatErrorf("a dictionary block is outside its segment")
		}
		h.rows[i] = row
		h.firsts[i] = string(b.take(b.uint()))
		if i > 0 && h.firsts[i] <= h.firsts[i-1] || h.firsts[i] == "" {
			return nil, formatErrorf("dictionary blocks do not ascend")
		}
	}
	h.lengths = b.take(2 * passages)
	if b.bad || len(b.b) != 0 {
		return nil, formatErrorf("a head is not as long as it says")
	}
	return h, nil
}
