package chromium

import (
	"cmp"
	"errors"
	"net/url"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
)

// maxParts is how many parts of one page are asked for.
const maxParts = 200

// policy is sent with every page. It forbids in the page's own terms what the
// gate would refuse, workers and frames above all: their requests do not all
// come by the gate.
const policy = "default-src 'none'; script-src * 'unsafe-inline' 'unsafe-eval' data: blob:; style-src * 'unsafe-inline' data: blob:; " +
	"connect-src http: https: data: blob:; worker-src 'none'; frame-src 'none'; child-src 'none'; object-src 'none'; form-action 'none'; webrtc 'block'"

// A gate judges every request of a tab before it is made.
type gate struct {
	mu      sync.Mutex
	served  bool // the page itself was handed over
	parts   int
	flying  map[network.RequestID]bool // asked for and not answered yet
	revokes []func()                   // of the proxy
	closed  bool
	running sync.WaitGroup
}

func (g *gate) event(t *tab, ev any) {
	switch ev := ev.(type) {
	case *fetch.EventRequestPaused:
		g.running.Go(func() { g.judge(t, ev) })
	case *network.EventLoadingFinished:
		g.landed(ev.RequestID)
	case *network.EventLoadingFailed:
		g.landed(ev.RequestID)
	}
}

func (g *gate) landed(id network.RequestID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.flying, id)
}

// busy reports whether parts of the page are on their way.
func (g *gate) busy() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.flying) > 0
}

// close takes back what the proxy was told to let through.
func (g *gate) close() {
	g.running.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, revoke := range g.revokes {
		revoke()
	}
	g.revokes = nil
}

// judge answers one paused request. Where the tab is gone by then, so is the
// request.
func (g *gate) judge(t *tab, ev *fetch.EventRequestPaused) {
	switch {
	case ev.ResourceType == network.ResourceTypeDocument && ev.FrameID == t.frame && g.serve():
		g.fulfill(t, ev, t.page.Body, t.page.ContentType)
	case ev.ResourceType == network.ResourceTypeDocument:
		// Aborted, not blocked: a blocked navigation would leave an error page
		// in place of the page.
		g.fail(t, ev, network.ErrorReasonAborted)
	case ev.ResourceType == network.ResourceTypeStylesheet:
		g.fulfill(t, ev, nil, "text/css")
	case g.admit(t, ev) != nil:
		g.fail(t, ev, network.ErrorReasonBlockedByClient)
	default:
		cdp.Call(t.ctx, t.target, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: ev.RequestID})
	}
}

// serve reports, once, that the page is to be handed over.
func (g *gate) serve() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	first := !g.served
	g.served = true
	return first
}

var errNotWanted = errors.New("not needed for the text of a page")

// admit decides whether a part of the page may be asked for.
func (g *gate) admit(t *tab, ev *fetch.EventRequestPaused) error {
	switch ev.ResourceType {
	case network.ResourceTypeScript, network.ResourceTypeXHR, network.ResourceTypeFetch:
	default:
		return errNotWanted
	}
	u, err := url.Parse(ev.Request.URL)
	if err != nil || ev.Request.Method != "GET" || u.Scheme != "http" && u.Scheme != "https" {
		return errNotWanted
	}
	if err := t.page.Parts(t.ctx, ev.Request.URL); err != nil {
		return err
	}
	revoke, err := t.b.proxy.Let(u)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.parts++; g.parts > maxParts || t.ctx.Err() != nil {
		revoke()
		return errNotWanted
	}
	g.revokes = append(g.revokes, revoke)
	if ev.NetworkID != "" {
		if g.flying == nil {
			g.flying = map[network.RequestID]bool{}
		}
		g.flying[ev.NetworkID] = true
	}
	return nil
}

func (g *gate) fulfill(t *tab, ev *fetch.EventRequestPaused, body []byte, contentType string) {
	cdp.Call(t.ctx, t.target, fetch.FulfillRequest, fetch.FulfillRequestParams{
		RequestID: ev.RequestID, ResponseCode: 200, Body: body,
		ResponseHeaders: []*fetch.HeaderEntry{
			{Name: "Content-Type", Value: cmp.Or(contentType, "text/html")},
			{Name: "Content-Security-Policy", Value: policy},
			{Name: "X-Content-Type-Options", Value: "nosniff"},
			{Name: "Access-Control-Allow-Origin", Value: "*"},
		},
	})
}

func (g *gate) fail(t *tab, ev *fetch.EventRequestPaused, reason network.ErrorReason) {
	cdp.Call(t.ctx, t.target, fetch.FailRequest, fetch.FailRequestParams{RequestID: ev.RequestID, ErrorReason: reason})
}
