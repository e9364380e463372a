package crawl

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"arborist/crawl/egress"
	"arborist/crawl/fetch"
	"arborist/crawl/internal/frontier"
	"arborist/crawl/internal/links"
	"arborist/crawl/internal/weburl"
	"arborist/ingest"
	"arborist/ingest/extract"
)

// A visited is what a worker brings back about one entry.
type visited struct {
	entry  frontier.Entry
	lane   *lane
	state  frontier.State // Waiting: try again later
	status int
	class  fetch.Class
	reason string
	kind   error // what the reason means for a seed
	cause  error

	links   []frontier.Link
	page    *ingest.Raw
	found   links.Found // counts and flags; its Links are dropped
	offSite int         // links to other hosts
	social  int         // of these, to social media
	content uint64      // a hash of a page's bytes, see twins
	looks   looks       // zero where it is no HTML

	document bool // a document file, by its bytes

	unrelated bool      // its links are not followed, see relevance
	vector    []float32 // of the seed's page

	silent bool          // the host gave no usable answer
	robots bool          // it is its robots.txt that is missing
	pause  time.Duration // that the host asked for
	err    error         // the run must end; nothing is known of the entry
}

func (v visited) refused(kind error, reason string) visited {
	v.state, v.kind, v.reason = frontier.Refused, kind, reason
	return v
}

func (v visited) failed(kind error, class fetch.Class, reason string) visited {
	v.state, v.kind, v.class, v.reason = frontier.Failed, kind, class, reason
	return v
}

// visit judges one entry and fetches it if it may be fetched. No request starts
// after the end of starts, no answer is waited for after that of answers.
func (r *run) visit(starts, answers context.Context, l *lane, e frontier.Entry) (v visited) {
	// What strangers send must not take the process down, whatever a library
	// makes of it.
	defer func() {
		if p := recover(); p != nil {
			v = visited{entry: e}.failed(ErrSeedNotPage, fetch.ResourceLimit, fmt.Sprintf("reading it failed: panic: %.200v", p))
		}
	}()
	v = visited{entry: e}
	u, err := r.c.parser.Parse(e.URL)
	if err != nil {
		return v.refused(ErrSeedURL, err.Error())
	}
	if reason := r.c.names.reason(u); reason != "" {
		return v.refused(ErrSeedNotPage, reason)
	}
	if reason := r.c.leaveOut(r.c.names.kind(u), e.Depth == 0); reason != "" {
		return v.refused(ErrSeedNotPage, reason)
	}
	d, err := r.admit(starts, l, u)
	v.cause = d.Err
	switch {
	case err != nil:
		v.err = err
		return v
	case errors.Is(d.Err, egress.ErrDenied):
		v.cause = deniedCause(d.Err)
		return v.refused(ErrSeedAddress, v.cause.Error())
	case !d.Allowed && d.Temporary:
		v = v.failed(ErrSeedUnreachable, fetch.Transient, d.Reason)
		v.state, v.silent, v.robots, v.pause = frontier.Waiting, true, true, d.RetryAfter
		return v
	case !d.Allowed:
		return v.refused(ErrSeedRobots, d.Reason)
	}
	req := fetch.Request{URL: e.URL, Parts: r.parts(u.Host())}
	if r.emit == nil { // nothing of a page outlives the visit
		buffer := r.buffer()
		defer r.buffers.Put(buffer)
		req.Buffer = *buffer
	}
	resp, err := r.gate.fetch(starts, answers, req)
	if err != nil {
		return v.unfetched(answers, err)
	}
	v.status = resp.Status
	switch {
	case resp.Location != "":
		return r.redirect(v, u, resp.Location)
	case resp.Status >= 200 && resp.Status < 300:
		return r.page(answers, v, u, resp)
	case resp.Status >= 300 && resp.Status < 400:
		return v.failed(ErrSeedRedirect, fetch.Denied, statusText(resp.Status)+" without a target")
	default:
		return v.failed(ErrSeedNotPage, fetch.Denied, statusText(resp.Status))
	}
}

// bufferSize holds most pages, in bytes.
const bufferSize = 64 << 10

// buffer gives memory for one body.
func (r *run) buffer() *[]byte {
	if b, ok := r.buffers.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, bufferSize)
	return &b
}

// unfetched sorts the errors of a fetch.
func (v visited) unfetched(ctx context.Context, err error) visited {
	var fe *fetch.Error
	if ctx.Err() != nil || !errors.As(err, &fe) {
		v.err = err
		return v
	}
	v.cause, v.status = err, fe.Status
	reason := fe.Reason
	if fe.Err != nil {
		reason += ": " + fe.Err.Error()
	}
	switch {
	case errors.Is(err, egress.ErrDenied):
		v.cause = deniedCause(err)
		return v.refused(ErrSeedAddress, v.cause.Error())
	case fe.Class == fetch.Denied:
		kind := ErrSeedUnreachable
		if fe.Status != 0 {
			kind = ErrSeedNotPage
		}
		return v.failed(kind, fe.Class, reason)
	case fe.Class == fetch.ResourceLimit, fe.Class == fetch.RenderFailed:
		v = v.failed(ErrSeedNotPage, fe.Class, reason)
		v.state = frontier.Waiting
		return v
	}
	v = v.failed(ErrSeedUnreachable, fe.Class, reason)
	v.state, v.pause = frontier.Waiting, fe.RetryAfter
	v.silent = fe.Status == 0 || fe.Status == http.StatusTooManyRequests || fe.Status == http.StatusServiceUnavailable
	return v
}

