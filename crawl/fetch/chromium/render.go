package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdpfetch "github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"arborist/crawl/fetch"
)

const (
	look  = 50 * time.Millisecond  // between two looks at the page
	quiet = 300 * time.Millisecond // without a change, after which a page is finished
	more  = 2 * time.Second        // that one which still looks like a shell is given
)

// without takes away what could reach the network beside the gate. The policy
// forbids most of it as well.
const without = `for (const k of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport", "WebSocket", "WebSocketStream", "EventSource",
"Worker", "SharedWorker", "open"]) { try { delete globalThis[k] } catch {} }
try { delete Navigator.prototype.serviceWorker; delete Navigator.prototype.sendBeacon } catch {}`

// render gives the page to the tab, waits until it has settled and takes its
// document.
func (t *tab) render(ctx context.Context, shell fetch.Shell) ([]byte, error) {

	t.page = shell
	if err := t.prepare(ctx); err != nil {
		return nil, err
	}
	nav, err := cdp.Call(ctx, t.target, page.Navigate, page.NavigateParams{URL: shell.URL})
	if err != nil {
		return nil, err
	}
	if nav.ErrorText != "" {
		return nil, fmt.Errorf("the browser says %.100s", nav.ErrorText)
	}
	// A world of our own: the page's scripts cannot change what is asked here.
	world, err := cdp.Call(ctx, t.target, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: t.frame, WorldName: "arborist"})
	if err != nil {
		return nil, err
	}
	if err := t.settle(ctx, world.ExecutionContextID); err != nil {
		return nil, err
	}
	return t.document(ctx, world.ExecutionContextID)
}

// prepare sets up the tab before the page comes.
func (t *tab) prepare(ctx context.Context) error {
	_, err := cdp.Call(ctx, t.target, cdpfetch.Enable, cdpfetch.EnableParams{
		Patterns: []*cdpfetch.RequestPattern{{URLPattern: "*", RequestStage: cdpfetch.RequestStageRequest}},
	})
	if err != nil {
		return err
	}
	if _, err := cdp.Call(ctx, t.target, network.SetBypassServiceWorker, network.SetBypassServiceWorkerParams{Bypass: true}); err != nil {
		return err
	}
	if _, err := cdp.Call(ctx, t.target, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: t.b.cfg.UserAgent}); err != nil {
		return err
	}
	_, err = cdp.Call(ctx, t.target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: without})
	return err
}

// settle waits until the page is loaded, nothing of it is on its way and it has
// not changed for a moment. One that looks like a shell even then may be
// waiting for a timer, and is given more time. In the end it has had its time.
func (t *tab) settle(ctx context.Context, world runtime.ExecutionContextID) error {
	over := time.NewTimer(t.b.cfg.Settle)
	defer over.Stop()
	select {
	case <-t.loaded:
	case <-over.C:
		return nil
	case <-t.crashed:
		return errCrashed
	case <-ctx.Done():
		return ctx.Err()
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	var last string
	begun := time.Now()
	since := begun
	for {
		now, err := evaluate[string](ctx, t, world, `[document.getElementsByTagName("*").length, document.documentElement?.textContent.length, document.title].join()`)
		if err != nil {
			return err
		}
		if now != last || t.gate.busy() {
			last, since = now, time.Now()
		}
		if time.Since(since) >= quiet {
			html, err := t.document(ctx, world)
			if err != nil || time.Since(begun) > more || !fetch.IsShell(html) {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-over.C:
			return nil
		case <-t.crashed:
			return errCrashed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// document takes the page's document as it is now.
func (t *tab) document(ctx context.Context, world runtime.ExecutionContextID) ([]byte, error) {
	type taken struct {
		HTML string `json:"html"`
		Size int64  `json:"size"`
	}
	doc, err := evaluate[taken](ctx, t, world, fmt.Sprintf(`(() => {
const root = document.documentElement;
if (!root) return {html: "", size: 0};
const xml = document.contentType !== "text/html", s = new XMLSerializer();
const html = xml ? s.serializeToString(document) : (document.doctype ? s.serializeToString(document.doctype) + "\n" : "") + root.outerHTML;
return html.length > %d ? {html: "", size: html.length} : {html, size: html.length};
})()`, t.b.cfg.MaxBody))
	switch {
	case err != nil:
		return nil, err
	case doc.Size > t.b.cfg.MaxBody:
		return nil, tooLarge(t.b.cfg.MaxBody)
	case doc.HTML == "":
		return nil, errors.New("the page has no document")
	}
	return []byte(doc.HTML), nil
}

// evaluate runs an expression of ours beside the page.
func evaluate[T any](ctx context.Context, t *tab, world runtime.ExecutionContextID, expression string) (v T, err error) {
	yes := true
	got, err := cdp.Call(ctx, t.target, runtime.Evaluate, runtime.EvaluateParams{
		Expression: expression, ContextID: world, ReturnByValue: &yes, Silent: &yes,
	})
	switch {
	case err != nil:
		return v, err
	case got.ExceptionDetails != nil:
		return v, fmt.Errorf("look at the page: %.100s", got.ExceptionDetails.Text)
	}
	if err := json.Unmarshal(got.Result.Value, &v); err != nil {
		return v, fmt.Errorf("look at the page: %w", err)
	}
	return v, nil
}
