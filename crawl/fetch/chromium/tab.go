package chromium

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"arborist/crawl/fetch"
)

// A slot is the right to one tab. Its browser context, which is like a window
// in incognito mode, is kept from page to page for the sake of its cache.
type slot struct {
	proc    *process
	context cdp.BrowserContextID
}

// A tab renders one page.
type tab struct {
	b      *Browser
	slot   *slot
	proc   *process
	ctx    context.Context // of the tab
	cancel context.CancelFunc
	target *chromedp.Target
	frame  cdp.FrameID // the tab's own

	page    fetch.Shell
	gate    gate
	loaded  chan struct{}
	crashed chan struct{}
	load    sync.Once
	crash   sync.Once
}

// closeLimit is how long a tab may take to go before the browser is killed.
const closeLimit = 10 * time.Second

// open opens an empty tab in the slot's browser context.
func (b *Browser) open(ctx context.Context, p *process, s *slot) (*tab, error) {
	if s.proc != p || s.context == "" {
		made, err := chromedp.CallBrowser(p.ctx, target.CreateBrowserContext, target.CreateBrowserContextParams{
			ProxyServer: "http://" + b.proxy.Addr(), ProxyBypassList: "<-loopback>",
		})
		if err != nil {
			return nil, (&tab{proc: p}).why(err)
		}
		s.proc, s.context = p, made.BrowserContextID
		if _, err := chromedp.CallBrowser(p.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
			Behavior: browser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: s.context,
		}); err != nil {
			return nil, (&tab{proc: p}).why(err)
		}
	}
	t := &tab{b: b, slot: s, proc: p, loaded: make(chan struct{}), crashed: make(chan struct{})}
	t.ctx, t.cancel = chromedp.NewContext(p.ctx, chromedp.WithExistingBrowserContext(s.context), chromedp.WithListener(t.event))
	stop := context.AfterFunc(ctx, t.cancel)
	defer stop()
	if err := chromedp.Do(t.ctx); err != nil {
		err = t.why(err)
		t.close(false)
		return nil, err
	}
	t.target = chromedp.FromContext(t.ctx).Target
	t.frame = cdp.FrameID(t.target.TargetID) // a page's main frame has the ID of its target
	return t, nil
}

// why gives the reason of a failure that shows only as a lost connection.
func (t *tab) why(err error) error {
	if err == nil {
		return nil
	}
	if reason := t.proc.killed(); reason != nil {
		return reason
	}
	select {
	case <-t.crashed:
		return errCrashed
	default:
	}
	if t.proc.ctx.Err() != nil {
		return errCrashed
	}
	return err
}

// event is called for everything that the tab says, one at a time. It must not
// wait for the tab.
func (t *tab) event(ev any) {
	switch ev := ev.(type) {
	case *page.EventLoadEventFired:
		t.load.Do(func() { close(t.loaded) })
	case *inspector.EventTargetCrashed:
		t.crash.Do(func() { close(t.crashed) })
	case *page.EventJavascriptDialogOpening:
		t.gate.running.Go(func() {
			cdp.Call(t.ctx, t.target, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
		})
	default:
		t.gate.event(t, ev)
	}
}

// close closes the tab. Where the page was well-behaved its context is wiped
// and kept, else it is thrown away; where even that fails the browser is.
func (t *tab) close(sound bool) {
	ctx, cancel := context.WithTimeout(t.proc.ctx, closeLimit)
	defer cancel()
	if sound {
		if u, err := url.Parse(t.page.URL); err == nil {
			_, err = cdp.Call(ctx, t.target, storage.ClearDataForOrigin, storage.ClearDataForOriginParams{Origin: u.Scheme + "://" + u.Host, StorageTypes: "all"})
			sound = err == nil
		}
		if _, err := chromedp.CallBrowser(ctx, storage.ClearCookies, storage.ClearCookiesParams{BrowserContextID: t.slot.context}); err != nil {
			sound = false
		}
	}
	t.cancel()
	t.gate.close()
	if sound {
		return
	}
	id := t.slot.context
	t.slot.context = ""
	if _, err := chromedp.CallBrowser(ctx, target.DisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: id}); err != nil && t.proc.ctx.Err() == nil {
		t.proc.kill(fmt.Errorf("a page could not be closed: %w", err))
	}
}