// reasonLeft is how the reason begins why a redirect is not followed that leads
// to a host that is not crawled. The address comes after it.
const reasonLeft = "redirects to another host: "

// redirect turns a redirect into a new entry of the same depth, which is
// judged like any other.
func (r *run) redirect(v visited, from weburl.URL, location string) visited {
	target, err := r.join(from, location)
	if err != nil {
		return v.refused(ErrSeedRedirect, fmt.Sprintf("redirects to %.300s: %v", location, err))
	}
	adopted, ok := r.c.scope.adopt(target)
	switch trail := append(slices.Clone(v.entry.Trail), from.String()); {
	case !ok:
		v.cause = &leftError{target}
		return v.refused(ErrSeedRedirect, reasonLeft+fmt.Sprintf("%.300s", target))
	case slices.Contains(trail, adopted.String()):
		return v.refused(ErrSeedRedirect, fmt.Sprintf("redirects in a circle, back to %.300s", adopted))
	case len(trail) > maxRedirects:
		return v.refused(ErrSeedRedirect, fmt.Sprintf("over %d redirects in a row", maxRedirects))
	default:
		v.state, v.reason = frontier.Redirected, adopted.String()
		v.links = []frontier.Link{{URL: adopted.String(), Depth: v.entry.Depth, Chain: v.entry.Chain, Trail: trail}}
		return v
	}
}

func (r *run) join(from weburl.URL, ref string) (weburl.URL, error) {
	base, err := r.c.parser.Base(from)
	if err != nil {
		return weburl.URL{}, err
	}
	return base.Join(ref)
}

// A leftError says where a redirect left the site.
type leftError struct{ target weburl.URL }

func (e *leftError) Error() string { return "left the site for " + e.target.String() }

// page reads a page's links and prepares it to be emitted.
func (r *run) page(ctx context.Context, v visited, u weburl.URL, resp fetch.Response) visited {
	switch {
	case resp.Skipped != "":
		return v.refused(ErrSeedNotPage, resp.Skipped)
	case inDisguise(resp.ContentType, resp.Body) != "":
		return v.refused(ErrSeedNotPage, inDisguise(resp.ContentType, resp.Body))
	case resp.Status == http.StatusNoContent, resp.Status == http.StatusResetContent, resp.Status == http.StatusPartialContent:
		return v.failed(ErrSeedNotPage, fetch.Denied, statusText(resp.Status))
	}
	if v.document = extract.IsDocument(resp.Body); v.document && v.entry.Depth > 0 && !r.c.cfg.Documents {
		return v.refused(ErrSeedNotPage, reasonDocument) // whatever its server calls it
	}
	v.state = frontier.Done
	if isHTML(resp.ContentType, resp.Body) {
		v.found = r.c.finder.Find(links.Page{URL: u, ContentType: resp.ContentType, Body: resp.Body, RobotsTag: resp.RobotsTag})
		v.looks = r.twins.looks(u, resp.Body, v.found.Links)
		if r.relevance != nil {
			related, vector, err := r.relevance.judge(ctx, resp, v.entry.Depth == 0)
			if errors.Is(err, errNoText) {
				return v.failed(ErrSeedNotPage, fetch.Denied, err.Error())
			}
			if v.vector, v.err = vector, err; err != nil {
				return v
			}
			if !related {
				v.unrelated, v.found.Links = true, nil
			}
		}
		r.follow(&v, u)
	} else {
		v.found.NoIndex, v.found.NoFollow = r.c.finder.Robots(resp.RobotsTag)
	}
	v.content = r.twins.content(resp.Body)
	if !v.found.NoIndex && r.emit != nil {
		raw := rawOf(v.entry.URL, resp)
		v.page = &raw
	}
	return v
}

// follow turns the page's links into entries, as far as they belong here.
func (r *run) follow(v *visited, page weburl.URL) {
	if v.entry.Depth == 0 {
		r.c.scope.enter(page) // nothing else of its origin is in flight on the first level, but for other seeds
	}
	found := v.found.Links
	v.found.Links = nil
	if v.entry.Depth < r.c.cfg.Depth {
		v.links = make([]frontier.Link, 0, len(found))
	}
	for _, link := range found {
		adopted, ok := r.c.scope.adopt(link)
		if !ok {
			v.offSite++
			if socialMedia(link.Host()) {
				v.social++
			}
			continue
		}
		if v.entry.Depth < r.c.cfg.Depth && adopted != page {
			v.links = append(v.links, frontier.Link{
				URL: adopted.String(), Depth: v.entry.Depth + 1, Chain: chain(page, v.entry.Chain, adopted),
			})
		}
	}
}

// isHTML reports whether a body is to be read for links.
func isHTML(contentType string, body []byte) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	if kind == "" { // none, or one that cannot be read to its end
		kind, _, _ = strings.Cut(contentType, ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
	}
	if kind == "" {
		kind, _, _ = strings.Cut(http.DetectContentType(body), ";")
	}
	return kind == "text/html" || kind == "application/xhtml+xml"
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s", status, strings.ToLower(http.StatusText(status))))
}
