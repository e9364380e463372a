package peer

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// acceptsZstd reports whether a request asks for zstd, the one content coding
// that there is.
func acceptsZstd(r *http.Request) bool {
	for _, line := range r.Header.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(part, ";")
			if strings.TrimSpace(name) == "zstd" {
				q := strings.ReplaceAll(params, " ", "")
				return !strings.HasPrefix(q, "q=0") || strings.Trim(q[len("q=0"):], ".0") != ""
			}
		}
	}
	return false
}

// coders keeps the buffers and encoders of replies for the next ones.
type coders struct {
	buffers, encoders sync.Pool
}

// coded gathers what is written to it, compresses it where zip is set, and
// sends it to out in large parts. Nothing is complete before finish.
func (c *coders) coded(out *reply, zip bool, fn func(io.Writer) error) error {
	buf, ok := c.buffers.Get().(*bufio.Writer)
	if !ok {
		buf = bufio.NewWriterSize(nil, writeSize)
	}
	buf.Reset(out)
	defer func() {
		buf.Reset(nil)
		c.buffers.Put(buf)
	}()
	if !zip {
		if err := fn(buf); err != nil {
			return err
		}
		return buf.Flush()
	}
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
	enc.Reset(buf)
	defer func() {
		enc.Reset(nil)
		c.encoders.Put(enc)
	}()
	if err := fn(enc); err != nil {
		return err
	}
	if err := enc.Close(); err != nil {
		return err
	}
	return buf.Flush()
}

// compressible announces the coding of a resource that has two.
func (out *reply) compressible(zip bool) {
	out.w.Header().Set("Vary", "Accept-Encoding")
	if zip {
		out.w.Header().Set("Content-Encoding", "zstd")
	}
}
