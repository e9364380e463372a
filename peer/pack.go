package peer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"arborist/document"
)

// A pack holds the documents of an entry bundle: for each record of the bundle
// that lists a document, in order, one element. A document resource is a
// single element.
//
//	element = uint16 length ‖ header text ‖ uint32 length ‖ canonical text
//	absent  = uint16 0
//
// Lengths are big-endian. An element is absent where the server lists the
// document but cannot give it, for example because its copy is damaged.

// maxHeader is more than any header text takes.
const maxHeader = 512

// firstRead is how much is allocated for a text before any of it has arrived.
const firstRead = 256 << 10

// elementSize returns how many bytes the element of a document takes.
func elementSize(h document.Header) int64 {
	return 2 + int64(len(h.Text())) + 4 + int64(h.Bytes)
}

// appendElementHead appends everything of an element but the text.
func appendElementHead(b []byte, h document.Header) []byte {
	text := h.Text()
	b = binary.BigEndian.AppendUint16(b, uint16(len(text)))
	b = append(b, text...)
	return binary.BigEndian.AppendUint32(b, uint32(h.Bytes))
}

// A packReader reads the elements of a pack or document resource. What it
// expects comes from signed records; it compares before it reads on, so a
// source can neither choose how much is read nor make it allocate ahead of
// what has arrived.
type packReader struct {
	r      io.Reader
	frames *frameReader // below r, nil: it is not compressed
	buf    [4]byte
	// arriving, if not nil, grows with the text of the document that is being read,
	// and keeps that of those that were read whole.
	arriving *atomic.Int64
}

// An arrivals reader adds what it reads to a counter.
type arrivals struct {
	r    io.Reader
	all  *atomic.Int64
	mine int64
}

func (c *arrivals) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.mine += int64(n)
	c.all.Add(int64(n))
	return n, err
}

// next reads the element of the document with this header and returns its
// text, not verified yet, and the zstd frames that are that text and nothing
// else, where it came in such. It returns [ErrMissing] for an absent element, after
// which the pack can be read on; after any other error it cannot.
func (p *packReader) next(h document.Header) (text []byte, frames [][]byte, err error) {
	if err := p.head(h); err != nil {
		return nil, nil, err
	}
	if p.frames != nil {
		p.frames.keep()
	}
	if p.arriving == nil {
		text, err = readText(p.r, int64(h.Bytes))
	} else {
		c := &arrivals{r: p.r, all: p.arriving}
		if text, err = readText(c, int64(h.Bytes)); err != nil {
			c.all.Add(-c.mine)
		}
	}
	if p.frames != nil {
		frames = p.frames.take()
	}
	return text, frames, err
}

// skip reads over the element of the document with this header.
func (p *packReader) skip(h document.Header) error {
	if err := p.head(h); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, p.r, int64(h.Bytes))
	return truncated(err)
}

func (p *packReader) head(h document.Header) error {
	if _, err := io.ReadFull(p.r, p.buf[:2]); err != nil {
		return truncated(err)
	}
	n := int(binary.BigEndian.Uint16(p.buf[:2]))
	if n == 0 {
		return ErrMissing
	}
	want := h.Text()
	if n != len(want) {
		return fmt.Errorf("%w: a header of %d bytes, the record of %s has %d", ErrTampered, n, h.Root, len(want))
	}
	got := make([]byte, n)
	if _, err := io.ReadFull(p.r, got); err != nil {
		return truncated(err)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%w: the header is not that of document %s", ErrTampered, h.Root)
	}
	if _, err := io.ReadFull(p.r, p.buf[:4]); err != nil {
		return truncated(err)
	}
	if n := binary.BigEndian.Uint32(p.buf[:4]); uint64(n) != h.Bytes {
		return fmt.Errorf("%w: a text of %d bytes, the header of %s says %d", ErrTampered, n, h.Root, h.Bytes)
	}
	return nil
}

// end checks that nothing follows the last element.
func (p *packReader) end() error {
	switch n, err := io.ReadFull(p.r, p.buf[:1]); {
	case n > 0:
		return fmt.Errorf("%w: bytes follow the last element", ErrMalformed)
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}

// readText reads n bytes into memory that grows with what arrives.
func readText(r io.Reader, n int64) ([]byte, error) {
	text := make([]byte, min(n, firstRead))
	read := 0
	for {
		m, err := io.ReadFull(r, text[read:])
		read += m
		if err != nil {
			return nil, truncated(err)
		}
		if int64(read) == n {
			return text, nil
		}
		bigger := make([]byte, min(n, int64(len(text))*4))
		copy(bigger, text)
		text = bigger
	}
}

// truncated turns the end of the input within an element into [ErrTruncated].
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrTruncated
	}
	return err
}
