package fetch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// maxCodings is how many content codings may lie on top of each other.
const maxCodings = 2

// decoders opens content codings and keeps used decoders for the next body.
type decoders struct{ gzip, zstd sync.Pool }

// open gives the decoded form of raw, whose codings were applied in the order
// of the Content-Encoding headers. Output between two codings is limited like
// the body. done gives the decoders back.
func (d *decoders) open(headers []string, raw io.Reader, limit int64) (r io.Reader, done func(), err error) {
	codings, err := parseCodings(headers)
	if err != nil {
		return nil, nil, err
	}
	var release []func()
	done = func() {
		for _, f := range release {
			f()
		}
	}
	r = raw
	for i := len(codings) - 1; i >= 0; i-- {
		next, free, err := d.one(codings[i], r)
		if err != nil {
			done()
			return nil, nil, err
		}
		if free != nil {
			release = append(release, free)
		}
		r = next
		if i > 0 {
			r = &counted{r: next, what: "half-decoded body", limit: limit}
		}
	}
	return r, done, nil
}

func parseCodings(headers []string) ([]string, error) {
	var codings []string
	for _, h := range headers {
		for c := range strings.SplitSeq(h, ",") {
			c = strings.ToLower(strings.TrimSpace(c))
			switch c {
			case "", "identity":
			case "gzip", "x-gzip", "br", "zstd":
				codings = append(codings, c)
			default:
				return nil, fmt.Errorf("%w: %q", errEncoding, clip(c, 60))
			}
			if len(codings) > maxCodings {
				return nil, fmt.Errorf("%w: more than %d on top of each other", errEncoding, maxCodings)
			}
		}
	}
	return codings, nil
}

func (d *decoders) one(coding string, r io.Reader) (io.Reader, func(), error) {
	switch coding {
	case "br":
		return brotli.NewReader(r), nil, nil
	case "zstd":
		z, _ := d.zstd.Get().(*zstd.Decoder)
		if z == nil {
			var err error
			z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(8<<20))
			if err != nil {
				return nil, nil, fmt.Errorf("open zstd: %w", err)
			}
		}
		if err := z.Reset(r); err != nil {
			return nil, nil, fmt.Errorf("open zstd body: %w", err)
		}
		return z, func() { z.Reset(nil); d.zstd.Put(z) }, nil
	default:
		g, _ := d.gzip.Get().(*gzipBody)
		if g == nil {
			g = new(gzipBody)
		}
		g.reset(r)
		return g, func() { g.reset(nil); d.gzip.Put(g) }, nil
	}
}

// tooWide recognises a body that asks for more memory than one may: a window of
// more than 8 MiB, which HTTP allows at most.
func tooWide(err error) bool { return errors.Is(err, zstd.ErrWindowSizeExceeded) }

// A gzipBody reads gzip members one after the other. What follows the last
// one and is no gzip is ignored, as browsers do: servers pad.
type gzipBody struct {
	src bufio.Reader
	zr  gzip.Reader
	any bool // a member has been read to its end
	in  bool // inside a member
}

// gzipHeader is the least length of a member's header, in bytes.
const gzipHeader = 10

func (g *gzipBody) reset(r io.Reader) {
	g.src.Reset(r)
	g.any, g.in = false, false
}

func (g *gzipBody) Read(p []byte) (int, error) {
	for {
		if !g.in {
			if start, err := g.src.Peek(gzipHeader); g.any && err == io.EOF && !bytes.HasPrefix(start, []byte{0x1f, 0x8b}) {
				return 0, io.EOF // too short to be a header
			}
			err := g.zr.Reset(&g.src)
			if g.any && errors.Is(err, gzip.ErrHeader) {
				return 0, io.EOF
			}
			if err != nil {
				// io.EOF where there is nothing at all: no gzip file, and yet
				// what some servers send for an empty page.
				return 0, err
			}
			g.zr.Multistream(false)
			g.in = true
		}
		n, err := g.zr.Read(p)
		if err == io.EOF {
			g.in, g.any, err = false, true, nil
			if n == 0 {
				continue
			}
		}
		return n, err
	}
}
