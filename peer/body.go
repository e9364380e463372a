package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/klauspost/compress/zstd"
)

// A body is the body of a reply, decoded, with a time limit for each part.
type body struct {
	res    *http.Response
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	tap    tap           // of the reply's body as it arrives
	r      io.Reader     // of the resource
	zstd   *zstd.Decoder // nil: not compressed
}

// check looks at the reply's head.
func (b *body) check(compressed bool) error {
	switch code := b.res.StatusCode; code {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusGone:
		return ErrMissing
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return ErrBusy
	default:
		return fmt.Errorf("%w: status %d", ErrUnavailable, code)
	}
	switch coding := b.res.Header.Get("Content-Encoding"); {
	case coding == "" || coding == "identity":
	case coding == "zstd" && compressed:
		d, err := zstd.NewReader(&b.tap, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return err
		}
		b.zstd, b.r = d, d
	default:
		return fmt.Errorf("%w: content coding %.30q was not asked for", ErrMalformed, coding)
	}
	return nil
}

// allow gives the next n bytes the time that they may take.
func (b *body) allow(n uint64) {
	d := elementTime + time.Duration(n/minRate)*time.Second
	if b.timer == nil {
		b.timer = time.AfterFunc(d, func() { b.cancel(ErrTooSlow) })
		return
	}
	b.timer.Reset(d)
}

// pause stops the clock while we are not reading.
func (b *body) pause() {
	if b.timer != nil {
		b.timer.Stop()
	}
}

// Read implements [io.Reader]. Its errors are those of this package, but for
// the end of the input.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	switch {
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return n, err
	case errors.Is(context.Cause(b.ctx), ErrTooSlow):
		return n, ErrTooSlow
	case b.tap.err == nil: // then it is the decoder that complains
		return n, fmt.Errorf("%w: %w", ErrMalformed, err)
	default:
		return n, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
}

// A tap remembers the error of the connection, so that a fault of what was
// sent can be told from a fault of the sending.
type tap struct {
	r   io.Reader
	err error
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		t.err = err
	}
	return n, err
}

// Close ends the request. A body that was read to its end leaves its stream
// for the next request.
func (b *body) Close() error {
	if b.timer != nil {
		b.timer.Stop()
	}
	if b.zstd != nil {
		b.zstd.Close()
	}
	err := b.res.Body.Close()
	b.cancel(nil)
	return err
}
