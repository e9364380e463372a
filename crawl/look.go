package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"arborist/crawl/fetch"
	"arborist/crawl/internal/crawldb"
	"arborist/crawl/internal/links"
	"arborist/crawl/internal/weburl"
	"arborist/document"
	"arborist/ingest"
)

// look finds out what became of one page. Its errors end the run: the context's
// and the store's.
func (r *recheck) look(ctx context.Context, page crawldb.Page) (c finding, err error) {
	l := &looking{recheck: r, page: page, etag: page.ETag, modified: page.Modified}
	l.told.URL = page.URL
	if l.u, err = r.parser.Parse(page.URL); err != nil {
		l.say(Unreachable, err.Error())
		return l.result(), nil
	}
	allowed, err := l.allowed(ctx, l.u)
	if err == nil && allowed {
		err = l.ask(ctx)
	}
	if err == nil && r.cfg.Update && l.told.State == Stale {
		err = l.update(ctx)
	}
	if page.Gone && l.told.State == Stale && l.got == nil {
		l.say(Gone, l.told.Reason) // only a page that came takes its mark away
	}
	if ctx.Err() != nil {
		return c, context.Cause(ctx)
	}
	return l.result(), err
}

// unasked gives a page whose host answers no more.
func (r *recheck) unasked(page crawldb.Page) finding {
	l := &looking{recheck: r, page: page, etag: page.ETag, modified: page.Modified}
	l.told.URL = page.URL
	l.say(Unreachable, "its host stopped answering")
	return l.result()
}

// looking is the look at one page.
type looking struct {
	*recheck
	page           crawldb.Page
	u              weburl.URL
	told           Checked
	etag, modified string          // of the content that is stored, as far as known
	got            *fetch.Response // the page whole, where it came
}

func (l *looking) say(state, reason string) { l.told.State, l.told.Reason = state, reason }

func (l *looking) result() finding {
	check := crawldb.Check{
		URL: l.page.URL, At: time.Now(), State: l.told.State, Status: l.told.Status, Reason: l.told.Reason,
		Root: l.page.Root, ETag: l.etag, Modified: l.modified,
	}
	switch {
	case l.told.Updated && check.State == Stale:
		check.State, check.Reason = Fresh, ""
	case l.page.Gone && check.State == Unreachable:
		check.State = Gone // nothing was learnt that would take the mark away
	}
	return finding{told: l.told, check: check}
}

// allowed asks robots.txt.
func (l *looking) allowed(ctx context.Context, u weburl.URL) (bool, error) {
	d, err := l.gate.admit(ctx, u)
	if err == nil && !d.Allowed {
		l.say(Unreachable, d.Reason)
	}
	return d.Allowed, err
}

// ask asks for the header where there is something to compare it by, and for
// the page where that says nothing. Whether a page that is marked as gone may be
// kept again, its text alone can say.
func (l *looking) ask(ctx context.Context) error {
	if l.page.Gone {
		l.etag, l.modified = "", ""
	}
	if l.etag != "" || l.modified != "" {
		resp, err := l.gate.Fetch(ctx, fetch.Request{URL: l.page.URL, ETag: l.etag, Modified: l.modified, Head: true})
		if said, err := l.header(resp, err); said || err != nil {
			return err
		}
	}
	resp, err := l.gate.Fetch(ctx, fetch.Request{URL: l.page.URL, ETag: l.etag, Modified: l.modified})
	return l.whole(ctx, resp, err)
}

// header judges the answer to a HEAD, and reports whether it says anything.
// Errors of the server may be about the method, and so may a 404 or a connection
// that it drops: a GET tells.
func (l *looking) header(resp fetch.Response, err error) (said bool, _ error) {
	var fe *fetch.Error
	switch {
	case errors.As(err, &fe) && fe.Dropped():
		return false, nil
	case fe != nil && (fe.Status == 0 || fe.Status == http.StatusTooManyRequests || fe.Status == http.StatusServiceUnavailable):
		l.failed(fe)
		return true, nil
	case fe != nil:
		return false, nil
	case err != nil:
		return false, err
	}
	l.told.Status = resp.Status
	switch {
	case resp.Status == http.StatusNotModified:
		l.unchanged(resp)
		return true, nil
	case resp.Location != "":
		l.moved(resp)
		return true, nil
	case resp.Status < 200 || resp.Status > 299:
		return false, nil
	}
	same, known := l.compare(resp)
	switch {
	case !known:
		return false, nil
	case same:
		l.unchanged(resp)
	default:
		l.say(Stale, "the server's validator is another one")
	}
	return true, nil
}

// unchanged is for a page whose header says that its text is the stored one.
func (l *looking) unchanged(resp fetch.Response) {
	l.say(Fresh, "")
	if noIndex, _ := l.finder().Robots(resp.RobotsTag); noIndex {
		l.say(Gone, noIndexed)
	}
}

// compare holds validators against those that are known: the stronger kind that
// both have.
func (l *looking) compare(resp fetch.Response) (same, known bool) {
	if l.etag != "" && resp.ETag != "" {
		return strings.TrimPrefix(l.etag, "W/") == strings.TrimPrefix(resp.ETag, "W/"), true
	}
	return l.modified == resp.Modified, l.modified != "" && resp.Modified != ""
}

