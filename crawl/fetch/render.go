package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A Shell is a page as the server sent it, to be rendered.
type Shell struct {
	URL         string
	ContentType string
	Body        []byte

	// Parts judges each further address that the page asks for. It is never
	// nil.
	Parts func(ctx context.Context, url string) error
}

// A Renderer runs the scripts of a page and gives back what they made of it:
// the document in the same syntax, HTML or XHTML, as UTF-8. It is safe for
// concurrent use. It asks the network for nothing but the parts that
// Shell.Parts lets pass.
//
// An error is the context's own, wraps [ErrTooLarge], or means that the page
// did not render.
type Renderer interface {
	Render(ctx context.Context, page Shell) ([]byte, error)
}

// Rendered gets pages by plain HTTP and has a [Renderer] run their scripts. One
// GET serves a page: the renderer is given the bytes that came. Whatever is no
// 2xx answer with HTML, and every request with AnyType or Prefix, is left as
// it came.
type Rendered struct {
	plain    Fetcher
	render   Renderer
	always   bool
	recorder Recorder
}

var _ Fetcher = (*Rendered)(nil)

// NewRendered makes a fetcher that renders the pages that plain brings: all of
// them with always, else those that [IsShell] calls unrendered. Requests and
// limits are those of plain; Request.Timeout does not limit the rendering,
// which has a limit of its own. The recorder, if not nil, is given each rendered
// page; what the server sent is for that of plain.
func NewRendered(plain Fetcher, render Renderer, always bool, recorder Recorder) *Rendered {
	return &Rendered{plain: plain, render: render, always: always, recorder: recorder}
}

// Fetch implements [Fetcher].
func (f *Rendered) Fetch(ctx context.Context, req Request) (Response, error) {
	resp, err := f.plain.Fetch(ctx, req)
	if err != nil || req.AnyType || req.Prefix > 0 || !hasPage(resp) {
		return resp, err
	}
	kind := pageType(resp)
	if kind == "" || !f.always && !IsShell(resp.Body) {
		return resp, nil
	}
	parts := req.Parts
	if parts == nil {
		parts = ownHost(req.URL)
	}
	body, err := f.render.Render(ctx, Shell{URL: req.URL, ContentType: resp.ContentType, Body: resp.Body, Parts: parts})
	switch {
	case ctx.Err() != nil:
		return Response{}, context.Cause(ctx)
	case errors.Is(err, ErrTooLarge):
		return Response{}, &Error{URL: req.URL, Class: ResourceLimit, Status: resp.Status, Reason: "rendered page too large", Err: err}
	case err != nil:
		return Response{}, &Error{URL: req.URL, Class: RenderFailed, Status: resp.Status, Reason: "not rendered", Err: err}
	}
	resp.Body, resp.ContentType, resp.Rendered = body, kind+"; charset=utf-8", true
	if f.recorder != nil {
		err := f.recorder.Record(Exchange{URL: req.URL, At: time.Now(), Status: resp.Status, ContentType: resp.ContentType, Body: body})
		if err != nil {
			return Response{}, fmt.Errorf("record %s: %w", clip(redact(req.URL), 200), err)
		}
	}
	return resp, nil
}

// hasPage reports whether resp carries a body that may be a page.
func hasPage(resp Response) bool {
	return resp.Status >= 200 && resp.Status < 300 && resp.Skipped == "" && len(resp.Body) > 0
}

// pageType gives the media type of an HTML page, and "" for anything else.
func pageType(resp Response) string {
	kind := mediaType(resp.ContentType)
	if kind == "" {
		kind, _, _ = strings.Cut(http.DetectContentType(resp.Body), ";")
	}
	if kind == "text/html" || kind == "application/xhtml+xml" {
		return kind
	}
	return ""
}

// ownHost lets the parts of a page's own scheme, host and port pass.
func ownHost(page string) func(context.Context, string) error {
	own, err := parseTarget(page)
	return func(_ context.Context, part string) error {
		t, perr := parseTarget(part)
		if err != nil || perr != nil || t.url.Scheme != own.url.Scheme || t.url.Host != own.url.Host {
			return fmt.Errorf("%.200s is on another host than the page", part)
		}
		return nil
	}
}
