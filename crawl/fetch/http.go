package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"arborist/crawl/egress"
	"arborist/crawl/internal/weburl"
)

// ProductToken is the name under which Arborist looks for its rules in a
// robots.txt file.
const ProductToken = "Arborist"

// UserAgent gives the usual User-Agent header: product, version and a URL
// where a webmaster finds out who is asking.
func UserAgent(version, contact string) string {
	ua := ProductToken
	if version != "" {
		ua += "/" + version
	}
	if contact != "" {
		ua += " (+" + contact + ")"
	}
	return ua
}

// HTTPConfig configures [NewHTTP]. Every zero value means the default given.
type HTTPConfig struct {
	Guard     *egress.Guard // nil: public addresses, ports 80 and 443
	UserAgent string        // default: UserAgent("", "")
	Resolver  *net.Resolver // default: the system's

	// MaxBody limits the bytes of one body, both as sent and decoded.
	// Default 10 MiB.
	MaxBody int64

	// MaxHeader limits the bytes of the response header. Default 256 KiB.
	MaxHeader int64

	// Timeout limits one fetch from the dial to the last byte of the body.
	// Default 15 s.
	Timeout time.Duration

	// Types are the content types whose bodies are read: full types
	// ("text/html") or whole families ("text/*"), lower case. "" stands for an
	// answer without a content type. Default: [PageTypes].
	Types []string

	// Roots are the certificate authorities trusted for https. Default: the
	// system's.
	Roots *x509.CertPool

	// Recorder, if not nil, is given every answer that came whole, and the
	// header of those whose body nobody wants.
	Recorder Recorder

	// MaxIdlePerHost is how many idle connections are kept to one host.
	// Default 32.
	MaxIdlePerHost int
}

// PageTypes gives the content types that are read as pages by default: HTML,
// XHTML, plain text, Markdown, and answers that give no type.
func PageTypes() []string {
	return []string{"text/html", "application/xhtml+xml", "text/plain", "text/markdown", "text/x-markdown", ""}
}

// HTTP is the plain HTTP fetcher: no scripts are run.
type HTTP struct {
	cfg       HTTPConfig
	parser    *weburl.Parser
	transport *http.Transport
	decoders  decoders
	passed    atomic.Pointer[string] // the latest origin that the guard let pass
}

var _ Fetcher = (*HTTP)(nil)

// NewHTTP makes a plain HTTP fetcher. It takes no proxy from the environment:
// a proxy would resolve names out of the guard's sight. Close it after use.
func NewHTTP(cfg HTTPConfig) *HTTP {
	if cfg.UserAgent == "" {
		cfg.UserAgent = UserAgent("", "")
	}
	if cfg.MaxBody <= 0 {
		cfg.MaxBody = 10 << 20
	}
	if cfg.MaxHeader <= 0 {
		cfg.MaxHeader = 256 << 10
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 15 * time.Second
	}
	if cfg.Types == nil {
		cfg.Types = PageTypes()
	}
	if cfg.MaxIdlePerHost <= 0 {
		cfg.MaxIdlePerHost = 32
	}
	dialer := &egress.Dialer{Guard: cfg.Guard, Resolver: cfg.Resolver}
	return &HTTP{
		cfg:    cfg,
		parser: weburl.NewParser(nil),
		transport: &http.Transport{
			Proxy:                  nil,
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{RootCAs: cfg.Roots},
			ForceAttemptHTTP2:      true,
			DisableCompression:     true, // decoded here, under our own limits
			MaxIdleConns:           8 * cfg.MaxIdlePerHost,
			MaxIdleConnsPerHost:    cfg.MaxIdlePerHost,
			IdleConnTimeout:        60 * time.Second,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: cfg.MaxHeader,
			ReadBufferSize:         16 << 10,
		},
	}
}

// Close drops idle connections. Fetches that are still running go on.
func (h *HTTP) Close() error {
	h.transport.CloseIdleConnections()
	return nil
}

// Fetch implements [Fetcher].
func (h *HTTP) Fetch(ctx context.Context, req Request) (Response, error) {
	if err := ctx.Err(); err != nil {
		return Response{}, context.Cause(ctx)
	}
	target, err := h.target(req.URL)
	if err != nil {
		return Response{}, &Error{URL: req.URL, Class: Denied, Reason: "not a usable URL", Err: err}
	}
	if err := h.check(target); err != nil {
		return Response{}, &Error{URL: req.URL, Class: Denied, Reason: "address not allowed", Err: err}
	}
	limit := h.cfg.Timeout
	if req.Timeout > 0 && req.Timeout < limit {
		limit = req.Timeout
	}
	timed, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()

	method := http.MethodGet
	if req.Head {
		method = http.MethodHead
	}
	asked, tooOften := bounded(timed, cancel)
	hreq := (&http.Request{
		Method:     method,
		URL:        target.url,
		Host:       target.url.Host,
		Header:     h.header(req),
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
	}).WithContext(asked)
	at := time.Now()
	hresp, err := h.transport.RoundTrip(hreq)
	if err != nil && tooOften() && ctx.Err() == nil {
		return Response{}, &Error{URL: req.URL, Class: Transient, Reason: reasonReset, Err: err}
	}
	if err != nil {
		return Response{}, classify(ctx, timed, req.URL, "no answer", err)
	}
	defer hresp.Body.Close()
	tape := &tape{on: h.cfg.Recorder != nil}
	resp, cut, err := h.answer(ctx, timed, cancel, req, target, hresp, tape)
	// A refusal is an answer as well; one that broke off is none.
	if e, refused := err.(*Error); err == nil || refused && e.Status != 0 && e.Err == nil {
		if err := h.record(req, hreq, at, hresp, tape, cut); err != nil {
			return Response{}, err
		}
	}
	return resp, err
}

// check is the guard's look at a URL. What it can tell of one without credentials
// it tells of its whole origin, so that a site is looked at once.
func (h *HTTP) check(t target) error {
	if last := h.passed.Load(); t.origin != "" && last != nil && *last == t.origin {
		return nil
	}
	if err := h.cfg.Guard.CheckURL(t.url); err != nil {
		return err
	}
	if t.origin != "" {
		h.passed.Store(&t.origin)
	}
	return nil
}

func (h *HTTP) header(req Request) http.Header {
	hd := http.Header{
		"User-Agent":      {h.cfg.UserAgent},
		"Accept":          {"text/html, application/xhtml+xml, text/plain;q=0.9, text/markdown;q=0.9, */*;q=0.5"},
		"Accept-Encoding": {"gzip, br, zstd"},
	}
	if req.ETag != "" {
		hd.Set("If-None-Match", req.ETag)
	}
	if req.Modified != "" {
		hd.Set("If-Modified-Since", req.Modified)
	}
	return hd
}
