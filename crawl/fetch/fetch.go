// Package fetch gets one page at a time from the web.
//
// Whatever the implementation, a [Fetcher] guarantees:
//
//   - One call is one request for one URL. Redirects are not followed: the
//     target is handed back resolved, so that the caller can judge it by its
//     own rules before asking for it.
//   - No connection is made that the egress guard refuses.
//   - A call ends within the fetcher's page timeout, whatever the server
//     does, and holds at most the size limit in memory for the body.
//   - Every failure is an [*Error] that names the URL and a [Class] that says
//     whether asking again makes sense. The one exception: where the caller's
//     own context ended, its error comes back unclassified.
//
// Package fetchtest holds these promises as a test suite that each
// implementation must pass.
package fetch

import (
	"context"
	"errors"
	"strings"
	"time"
)

// A Fetcher gets pages. It is safe for concurrent use.
type Fetcher interface {
	Fetch(ctx context.Context, req Request) (Response, error)
}

// A Request asks for one page.
type Request struct {
	// URL is read by WHATWG rules; a fragment is ignored.
	URL string

	// ETag and Modified are validators of an earlier answer, as received.
	// With either, the answer may be a 304.
	ETag, Modified string

	// Head asks for the header alone: the answer has no body. The plain fetcher
	// honours it; what renders pages gets them whole.
	Head bool

	// AnyType reads the body whatever its content type.
	AnyType bool

	// Document, if not nil, says by the first bytes of a body, 512 at most, that
	// it is to be read although its content type tells nothing (it is that of an
	// application) and is not wanted. The plain fetcher asks it.
	Document func(start []byte) bool

	// Prefix, where positive, asks for no more than that many bytes of the
	// (decoded) body. A longer body is cut there and Response.Truncated set,
	// in place of a resource_limit error.
	Prefix int64

	// Buffer is memory that the body may be read into. Response.Body is then a part
	// of it, and both are the caller's. The plain fetcher uses it where a body fits.
	Buffer []byte

	// Timeout, where positive, is a shorter limit than the fetcher's own.
	Timeout time.Duration

	// Parts, for a fetcher that renders pages, says whether the address of a
	// part of the page (a script, a style sheet, data) may be asked for; an
	// error says why not. nil: those of the page's own origin. It may be called
	// from several goroutines.
	Parts func(ctx context.Context, url string) error
}

// A Response is what the server answered: any status but those that are
// errors (see [StatusError]).
type Response struct {
	URL    string // as requested
	Status int

	// Location is the absolute target of a redirect (301, 302, 303, 307,
	// 308), resolved by WHATWG rules against URL and without its fragment.
	// It is empty in every other answer, and in a redirect whose target
	// cannot be read. It may have any scheme and host.
	Location string

	ContentType string // as received, parameters included; may be empty

	// Body is the decoded body of a 2xx answer. It is nil for all other
	// answers and where Skipped is set.
	Body []byte

	// Skipped says why the body of a 2xx answer was left unread, for example
	// "content type image/png is not wanted". Empty: it was read.
	Skipped string

	// Truncated: the body went on after Request.Prefix bytes.
	Truncated bool

	ETag, Modified string   // validators, as received; may be empty
	RobotsTag      []string // X-Robots-Tag headers, as received

	// Wire is the number of body bytes that came over the network, before
	// content decoding.
	Wire int64

	// Rendered: Body is not what the server sent but what the page's scripts
	// made of it, and ContentType is that of Body.
	Rendered bool
}

// A Class says what a failure means for trying again.
type Class string

const (
	Denied        Class = "fetch_denied"    // final: the site or a rule of ours says no
	Transient     Class = "fetch_transient" // the same request may work later
	RenderFailed  Class = "render_failed"   // the page did not render: once more
	ResourceLimit Class = "resource_limit"  // over a limit of ours
)

// An Error is a failed fetch.
type Error struct {
	URL    string
	Class  Class
	Reason string // short, for people and counts: "status 503", "timeout", …
	Status int    // HTTP status where there was one, else 0
	Err    error  // cause; may be nil

	// RetryAfter is how long the server asked to be left alone, 0 where it
	// did not say. It is never negative and at most a day.
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	s := "fetch " + clip(redact(e.URL), 200) + ": " + e.Reason
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Dropped reports whether the server took the request and ended the connection
// in place of an answer.
func (e *Error) Dropped() bool {
	return e.Status == 0 && (e.Reason == reasonReset || e.Reason == reasonCut)
}

// ClassOf gives the class of an error from a Fetcher, or "" for nil, a
// context's own error and anything else that carries no class.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return ""
}

// redact takes a user name and password out of a URL: messages end up in logs.
func redact(url string) string {
	scheme, rest, ok := strings.Cut(url, "//")
	if !ok {
		return url
	}
	end := strings.IndexAny(rest, "/?#\\")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		return scheme + "//***" + rest[at:]
	}
	return url
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
