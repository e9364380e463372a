package index

import (
	"encoding/binary"
	"sort"
)

// A cursor reads the list of one term in one segment.
type cursor struct {
	r       *Reader
	s       *segment
	e       entry
	docs    *block
	i       int // posting in the block
	part    int // the part that is open, -1 before the first
	blocks  []blockEnd
	data    []byte // postings of the part
	at      int    // block in the part
	pos     []byte // positions of the part, once they were asked for
	ends    []int  // of blocks in pos
	skipped int    // posting of the block that posAt is at
	posAt   []byte
	posOf   int // block that posAt is in, -1 none
	done    bool
}

// open returns a cursor before the first posting of a list.
func (r *Reader) open(s *segment, e entry) *cursor {
	c := &cursor{r: r, docs: new(block)}
	c.reset(s, e)
	return c
}

// reset moves the cursor before the first posting of another list.
func (c *cursor) reset(s *segment, e entry) {
	c.docs.n = 0
	*c = cursor{r: c.r, s: s, e: e, docs: c.docs, i: -1, part: -1, posOf: -1, blocks: c.blocks[:0], ends: c.ends[:0]}
}

func (c *cursor) doc() uint32 { return c.docs.docs[c.i] }
func (c *cursor) tf() uint32  { return c.docs.tfs[c.i] }

// next moves to the next posting; it returns false at the end.
func (c *cursor) next() (bool, error) {
	if c.i+1 < c.docs.n {
		c.i++
		return true, nil
	}
	return c.nextBlock()
}

// end leaves the cursor behind the last posting.
func (c *cursor) end() (bool, error) {
	c.docs.n, c.i, c.done = 0, 0, true
	return false, nil
}

// nextBlock moves to the first posting of the next block.
func (c *cursor) nextBlock() (bool, error) {
	if c.done {
		return false, nil
	}
	if c.part >= 0 && c.at+1 < len(c.blocks) {
		return true, c.load(c.at + 1)
	}
	if c.part+1 >= c.parts() {
		return c.end()
	}
	if err := c.openPart(c.part + 1); err != nil {
		return false, err
	}
	return true, c.load(0)
}

func (c *cursor) parts() int { return max(1, len(c.e.parts)) }

// openPart reads the ends of a part's blocks.
func (c *cursor) openPart(i int) error {
	c.part, c.pos, c.posOf = i, nil, -1
	if c.e.parts == nil {
		// The last passage is known once the block was decoded.
		c.blocks, c.data = append(c.blocks[:0], blockEnd{last: uint32(c.s.Passages - 1), docs: len(c.e.docs)}), c.e.docs
		return nil
	}
	row := c.e.row + 2*uint64(i)
	if row >= uint64(c.s.Rows) {
		return formatErrorf("a list is outside its segment")
	}
	data, err := c.r.row(c.s.Base + int64(row))
	if err != nil {
		return err
	}
	b := buffer{b: data}
	n := b.uint()
	postings := min(c.e.n-uint64(i)*blockLen*partLen, blockLen*partLen)
	if n != (postings+blockLen-1)/blockLen {
		return formatErrorf("a part of %d postings has %d blocks", postings, n)
	}
	c.blocks = c.blocks[:0]
	end := blockEnd{}
	if i > 0 {
		end.last = c.e.parts[i-1]
	}
	for range n {
		last, size := uint64(end.last)+b.uint(), uint64(end.docs)+b.uint()
		if last > uint64(c.e.parts[i]) || size > uint64(len(data)) {
			return formatErrorf("a block is outside its part")
		}
		end.last, end.docs = uint32(last), int(size)
		c.blocks = append(c.blocks, end)
	}
	if b.bad || len(b.b) != end.docs || end.last != c.e.parts[i] {
		return formatErrorf("a part is not as long as its blocks")
	}
	c.data = b.b
	return nil
}

// load decodes a block of the open part and moves to its first posting.
func (c *cursor) load(i int) error {
	before, from := int64(-1), 0
	if i > 0 {
		before, from = int64(c.blocks[i-1].last), c.blocks[i-1].docs
	} else if c.part > 0 {
		before = int64(c.e.parts[c.part-1])
	}
	done := uint64(c.part*partLen+i) * blockLen
	n := int(min(c.e.n-done, blockLen))
	end := c.blocks[i]
	if int64(end.last) >= c.s.Passages {
		return formatErrorf("postings are outside their segment")
	}
	if err := c.docs.decode(c.data[from:end.docs], n, before, end.last); err != nil {
		return err
	}
	if last := c.docs.docs[n-1]; last != end.last && c.e.parts != nil {
		return formatErrorf("postings do not end where their block does")
	}
	c.at, c.i = i, 0
	return nil
}

