package chromium_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"arborist/crawl/fetch"
	"arborist/crawl/fetch/chromium"
	"arborist/crawl/fetch/fetchtest"
)

const shellPage = `<!DOCTYPE html><html><head><title>App</title><link rel=stylesheet href=/style.css></head>
<body><div id=root></div><noscript>Needs JavaScript.</noscript><img src=/picture.png><script src=/app.js></script></body></html>`

const shellScript = `addEventListener("load", async () => {
  const data = await (await fetch("/data.json")).json();
  document.title = data.title;
  setTimeout(() => {
    document.getElementById("root").innerHTML = "<h1>" + data.title + "</h1><p>" + data.text.repeat(60) + "</p>";
  }, 50);
})`

// One browser serves all of these pages, as in a crawl.
func TestPagesThatScriptsWrite(t *testing.T) {
	canary := fetchtest.NewCanary(t, "127.0.0.5:0")
	evasions := fmt.Sprintf(`<!DOCTYPE html><title>evil</title><body><p id=out>start</p>
<link rel=preconnect href="http://%[1]s/"><link rel=dns-prefetch href="//%[1]s"><link rel=prefetch href="http://%[1]s/pf">
<img src="http://%[1]s/i"><iframe src="http://%[1]s/f"></iframe><object data="http://%[1]s/o"></object><video src="http://%[1]s/v"></video>
<style>@import "http://%[1]s/css"; body { background: url(http://%[1]s/bg) } @font-face { font-family: x; src: url(http://%[1]s/font) } p { font-family: x }</style>
<form id=form action="http://%[1]s/form" method=post></form><script>
const at = "http://%[1]s/", tries = [
  () => fetch(at + "fetch", {mode: "no-cors"}), () => fetch(at + "post", {method: "POST", mode: "no-cors", keepalive: true}),
  () => fetch("/own", {method: "POST"}), () => fetch("/other", {method: "DELETE"}),
  () => navigator.sendBeacon(at + "beacon"), () => new WebSocket("ws://%[1]s/ws"), () => new EventSource(at + "es"), () => new EventSource("/own-es"),
  () => { const x = new XMLHttpRequest(); x.open("GET", at + "xhr"); x.send() }, () => window.open(at + "open"), () => window.open("/own-open"),
  () => new Worker("/worker.js"), () => new Worker(URL.createObjectURL(new Blob(["fetch('" + at + "worker', {mode: 'no-cors'})"]))),
  () => new WebTransport("https://%[1]s/wt"), () => navigator.serviceWorker.register("/worker.js"),
  () => { const p = new RTCPeerConnection({iceServers: [{urls: "stun:%[1]s"}, {urls: "turn:%[1]s?transport=tcp", username: "a", credential: "b"}]}); p.createDataChannel("x"); p.createOffer().then(o => p.setLocalDescription(o)) },
  () => { const f = document.createElement("iframe"); document.body.append(f); f.contentWindow.fetch(at + "frame", {mode: "no-cors"}); new f.contentWindow.WebSocket("ws://%[1]s/fws"); new f.contentWindow.RTCPeerConnection({iceServers: [{urls: "turn:%[1]s?transport=tcp", username: "a", credential: "b"}]}) },
  () => { const a = document.createElement("a"); a.href = "/own-download"; a.download = "x"; a.click() },
  () => import(at + "module.js"), () => document.getElementById("form").submit(), () => alert("stop"), () => { location.href = at + "away" }, () => { location.href = "/own-away" },
];
for (const f of tries) { try { const p = f(); if (p && p.catch) p.catch(() => {}) } catch {} }
document.getElementById("out").textContent = "tried all";
</script>`, canary.Addr)
	s := newSite(t, map[string]string{
		"/app": shellPage, "/app.js": shellScript, "/data.json": `{"title": "Written", "text": "by a script. "}`,
		"/evil": evasions, "/worker.js": "",
		"/hang":     `<!DOCTYPE html><p>` + strings.Repeat("before ", 50) + `</p><script>for (;;) {}</script>`,
		"/large":    `<!DOCTYPE html><p id=p></p><script>document.getElementById("p").textContent = "x".repeat(300000)</script>`,
		"/static":   "<!DOCTYPE html>\n<p>plain &amp; simple, no script</p>",
		"/x.xhtml":  `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body><p>strict<br/>syntax</p></body></html>`,
		"/storage":  `<!DOCTYPE html><p id=p>none</p><script>document.getElementById("p").textContent = "found: " + localStorage.getItem("k") + document.cookie; localStorage.setItem("k", "kept"); document.cookie = "k=kept"</script>`,
		"/override": `<!DOCTYPE html><p>truth</p><script>document.getElementsByTagName = () => { throw 1 }; XMLSerializer = null; Object.defineProperty(Element.prototype, "outerHTML", {get: () => "a lie"})</script>`,
	})
	f := s.fetcher(t, chromium.Config{MaxBody: 200 << 10, Tabs: 1}, true)
	get := func(t *testing.T, path string, parts func(context.Context, string) error) (fetch.Response, error) {
		t.Helper()
		return f.Fetch(t.Context(), fetch.Request{URL: s.URL + path, Parts: parts})
	}
	t.Run("ShellIsRendered", func(t *testing.T) {
		r, err := get(t, "/app", nil)
		if err != nil || !r.Rendered || !strings.Contains(string(r.Body), "<h1>Written</h1><p>by a script. by") || fetch.IsShell(r.Body) {
			t.Errorf("%s, %v", r.Body, err)
		}
		if got := s.requests(); !slices.Equal(got, []string{"GET /app", "GET /app.js", "GET /data.json"}) {
			t.Errorf("asked for %q; want the page once, its script and data, no style and no picture", got)
		}
		if _, err := get(t, "/app", nil); err != nil {
			t.Error(err)
		}
	})
	t.Run("RuleForPartsIsObeyed", func(t *testing.T) {
		s.requests()
		r, err := get(t, "/app", func(_ context.Context, url string) error {
			if strings.HasSuffix(url, "/data.json") {
				return errors.New("robots.txt says no")
			}
			return nil
		})
		if err != nil || strings.Contains(string(r.Body), "Written") || slices.Contains(s.requests(), "GET /data.json") {
			t.Errorf("%s, %v", r.Body, err)
		}
	})
	t.Run("NothingElseLeaves", func(t *testing.T) {
		s.requests()
		r, err := get(t, "/evil", nil)
		if err != nil || !strings.Contains(string(r.Body), "tried all") {
			t.Errorf("%s, %v", r.Body, err)
		}
		if got := s.requests(); !slices.Equal(got, []string{"GET /evil"}) {
			t.Errorf("asked for %q", got)
		}
		if canary.Hits() != 0 {
			t.Errorf("%d connections reached another host", canary.Hits())
		}
	})
	t.Run("PageThatHangsFailsAlone", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := f.Fetch(ctx, fetch.Request{URL: s.URL + "/hang"}); !errors.Is(err, context.DeadlineExceeded) || fetch.ClassOf(err) != "" {
			t.Errorf("%v with class %q; want the caller's own end", err, fetch.ClassOf(err))
		}
		// There is one tab alone: the next page needs it back.
		if r, err := get(t, "/static", nil); err != nil || !r.Rendered {
			t.Error(err)
		}
	})
	t.Run("RenderedPageHasTheSizeLimit", func(t *testing.T) {
		if _, err := get(t, "/large", nil); fetch.ClassOf(err) != fetch.ResourceLimit || !errors.Is(err, fetch.ErrTooLarge) {
			t.Error(err)
		}
	})
	t.Run("SyntaxOfThePageIsKept", func(t *testing.T) {
		r, err := get(t, "/static", nil)
		if want := "<!DOCTYPE html>\n<html><head></head><body><p>plain &amp; simple, no script</p></body></html>"; err != nil || string(r.Body) != want || r.ContentType != "text/html; charset=utf-8" {
			t.Errorf("%q %q, %v", r.ContentType, r.Body, err)
		}
		r, err = get(t, "/x.xhtml", nil)
		if err != nil || !strings.Contains(string(r.Body), "strict<br />syntax") || r.ContentType != "application/xhtml+xml; charset=utf-8" {
			t.Errorf("%q %q, %v", r.ContentType, r.Body, err)
		}
	})
	t.Run("PagesShareNoStorage", func(t *testing.T) {
		for range 2 {
			if r, err := get(t, "/storage", nil); err != nil || !strings.Contains(string(r.Body), "found: null<") {
				t.Errorf("%s, %v", r.Body, err)
			}
		}
	})
	t.Run("ScriptsCannotChangeWhatIsTaken", func(t *testing.T) {
		if r, err := get(t, "/override", nil); err != nil || !strings.Contains(string(r.Body), "<p>truth</p>") {
			t.Errorf("%s, %v", r.Body, err)
		}
	})
}

// A crawl in mode auto renders what needs it, and only that.
func TestOnlyShellsAreRendered(t *testing.T) {
	s := newSite(t, map[string]string{"/page": "<!DOCTYPE html><p>" + strings.Repeat("enough text ", 40) + "</p><script src=/app.js></script>"})
	f := fetch.NewRendered(fetch.NewHTTP(fetch.HTTPConfig{Guard: fetchtest.Allow(s.Listener.Addr().(*net.TCPAddr).AddrPort())}), noBrowser{}, false, nil)
	r, err := f.Fetch(t.Context(), fetch.Request{URL: s.URL + "/page"})
	if err != nil || r.Rendered || !strings.HasPrefix(string(r.Body), "<!DOCTYPE html><p>enough") {
		t.Errorf("%s, %v", r.Body, err)
	}
}

type noBrowser struct{}

func (noBrowser) Render(context.Context, fetch.Shell) ([]byte, error) {
	return nil, errors.New("rendered, although there was no need")
}
