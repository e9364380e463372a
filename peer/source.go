package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// A source is somewhere that resources come from: a peer over libp2p streams
// or an HTTP(S) address. It is not trusted with anything.
type source struct {
	name string // peer ID or URL, for errors
	base string // URL of the version prefix, ends in "/"
	http *http.Client
	zstd bool
	// faulted, if not nil, is told of each fault of the source.
	faulted func(error)

	frames wholeFrames // decodes those of all replies

	ended func() error  // of a folder: closes it
	limit *rate.Limiter // of the bytes that arrive, nil: none
	pace  pace
	hurry atomic.Bool // others can stand in for it: see body.allow

	docless   atomic.Bool  // it lacks a document by itself: see fetcher.fetchDoc
	deltaless atomic.Int32 // deltas in a row that it did not have: see fetcher.fetchDelta
}

// busyTries is how often a resource is asked for while the source is busy.
const busyTries = 5

// maxWindow caps what a zstd stream can make the decoder remember.
const maxWindow = 8 << 20

// newHTTPClient returns a client for resources: no redirects, since a path is
// a name; no proxy from the environment; no compression behind our back.
func newHTTPClient(streams int, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            dial,
			TLSHandshakeTimeout:    dialTime,
			MaxConnsPerHost:        streams,
			MaxIdleConnsPerHost:    streams,
			IdleConnTimeout:        idleTime / 2, // before the server's, so that no request meets a closing stream
			ResponseHeaderTimeout:  replyTime,
			MaxResponseHeaderBytes: maxReplyHead,
			DisableCompression:     true,
			ReadBufferSize:         writeSize,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it redirects, which resources never do")
		},
	}
}

func (s *source) close() {
	s.http.CloseIdleConnections()
	if s.ended != nil {
		s.ended()
	}
}

// fail names source and resource in err. Our own cancellation is not a fault
// of the source.
func (s *source) fail(ctx context.Context, r resource, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var known *SourceError
	if errors.As(err, &known) {
		return err
	}
	if s.faulted != nil {
		s.faulted(err)
	}
	return &SourceError{Source: s.name, Resource: r.path(), Err: err}
}

// get returns the whole of a small resource, at most limit bytes of it.
func (s *source) get(ctx context.Context, r resource, limit int64) ([]byte, error) {
	return s.getWithin(ctx, r, limit, 0)
}

// getWithin is get with the time that size bytes may take.
func (s *source) getWithin(ctx context.Context, r resource, limit int64, size uint64) ([]byte, error) {
	b, err := s.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	b.allow(size)
	raw, err := io.ReadAll(io.LimitReader(b, limit+1))
	if err != nil {
		return nil, s.fail(ctx, r, truncated(err))
	}
	if int64(len(raw)) > limit {
		return nil, s.fail(ctx, r, fmt.Errorf("%w: over %d bytes", ErrTooLarge, limit))
	}
	return raw, nil
}

// open asks for a resource, again for a while where the source is busy. The
// caller closes the body and calls its allow before each part that it reads.
func (s *source) open(ctx context.Context, r resource) (*body, error) {
	return s.openRange(ctx, r, 0, 0)
}

// openRange asks for n bytes of a resource from an offset on, of all where n is
// 0. A source that sends the whole instead is read up to there.
func (s *source) openRange(ctx context.Context, r resource, from, n int64) (*body, error) {
	for try := 1; ; try++ {
		b, wait, err := s.try(ctx, r, from, n)
		if err == nil {
			return b, nil
		}
		if !errors.Is(err, ErrBusy) || try == busyTries {
			return nil, s.fail(ctx, r, err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try asks once. With [ErrBusy] it says how long to wait.
func (s *source) try(ctx context.Context, r resource, from, n int64) (_ *body, wait time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+r.path(), nil)
	if err != nil {
		cancel(nil)
		return nil, 0, err
	}
	req.Header.Set("User-Agent", userAgent)
	if n > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, from+n-1))
	}
	compressed := n == 0 && s.zstd && (r.kind == kindPack || r.kind == kindDoc || r.kind == kindDelta || r.kind == kindEntries)
	if compressed {
		req.Header.Set("Accept-Encoding", "zstd")
	}
	start := time.Now()
	res, err := s.http.Do(req)
	if err != nil {
		cancel(nil)
		var dressed *url.Error // "Get URL: …": our own error names the resource
		if errors.As(err, &dressed) {
			err = dressed.Err
		}
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return nil, 0, fmt.Errorf("%w: %w", ErrTooSlow, err)
		}
		return nil, 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	b := &body{res: res, ctx: ctx, cancel: cancel, source: s, waited: time.Since(start)}
	b.tap = tap{r: res.Body, body: b}
	b.r = &b.tap
	if err := b.check(compressed, from, n); err != nil {
		b.Close()
		return nil, retryAfter(res), err
	}
	return b, 0, nil
}

// retryAfter returns how long a busy source asks to wait, within reason.
func retryAfter(res *http.Response) time.Duration {
	n, err := strconv.Atoi(res.Header.Get("Retry-After"))
	if err != nil {
		n = 1
	}
	return min(max(time.Duration(n)*time.Second, 100*time.Millisecond), 10*time.Second)
}

// closedSource stands for a source that could not be opened.
func closedSource(name string) *source { return &source{name: name, http: new(http.Client)} }

// openURL returns the source at an http(s) URL: the address of a node or of a
// published tree. Without a path, the resources are looked for under
// [PathPrefix].
func openURL(address string, cfg Config) (*source, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, fmt.Errorf("%w: %q is not an http(s) URL", ErrAddress, address)
	case u.User != nil:
		return nil, fmt.Errorf("%w: a URL with a user name or password, which corpora do not need", ErrAddress)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("%w: %q has a query or fragment: give the folder that holds %q", ErrAddress, address, kindCorpora)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = PathPrefix
	}
	u = u.JoinPath("/")
	return &source{
		name: u.String(),
		base: u.String(),
		http: newHTTPClient(cfg.streams(), (&net.Dialer{Timeout: dialTime}).DialContext),
		zstd: !cfg.NoCompression,
	}, nil
}
