package index

import (
	"encoding/binary"
	"math/bits"
)

// A block holds up to blockLen postings that follow each other. Its head says
//
//	postings less one                                       one byte
//	first passage, less one, less the last of the block before, or of -1
//	last passage, less the first
//	bytes of the block
//	highest frequency in it
//	fewest words that a passage in it has
//
// and the block is its passages behind the first, and its frequencies:
//
//	passages     where these fill an eighth of the range: a bit for each passage behind the first, up to the last, lowest first;
//	             otherwise the difference of each from the one before
//	frequencies  nothing where the highest is 1; otherwise a bit for each posting, lowest first, and for each with a bit its frequency less 2
//
// Nothing in a block depends on what stands before it, so that merging copies
// it; and its head bounds every score in it, so that what cannot be among the
// best need not be scored.
type blockHead struct {
	first, last uint32
	n           int
	limit
	body, pos int // where its bytes end, of the list or the part
}

// A limit bounds what a clause gives passages: those that it matches have at
// least so many words, and it stands in them at most so often.
type limit struct{ maxTF, minLength uint32 }

// dense reports whether the passages are written as bits.
func (h *blockHead) dense() bool { return h.last-h.first < 8*uint32(h.n) }

func appendHead(b []byte, h blockHead, before int64, from int) []byte {
	b = append(b, byte(h.n-1))
	b = binary.AppendUvarint(b, uint64(int64(h.first)-before-1))
	b = binary.AppendUvarint(b, uint64(h.last-h.first))
	b = binary.AppendUvarint(b, uint64(h.body-from))
	b = binary.AppendUvarint(b, uint64(h.maxTF))
	return binary.AppendUvarint(b, uint64(h.minLength))
}

// head takes a head off, of a block behind the passage before.
func (b *buffer) head(before int64, from int) (h blockHead, ok bool) {
	n := b.take(1)
	first, span, size := b.uint(), b.uint(), b.uint()
	tf, length := b.uint(), b.uint()
	const most = 1 << 31 // passages, and bytes of a row
	if b.bad || n[0] >= blockLen || first >= most || span >= most || size >= most || tf == 0 || tf > maxWords || length > maxWords {
		return h, false
	}
	h = blockHead{n: int(n[0]) + 1, limit: limit{uint32(tf), uint32(length)}, body: from + int(size)}
	last := before + 1 + int64(first) + int64(span)
	h.first, h.last = uint32(before+1+int64(first)), uint32(last)
	return h, last < most
}

// A block is a decoded block of postings.
type block struct {
	n    int
	docs [blockLen]uint32
	tfs  [blockLen]uint32
}

// encode appends the postings to dst.
func (b *block) encode(dst []byte, h blockHead) []byte {
	if h.dense() {
		at := len(dst)
		dst = append(dst, make([]byte, (h.last-h.first+7)/8)...)
		for _, doc := range b.docs[1:b.n] {
			bit := doc - h.first - 1
			dst[at+int(bit/8)] |= 1 << (bit % 8)
		}
	} else {
		for i := 1; i < b.n; i++ {
			dst = binary.AppendUvarint(dst, uint64(b.docs[i]-b.docs[i-1]))
		}
	}
	if h.maxTF == 1 {
		return dst
	}
	at := len(dst)
	dst = append(dst, make([]byte, (b.n+7)/8)...)
	for i, tf := range b.tfs[:b.n] {
		if tf > 1 {
			dst[at+i/8] |= 1 << (i % 8)
			dst = binary.AppendUvarint(dst, uint64(tf-2))
		}
	}
	return dst
}

// decode reads a block: its passages ascend from the first to the last that its
// head names, and it has no more bytes than it needs.
func (b *block) decode(h *blockHead, data []byte) error {
	rest, err := b.passages(h, data)
	if err != nil {
		return err
	}
	return b.frequencies(h, rest)
}

// passages reads the passages alone and returns the bytes behind them.
func (b *block) passages(h *blockHead, data []byte) (rest []byte, err error) {
	b.n, b.docs[0] = h.n, h.first
	doc, n := h.first, 1
	if h.dense() {
		size := int(h.last-h.first+7) / 8
		if size > len(data) {
			return nil, formatErrorf("a block of postings is cut off")
		}
		for i := 0; i < size; i += 8 {
			for word := load64(data[i:size]); word != 0; word &= word - 1 {
				if n == h.n {
					return nil, formatErrorf("a block of %d postings has more of them", h.n)
				}
				doc = h.first + 1 + uint32(8*i+bits.TrailingZeros64(word))
				b.docs[n] = doc
				n++
			}
		}
		data = data[size:]
	} else {
		at := 0
		for ; n < h.n; n++ {
			var delta uint64
			// One byte is by far the most frequent length.
			if at < len(data) && data[at] < 0x80 {
				delta, at = uint64(data[at]), at+1
			} else {
				u, w := binary.Uvarint(data[at:])
				if w <= 0 {
					return nil, formatErrorf("a block of postings is cut off")
				}
				delta, at = u, at+w
			}
			if delta == 0 || delta > uint64(h.last-doc) {
				return nil, formatErrorf("postings do not ascend to the end of their block")
			}
			doc += uint32(delta)
			b.docs[n] = doc
		}
		data = data[at:]
	}
	if n != h.n || doc != h.last {
		return nil, formatErrorf("a block does not end where its head says")
	}
	return data, nil
}

// frequencies reads the frequencies of the passages that were read.
func (b *block) frequencies(h *blockHead, data []byte) error {
	for i := range b.tfs[:h.n] {
		b.tfs[i] = 1
	}
	if h.maxTF > 1 {
		size := (h.n + 7) / 8
		if size > len(data) {
			return formatErrorf("the frequencies of a block are cut off")
		}
		flags := data[:size]
		data = data[size:]
		for i, flag := range flags {
			for ; flag != 0; flag &= flag - 1 {
				v, w := binary.Uvarint(data)
				at := 8*i + bits.TrailingZeros8(flag)
				if w <= 0 || v > maxWords || at >= h.n {
					return formatErrorf("a frequency is over %d", maxWords)
				}
				b.tfs[at], data = uint32(v)+2, data[w:]
			}
		}
	}
	if len(data) != 0 {
		return formatErrorf("a block of postings is longer than its postings")
	}
	return nil
}

// load64 reads up to 8 bytes, lowest first.
func load64(b []byte) (v uint64) {
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b)
	}
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	return v
}
