package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// A body is the body of a reply, decoded, with a time limit for each part.
type body struct {
	res    *http.Response
	ctx    context.Context
	cancel context.CancelCauseFunc
	source *source
	timer  *time.Timer
	given  time.Duration // time that the current part has
	since  time.Time     // when the clock was started; zero: it is stopped
	waited time.Duration // on the clock
	bytes  int64         // that arrived
	tap    tap           // of the reply's body as it arrives
	r      io.Reader     // of the resource
	frames *frameReader  // nil: not compressed
}

// check looks at the reply's head.
func (b *body) check(compressed bool, from, n int64) error {
	switch code := b.res.StatusCode; {
	case code == http.StatusOK:
		if n > 0 { // it has not heard of ranges
			b.allow(uint64(from))
			if _, err := io.CopyN(io.Discard, b.r, from); err != nil {
				return truncated(err)
			}
			b.pause()
			b.r = io.LimitReader(b.r, n)
		}
	case code == http.StatusPartialContent && n > 0:
		want := fmt.Sprintf("bytes %d-%d/", from, from+n-1)
		if got := b.res.Header.Get("Content-Range"); !strings.HasPrefix(got, want) {
			return fmt.Errorf("%w: range %.60q in place of %s", ErrMalformed, got, want)
		}
	case code == http.StatusNotFound || code == http.StatusGone:
		return ErrMissing
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		return ErrBusy
	default:
		return fmt.Errorf("%w: status %d", ErrUnavailable, code)
	}
	switch coding := b.res.Header.Get("Content-Encoding"); {
	case coding == "" || coding == "identity":
	case coding == "zstd" && compressed:
		whole, err := b.source.frames.decoder()
		if err != nil {
			return err
		}
		b.frames = newFrameReader(&b.tap, whole)
		b.r = b.frames
	default:
		return fmt.Errorf("%w: content coding %.30q was not asked for", ErrMalformed, coding)
	}
	return nil
}

// allow gives the next n bytes the time that they may take. Where another
// source can stand in for this one it is less.
func (b *body) allow(n uint64) {
	d := elementTime + time.Duration(n/minRate)*time.Second
	if b.source.hurry.Load() {
		d = hurryTime + time.Duration(n/hurryRate)*time.Second
	}
	b.resume(d)
}

// resume starts the clock.
func (b *body) resume(d time.Duration) {
	b.given = d
	b.stop()
	b.since = time.Now()
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
	b.stop()
}

// stop adds the time on the clock up to now.
func (b *body) stop() {
	if !b.since.IsZero() {
		b.waited += time.Since(b.since)
		b.since = time.Time{}
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
//
// It also keeps to the limit of bytes a second. Time that we wait for our own
// limit is not the source's: it has sent more than we take.
type tap struct {
	body *body
	r    io.Reader
	err  error
}

func (t *tap) Read(p []byte) (int, error) {
	limit := t.body.source.limit
	if limit != nil {
		p = p[:min(len(p), limit.Burst())]
	}
	n, err := t.r.Read(p)
	t.body.bytes += int64(n)
	if limit != nil && n > 0 {
		if d := limit.ReserveN(time.Now(), n).Delay(); d > 0 {
			t.body.pause()
			select {
			case <-time.After(d):
			case <-t.body.ctx.Done():
			}
			t.body.resume(t.body.given)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		t.err = err
	}
	return n, err
}

// Close ends the request. A body that was read to its end leaves its stream
// for the next request.
func (b *body) Close() error {
	b.pause()
	b.source.pace.saw(b.bytes, b.waited)
	if b.frames != nil {
		b.frames.close()
	}
	err := b.res.Body.Close()
	b.cancel(nil)
	return err
}