// whole judges the answer to a GET.
func (l *looking) whole(ctx context.Context, resp fetch.Response, err error) error {
	var fe *fetch.Error
	if errors.As(err, &fe) {
		l.failed(fe)
		return nil
	}
	if err != nil {
		return err
	}
	l.told.Status = resp.Status
	switch {
	case resp.Status == http.StatusNotModified:
		l.unchanged(resp)
	case resp.Location != "":
		l.moved(resp)
	case resp.Status == http.StatusNotFound, resp.Status == http.StatusGone:
		l.say(Gone, statusText(resp.Status))
	case resp.Status < 200 || resp.Status > 299:
		l.say(Unreachable, statusText(resp.Status))
	case resp.Skipped != "":
		l.say(Stale, resp.Skipped)
	default:
		l.got = &resp
		return l.content(ctx, resp)
	}
	return nil
}

// content compares what a page says now with what is stored.
func (l *looking) content(ctx context.Context, resp fetch.Response) error {
	if l.forbidden(l.u, resp) {
		l.say(Gone, noIndexed)
		return nil
	}
	entry, err := entryOf(ctx, l.cfg.Crawl.Extract, rawOf(l.page.URL, resp))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		l.say(Stale, "it has no text any more: "+err.Error())
	case entry.Document.Root() == l.page.Root:
		l.say(Fresh, "")
		l.etag, l.modified = resp.ETag, resp.Modified
	default:
		l.say(Stale, "its content is another one")
	}
	return nil
}

func (l *looking) failed(fe *fetch.Error) {
	l.told.Status = fe.Status
	reason := fe.Reason
	if fe.Err != nil {
		reason += ": " + fe.Err.Error()
	}
	l.say(Unreachable, reason)
}

func (l *looking) moved(resp fetch.Response) {
	l.told.MovedTo = resp.Location
	l.say(Stale, fmt.Sprintf("it redirects to %.300s", resp.Location))
}

// rawOf gives a page as the pipeline takes it.
func rawOf(url string, resp fetch.Response) ingest.Raw {
	return ingest.Raw{Body: resp.Body, Location: document.Location{
		URI: url, Source: "crawl", FetchedAt: time.Now().UTC().Truncate(time.Second),
		ContentType: resp.ContentType, Status: resp.Status, ETag: resp.ETag, Modified: resp.Modified,
	}}
}

// update fetches a stale page again, unless it has come already, and stores it
// where its content is another one. What a redirect leads to is stored under
// its own address, and the old address marked.
func (l *looking) update(ctx context.Context) error {
	at, resp := l.u, l.got
	site := weburl.NewSite(l.u)
	for hops := 0; resp == nil; hops++ {
		if l.told.MovedTo != "" {
			to, ok := l.target(site, at)
			if !ok || hops == maxRedirects {
				return nil
			}
			at = to
			if allowed, err := l.allowed(ctx, at); err != nil || !allowed {
				return err
			}
		}
		got, err := l.gate.Fetch(ctx, fetch.Request{URL: at.String()})
		var fe *fetch.Error
		switch {
		case errors.As(err, &fe):
			l.failed(fe)
			return nil
		case err != nil:
			return err
		case got.Location != "":
			l.moved(got)
		case got.Status == http.StatusNotFound, got.Status == http.StatusGone:
			l.told.Status = got.Status
			l.say(Gone, statusText(got.Status))
			return nil
		case got.Status < 200 || got.Status > 299 || got.Skipped != "":
			return nil
		default:
			resp = &got
		}
	}
	return l.put(ctx, at, *resp)
}

// target gives where the latest redirect leads, if that is on the same site.
func (l *looking) target(site weburl.Site, from weburl.URL) (weburl.URL, bool) {
	to, err := l.parser.Parse(l.told.MovedTo)
	if err == nil {
		if adopted, ok := site.Adopt(to); ok && adopted != from {
			return adopted, true
		}
	}
	l.say(Gone, l.told.Reason+", which is on another host or leads nowhere")
	return weburl.URL{}, false
}

// put stores what a page says now.
func (l *looking) put(ctx context.Context, at weburl.URL, resp fetch.Response) error {
	if l.forbidden(at, resp) {
		l.say(Gone, noIndexed)
		return nil
	}
	entry, err := entryOf(ctx, l.cfg.Crawl.Extract, rawOf(at.String(), resp))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		l.say(Stale, "it has no text any more: "+err.Error())
		return nil
	}
	moved := at != l.u
	if moved || entry.Document.Root() != l.page.Root {
		outcomes, err := l.store.Put(ctx, []document.Entry{*entry})
		if err != nil {
			return err
		}
		l.told.Updated = !outcomes[0].Unchanged
	}
	switch {
	case moved:
		l.say(Gone, fmt.Sprintf("it moved to %.300s", at))
		return nil
	case !l.told.Updated:
		l.say(Fresh, "")
	}
	l.page.Root, l.etag, l.modified = entry.Document.Root(), resp.ETag, resp.Modified
	return nil
}

// noIndexed is why a page that asks not to be kept is gone.
const noIndexed = "it asks not to be kept (noindex)"

// finder reads what pages and their headers say to robots.
func (l *looking) finder() *links.Finder {
	return links.NewFinder(l.parser, token(l.cfg.Crawl.UserAgent), links.Limits{})
}

// forbidden reports whether a page asks not to be kept.
func (l *looking) forbidden(u weburl.URL, resp fetch.Response) bool {
	finder := l.finder()
	if isHTML(resp.ContentType, resp.Body) {
		return finder.Find(links.Page{URL: u, ContentType: resp.ContentType, Body: resp.Body, RobotsTag: resp.RobotsTag}).NoIndex
	}
	noIndex, _ := finder.Robots(resp.RobotsTag)
	return noIndex
}
