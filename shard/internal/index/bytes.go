package index

import "encoding/binary"

// A buffer is bytes that are read from the front. After the first read past
// its end it is bad, and everything that it gives is zero.
type buffer struct {
	b   []byte
	bad bool
}

// uint takes a varint off.
func (b *buffer) uint() uint64 {
	// Most numbers are small.
	if len(b.b) > 0 && b.b[0] < 0x80 {
		v := b.b[0]
		b.b = b.b[1:]
		return uint64(v)
	}
	return b.long()
}

func (b *buffer) long() uint64 {
	v, n := binary.Uvarint(b.b)
	if n <= 0 {
		b.b, b.bad = nil, true
		return 0
	}
	b.b = b.b[n:]
	return v
}

// take takes n bytes off.
func (b *buffer) take(n uint64) []byte {
	if n > uint64(len(b.b)) {
		b.b, b.bad = nil, true
		return nil
	}
	t := b.b[:n:n]
	b.b = b.b[n:]
	return t
}
