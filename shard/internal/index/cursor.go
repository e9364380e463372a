package index

import (
	"encoding/binary"
	"math/bits"
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
	blocks  []blockHead
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

// openPart reads the heads of a part's blocks.
func (c *cursor) openPart(i int) error {
	c.part, c.pos, c.posOf = i, nil, -1
	if c.e.parts == nil {
		c.blocks, c.data = append(c.blocks[:0], c.e.block), c.e.body
		return c.within(c.e.block.last)
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
	n, part, before := b.uint(), c.e.parts[i], int64(-1)
	if n == 0 || n > partLen {
		return formatErrorf("a part has %d blocks", n)
	}
	if i > 0 {
		before = int64(c.e.parts[i-1].last)
	}
	c.blocks = c.blocks[:0]
	size, postings := 0, 0
	for range n {
		h, ok := b.head(before, size)
		if !ok {
			return formatErrorf("a part has a block that cannot be")
		}
		before, size, postings = int64(h.last), h.body, postings+h.n
		c.blocks = append(c.blocks, h)
	}
	if b.bad || len(b.b) != size || before != int64(part.last) || postings != int(part.n) {
		return formatErrorf("a part is not what its blocks are")
	}
	c.data = b.b
	return c.within(part.last)
}

// within checks that the segment has a passage.
func (c *cursor) within(last uint32) error {
	if int64(last) >= c.s.Passages {
		return formatErrorf("postings are outside their segment")
	}
	return nil
}

// body returns the bytes of a block of the open part.
func (c *cursor) body(i int) []byte {
	from := 0
	if i > 0 {
		from = c.blocks[i-1].body
	}
	return c.data[from:c.blocks[i].body]
}

// load decodes a block of the open part and moves to its first posting.
func (c *cursor) load(i int) error {
	c.at, c.i = i, 0
	return c.docs.decode(&c.blocks[i], c.body(i))
}

// withinLimit checks the posting against the limit of its block.
func (c *cursor) withinLimit() error {
	if h := &c.blocks[c.at]; c.tf() > h.maxTF || c.s.head.length(c.doc()) < int(h.minLength) {
		return formatErrorf("a posting is beyond the limit of its block")
	}
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
		part = sort.Search(len(c.e.parts), func(i int) bool { return c.e.parts[i].last >= doc })
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
	if c.skipped < c.i {
		before := 0
		for _, tf := range c.docs.tfs[c.skipped:c.i] {
			before += int(tf)
		}
		n, err := varints(c.posAt, before)
		if err != nil {
			return nil, err
		}
		c.posAt, c.skipped = c.posAt[n:], c.i
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
		d, n := uint64(raw[0]), 1
		if d >= 0x80 {
			d, n = binary.Uvarint(raw)
		}
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
	const ends = 0x8080808080808080 // the last byte of each has no high bit
	i := 0
	for ; len(b)-i >= 8; i += 8 {
		k := bits.OnesCount64(^binary.LittleEndian.Uint64(b[i:]) & ends)
		if k >= n {
			break
		}
		n -= k
	}
	for ; i < len(b); i++ {
		if b[i] < 0x80 {
			if n--; n == 0 {
				return i + 1, nil
			}
		}
	}
	return 0, formatErrorf("positions are cut off")
}
