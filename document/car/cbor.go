package car

import (
	"encoding/binary"
	"unicode/utf8"
)

// The part of dag-cbor (https://ipld.io/specs/codecs/dag-cbor/spec/) that
// archives need: numbers from 0, text, arrays, maps, links. Every value has one
// spelling, and no other is read.

// Major types of RFC 8949, section 3.1.
const (
	majorUint  = 0
	majorBytes = 2
	majorText  = 3
	majorArray = 4
	majorMap   = 5
	majorTag   = 6
)

// tagLink is the tag of a CID, which stands in it behind a zero byte.
const tagLink = 42

func appendHead(b []byte, major byte, n uint64) []byte {
	m := major << 5
	switch {
	case n < 24:
		return append(b, m|byte(n))
	case n < 1<<8:
		return append(b, m|24, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, m|25), uint16(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(b, m|26), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, m|27), n)
	}
}

func appendText(b []byte, s string) []byte {
	return append(appendHead(b, majorText, uint64(len(s))), s...)
}

func appendLink(b []byte, l link) []byte {
	b = appendHead(b, majorTag, tagLink)
	b = append(appendHead(b, majorBytes, linkSize+1), 0)
	return append(b, l[:]...)
}

func appendLinks(b []byte, all []link) []byte {
	b = appendHead(b, majorArray, uint64(len(all)))
	for _, l := range all {
		b = appendLink(b, l)
	}
	return b
}

// A decoder takes values off the front of a block. After the first failure it
// gives zero values.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = formatErrorf("a block in which %s is expected has something else", what)
	}
	d.b = nil
}

// head takes the head of a value of one major type and returns its number.
func (d *decoder) head(major byte, what string) uint64 {
	if len(d.b) == 0 || d.b[0]>>5 != major {
		d.fail(what)
		return 0
	}
	info := d.b[0] & 31
	d.b = d.b[1:]
	if info < 24 {
		return uint64(info)
	}
	size := 1 << (info - 24)
	if info > 27 || len(d.b) < size {
		d.fail(what)
		return 0
	}
	var n uint64
	for _, c := range d.b[:size] {
		n = n<<8 | uint64(c)
	}
	d.b = d.b[size:]
	// The shortest form is the only one.
	if size == 1 && n < 24 || size > 1 && n>>(4*size) == 0 {
		d.fail(what)
		return 0
	}
	return n
}

func (d *decoder) take(n uint64, what string) []byte {
	if n > uint64(len(d.b)) {
		d.fail(what)
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) uint(what string) uint64 { return d.head(majorUint, what) }

func (d *decoder) text(what string) string {
	s := string(d.take(d.head(majorText, what), what))
	if !utf8.ValidString(s) {
		d.fail(what)
		return ""
	}
	return s
}

// key takes the key of a map, which has to be this one.
func (d *decoder) key(want string) {
	if got := d.text(want); d.err == nil && got != want {
		d.fail("the key " + want)
	}
}

func (d *decoder) link() (l link) {
	const what = "a link"
	if d.head(majorTag, what) != tagLink || d.head(majorBytes, what) != linkSize+1 {
		d.fail(what)
		return l
	}
	if zero := d.take(1, what); len(zero) != 1 || zero[0] != 0 {
		d.fail(what)
		return l
	}
	l, err := parseLink(d.take(linkSize, what))
	if err != nil && d.err == nil {
		d.err, d.b = err, nil
	}
	return l
}

// links takes an array of at most most links of one codec.
func (d *decoder) links(codec byte, most int) (all []link) {
	n := d.head(majorArray, "an array of links")
	if n > uint64(most) || n*(linkSize+5) > uint64(len(d.b)) {
		d.fail("an array of at most so many links as fit")
		return nil
	}
	all = make([]link, 0, n)
	for range n {
		l := d.link()
		if d.err == nil && l.codec() != codec {
			d.fail("a link to another kind of block")
		}
		all = append(all, l)
	}
	return all
}

// end returns the first failure, of which bytes that are left are one.
func (d *decoder) end() error {
	if d.err == nil && len(d.b) > 0 {
		d.fail("its end")
	}
	return d.err
}
