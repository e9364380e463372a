package fetch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"arborist/crawl/egress"
)

// ErrHostedConfig: the address or the key of the rendering service cannot be
// used.
var ErrHostedConfig = errors.New("rendering service not configured")

// HostedConfig configures [NewHosted]. Base and Plain are needed.
type HostedConfig struct {
	// Base is the service's address, to which /v1/scrape is added: an https
	// URL, or an http one on loopback.
	Base string
	Key  string // sent as a bearer token; "": none

	Guard    *egress.Guard // of the pages that the service is asked for
	Resolver *net.Resolver // default: the system's

	// Plain serves the requests that are no pages: those with AnyType, such
	// as for robots.txt, and with Prefix.
	Plain Fetcher

	Recorder Recorder // given every page; nil: none

	MaxBody int64         // bytes of a page. Default 10 MiB
	Timeout time.Duration // of one page. Default 60 s
	Types   []string      // as in [HTTPConfig]
}

// Hosted gets pages from a rendering service that speaks Firecrawl's
// POST /v1/scrape. The service asks the site, and renders the page.
//
// The site's headers do not come through: there are no validators, no
// X-Robots-Tag and no Retry-After. The service follows redirects by itself;
// where it did, what it brought is dropped and the final address handed back
// as the target of a redirect. What the service itself says wrong (its key,
// its quota, its faults) is fetch_transient: it says nothing about the page.
type Hosted struct {
	cfg      HostedConfig
	endpoint string
	client   *http.Client
}

var _ Fetcher = (*Hosted)(nil)