// seek moves to the first posting at or behind a passage; it returns false
// where there is none. It never moves back.
func (c *cursor) seek(doc uint32) (bool, error) {
	if c.done {
		return false, nil
	}
	if c.docs.n > 0 && c.docs.docs[c.docs.n-1] >= doc {
		for c.docs.docs[c.i] < doc {
			c.i++
		}
		return true, nil
	}
	part := 0
	if c.e.parts != nil {
		part = sort.Search(len(c.e.parts), func(i int) bool { return c.e.parts[i] >= doc })
		if part == len(c.e.parts) {
			return c.end()
		}
	}
	if part > c.part {
		if err := c.openPart(part); err != nil {
			return false, err
		}
		c.at = -1
	}
	from := c.at + 1
	i := from + sort.Search(len(c.blocks)-from, func(i int) bool { return c.blocks[from+i].last >= doc })
	if i == len(c.blocks) {
		return c.end()
	}
	if err := c.load(i); err != nil {
		return false, err
	}
	if c.docs.docs[c.docs.n-1] < doc {
		return c.end()
	}
	for c.docs.docs[c.i] < doc {
		c.i++
	}
	return true, nil
}

// rawPositions returns the positions of the posting as they are encoded.
func (c *cursor) rawPositions() ([]byte, error) {
	if err := c.openPositions(); err != nil {
		return nil, err
	}
	// Positions have no index: those of the postings before are passed over.
	for ; c.skipped < c.i; c.skipped++ {
		n, err := varints(c.posAt, int(c.docs.tfs[c.skipped]))
		if err != nil {
			return nil, err
		}
		c.posAt = c.posAt[n:]
	}
	n, err := varints(c.posAt, int(c.tf()))
	if err != nil {
		return nil, err
	}
	raw := c.posAt[:n]
	c.posAt, c.skipped = c.posAt[n:], c.skipped+1
	return raw, nil
}

// positions appends the positions of the posting to dst.
func (c *cursor) positions(dst []uint32) ([]uint32, error) {
	raw, err := c.rawPositions()
	if err != nil {
		return nil, err
	}
	pos := uint64(0)
	for i := 0; len(raw) > 0; i++ {
		d, n := binary.Uvarint(raw)
		if n <= 0 || d == 0 && i > 0 || d >= maxWords || pos+d >= maxWords {
			return nil, formatErrorf("positions do not ascend below %d", maxWords)
		}
		pos += d
		dst, raw = append(dst, uint32(pos)), raw[n:]
	}
	return dst, nil
}

// openPositions moves posAt to the block that the cursor is in.
func (c *cursor) openPositions() error {
	block := c.part*partLen + c.at
	if c.posOf == block && c.skipped <= c.i {
		return nil
	}
	if c.e.parts == nil {
		c.posAt, c.posOf, c.skipped = c.e.pos, block, 0
		return nil
	}
	if c.pos == nil {
		if err := c.readPositions(); err != nil {
			return err
		}
	}
	from := 0
	if c.at > 0 {
		from = c.ends[c.at-1]
	}
	c.posAt, c.posOf, c.skipped = c.pos[from:c.ends[c.at]], block, 0
	return nil
}

func (c *cursor) readPositions() error {
	row := c.e.row + 2*uint64(c.part) + 1
	if row >= uint64(c.s.Rows) {
		return formatErrorf("positions are outside their segment")
	}
	data, err := c.r.row(c.s.Base + int64(row))
	if err != nil {
		return err
	}
	b := buffer{b: data}
	c.ends = c.ends[:0]
	end := uint64(0)
	for range c.blocks {
		if end += b.uint(); end > uint64(len(data)) {
			return formatErrorf("positions are outside their part")
		}
		c.ends = append(c.ends, int(end))
	}
	if b.bad || uint64(len(b.b)) != end {
		return formatErrorf("a part of positions is not as long as its blocks")
	}
	c.pos = b.b
	return nil
}

// varints returns how many bytes the next n varints take.
func varints(b []byte, n int) (int, error) {
	for i, x := range b {
		if x < 0x80 {
			if n--; n == 0 {
				return i + 1, nil
			}
		}
	}
	return 0, formatErrorf("positions are cut off")
}
