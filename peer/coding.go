package peer

import (
	"bufio"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"arborist/document"
)

// acceptsZstd reports whether a request asks for zstd, the one content coding
// that there is.
func acceptsZstd(r *http.Request) bool {
	for _, line := range r.Header.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(part, ";")
			if strings.TrimSpace(name) == "zstd" {
				return !refused(params)
			}
		}
	}
	return false
}

// refused reports whether the parameters of something that is accepted say that it
// is not: q=0.
func refused(params string) bool {
	q := strings.ReplaceAll(params, " ", "")
	return strings.HasPrefix(q, "q=0") && strings.Trim(q[len("q=0"):], ".0") == ""
}

// coders keeps the buffers and encoders of replies for the next ones.
type coders struct {
	buffers, encoders sync.Pool
}

// buffered gathers what fn writes and sends it to out in large parts. Nothing
// is complete before fn has returned without an error.
func (c *coders) buffered(out *reply, fn func(io.Writer) error) error {
	if out.window.n > 0 {
		return fn(out) // which must know where it is
	}
	buf, ok := c.buffers.Get().(*bufio.Writer)
	if !ok {
		buf = bufio.NewWriterSize(nil, writeSize)
	}
	buf.Reset(out)
	defer func() {
		buf.Reset(nil)
		c.buffers.Put(buf)
	}()
	if err := fn(buf); err != nil {
		return err
	}
	return buf.Flush()
}

// compressed sends content as one zstd stream.
func (c *coders) compressed(out *reply, content []byte) error {
	return c.buffered(out, func(w io.Writer) error {
		enc, ok := c.encoders.Get().(*zstd.Encoder)
		if !ok {
			var err error
			// Synchronous and with a small window: a reply costs one core's share
			// and a megabyte, however many are under way.
			enc, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
				zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
			if err != nil {
				return err
			}
		}
		enc.Reset(w)
		defer func() {
			enc.Reset(nil)
			c.encoders.Put(enc)
		}()
		if _, err := enc.Write(content); err != nil {
			return err
		}
		return enc.Close()
	})
}

// writeElement writes the element of a document. With zip the parts of its text
// are the zstd frames that the shard holds, so that serving a pack costs no
// compression; the few bytes before them are a frame of their own that holds
// them as they are.
func writeElement(w io.Writer, header document.Header, parts [][]byte, zip bool) error {
	head := appendElementHead(make([]byte, 0, maxHeader), header)
	if zip {
		head = plainFrame(head)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// writeAbsent writes the element of a document that cannot be given.
func writeAbsent(w io.Writer, zip bool) error {
	absent := []byte{0, 0}
	if zip {
		absent = plainFrame(absent)
	}
	_, err := w.Write(absent)
	return err
}

// plainFrame returns a zstd frame (RFC 8878) that holds up to 64 KiB as they
// are: magic number, a header with the content's size in two bytes, and one
// raw block, the last one.
func plainFrame(content []byte) []byte {
	const magic, singleSegment, size16 = 0xFD2FB528, 1 << 5, 1 << 6
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, len(content)+10), magic)
	if len(content) < 256 {
		b = append(b, singleSegment, byte(len(content)))
	} else {
		b = binary.LittleEndian.AppendUint16(append(b, singleSegment|size16), uint16(len(content)-256))
	}
	block := uint32(len(content))<<3 | 1
	b = append(b, byte(block), byte(block>>8), byte(block>>16))
	return append(b, content...)
}

// compressible announces the coding of a resource that has two.
func (out *reply) compressible(zip bool) {
	out.w.Header().Set("Vary", "Accept-Encoding")
	if zip {
		out.w.Header().Set("Content-Encoding", "zstd")
	}
}