// NewHosted makes a fetcher that asks the service at cfg.Base. It sends
// nothing. Errors wrap [ErrHostedConfig]. Close it after use.
func NewHosted(cfg HostedConfig) (*Hosted, error) {
	u, err := url.Parse(cfg.Base)
	switch {
	case cfg.Base == "":
		return nil, fmt.Errorf("%w: it has no address; set hosted_url below [crawl] in config.toml", ErrHostedConfig)
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%w: its address is not one like https://api.example.com", ErrHostedConfig)
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())):
		return nil, fmt.Errorf("%w: its address must be https, or the key would be readable on the way", ErrHostedConfig)
	case strings.ContainsFunc(cfg.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, fmt.Errorf("%w: its key holds more than one word of ASCII", ErrHostedConfig)
	}
	if cfg.MaxBody <= 0 {
		cfg.MaxBody = 10 << 20
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Minute
	}
	if cfg.Types == nil {
		cfg.Types = PageTypes()
	}
	return &Hosted{cfg: cfg, endpoint: u.JoinPath("v1", "scrape").String(), client: &http.Client{
		Transport: &http.Transport{Proxy: nil, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10},
		// A redirect would carry the key elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Close drops idle connections.
func (h *Hosted) Close() error {
	h.client.CloseIdleConnections()
	return nil
}

// Fetch implements [Fetcher].
func (h *Hosted) Fetch(ctx context.Context, req Request) (Response, error) {
	if req.AnyType || req.Prefix > 0 {
		return h.cfg.Plain.Fetch(ctx, req)
	}
	if ctx.Err() != nil {
		return Response{}, context.Cause(ctx)
	}
	t, err := parseTarget(req.URL)
	if err != nil {
		return Response{}, &Error{URL: req.URL, Class: Denied, Reason: "not a usable URL", Err: err}
	}
	limit := h.cfg.Timeout
	if req.Timeout > 0 {
		limit = min(limit, req.Timeout)
	}
	timed, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	if err := h.cfg.Guard.CheckTarget(timed, h.cfg.Resolver, t.url); err != nil {
		return Response{}, classify(ctx, timed, req.URL, "name not resolved", err)
	}
	at := time.Now()
	page, err := h.scrape(ctx, timed, req.URL, t.text, limit)
	if err != nil {
		return Response{}, err
	}
	resp, err := h.answer(req, t, page)
	if err == nil && resp.Body != nil && h.cfg.Recorder != nil {
		err := h.cfg.Recorder.Record(Exchange{URL: req.URL, At: at, Status: resp.Status, ContentType: resp.ContentType, Body: resp.Body})
		if err != nil {
			return Response{}, fmt.Errorf("record %s: %w", clip(redact(req.URL), 200), err)
		}
	}
	return resp, err
}

// A scraped page is the part of the service's answer that is used.
type scraped struct {
	Success bool   `json:"success"`
	Error   string `json:"error"`
	Data    struct {
		RawHTML  string `json:"rawHtml"`
		Metadata struct {
			Status      int    `json:"statusCode"`
			URL         string `json:"url"`
			ContentType string `json:"contentType"`
		} `json:"metadata"`
	} `json:"data"`
}

// scrape asks the service for one page. Errors are ready for the caller.
func (h *Hosted) scrape(caller, timed context.Context, page, address string, limit time.Duration) (s scraped, err error) {
	body, err := json.Marshal(map[string]any{
		"url": address, "formats": []string{"rawHtml"}, "onlyMainContent": false, "timeout": limit.Milliseconds(),
	})
	if err != nil {
		return s, &Error{URL: page, Class: Denied, Reason: "not a usable URL", Err: err}
	}
	hreq, err := http.NewRequestWithContext(timed, http.MethodPost, h.endpoint, bytes.NewReader(body))
	if err != nil {
		return s, &Error{URL: page, Class: Transient, Reason: "rendering service", Err: err}
	}
	hreq.Header.Set("Content-Type", "application/json")
	if h.cfg.Key != "" {
		hreq.Header.Set("Authorization", "Bearer "+h.cfg.Key)
	}
	resp, err := h.client.Do(hreq)
	if err != nil {
		return s, classify(caller, timed, page, "no answer from the rendering service", err)
	}
	defer resp.Body.Close()
	// JSON may take six bytes for one, but not for every one of a page.
	in := &counted{r: resp.Body, what: "answer of the rendering service", limit: 3*h.cfg.MaxBody + 64<<10}
	raw, err := io.ReadAll(in)
	if err != nil {
		return s, classify(caller, timed, page, "reading the rendering service's answer", err)
	}
	jsonErr := json.Unmarshal(raw, &s)
	if resp.StatusCode == http.StatusOK && jsonErr == nil && s.Success {
		return s, nil
	}
	return s, h.refused(page, resp, s, jsonErr)
}

// refused says what an answer means that brought no page.
func (h *Hosted) refused(page string, resp *http.Response, s scraped, jsonErr error) error {
	e := &Error{URL: page, Class: Transient, RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		e.Reason = "timeout of the rendering service"
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Reason = fmt.Sprintf("rendering service refuses the key: status %d", resp.StatusCode)
	case http.StatusPaymentRequired:
		e.Reason = "rendering service wants to be paid: status 402"
	case http.StatusOK:
		e.Reason = "rendering service brought no page"
		if jsonErr != nil {
			e.Reason = "answer of the rendering service not understood"
		}
	default:
		e.Reason = fmt.Sprintf("rendering service: status %d", resp.StatusCode)
	}
	if said := h.withoutKey(s.Error); said != "" {
		e.Err = errors.New(clip(said, 200))
	}
	return e
}

// withoutKey takes our key out of what the service says: it ends up in logs.
func (h *Hosted) withoutKey(s string) string {
	if h.cfg.Key == "" {
		return s
	}
	return strings.ReplaceAll(s, h.cfg.Key, "***")
}

// answer turns a scraped page into ours.
func (h *Hosted) answer(req Request, t target, s scraped) (Response, error) {
	meta := s.Data.Metadata
	resp := Response{URL: req.URL, Status: cmp.Or(meta.Status, http.StatusOK), ContentType: cmp.Or(meta.ContentType, "text/html")}
	if e := StatusError(req.URL, resp.Status, nil); e != nil {
		return Response{}, e
	}
	if final, err := whatwg.Parse(meta.URL); err == nil && final.Href(true) != t.text {
		return Response{URL: req.URL, Status: http.StatusFound, Location: final.Href(true)}, nil
	}
	if resp.Status >= 300 {
		return resp, nil
	}
	kind := mediaType(resp.ContentType)
	if !wanted(kind, h.cfg.Types) {
		resp.Skipped = "content type " + clip(kind, 100) + " is not wanted"
		return resp, nil
	}
	if int64(len(s.Data.RawHTML)) > h.cfg.MaxBody {
		return Response{}, &Error{URL: req.URL, Class: ResourceLimit, Status: resp.Status, Reason: "too large", Err: tooLarge("page", h.cfg.MaxBody)}
	}
	resp.Body, resp.Wire = []byte(s.Data.RawHTML), int64(len(s.Data.RawHTML))
	resp.ContentType, resp.Rendered = cmp.Or(kind, "text/html")+"; charset=utf-8", true
	return resp, nil
}
