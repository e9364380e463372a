// Package fetchtest tests fetchers: [Run] is the contract suite that every
// [fetch.Fetcher] must pass, and beside it stand the servers that crawl tests
// need: a name server, a canary that nobody may reach, and raw HTTP answers
// that no HTTP library would send.
//
// Everything listens on loopback and stops with its test.
package fetchtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"arborist/crawl/egress"
	"arborist/crawl/fetch"
)

// Config is what the suite asks of the fetcher under test.
type Config struct {
	Guard   *egress.Guard
	MaxBody int64         // bytes
	Timeout time.Duration // of a page
}

// The limits that the suite runs with. Timeouts are real here, since a real
// connection cannot be on a fake clock: what is to run into one gets a short
// one, and everything else one that no loaded machine runs into.
const (
	maxBody  = 200 << 10
	patience = 2 * time.Minute
	short    = 700 * time.Millisecond
)

// Run holds a fetcher to the promises of package fetch. newFetcher makes one
// that stops with the test. What a body looks like is left to the fetcher (a
// browser gives back its own serialisation): only marks in it are looked for.
func Run(t *testing.T, newFetcher func(t testing.TB, cfg Config) fetch.Fetcher) {
	s := newSuite(t, newFetcher)
	t.Run("PageComesWithItsHeaders", s.page)
	t.Run("RedirectIsHandedBackResolved", s.redirects)
	t.Run("RetryAfterIsRead", s.retryAfter)
	t.Run("UnchangedPageIs304", s.unchanged)
	s.run(t)
}

// RunRemote is [Run] for a fetcher through which somebody else asks the site:
// the site's headers do not come through, and where the other side followed a
// redirect only its final target is known.
func RunRemote(t *testing.T, newFetcher func(t testing.TB, cfg Config) fetch.Fetcher) {
	s := newSuite(t, newFetcher)
	s.remote = true
	t.Run("PageComesWithoutItsHeaders", s.remotePage)
	t.Run("RedirectIsHandedBackByItsTarget", s.remoteRedirect)
	s.run(t)
}

func newSuite(t *testing.T, newFetcher func(t testing.TB, cfg Config) fetch.Fetcher) *suite {
	s := &suite{newFetcher: newFetcher, release: make(chan struct{})}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.server.Close)
	t.Cleanup(func() { close(s.release) })
	s.fetcher = newFetcher(t, Config{Guard: s.guard(), MaxBody: maxBody, Timeout: patience})
	return s
}

// run holds a fetcher to what every kind promises.
func (s *suite) run(t *testing.T) {
	t.Run("StatusHasItsClass", s.statuses)
	t.Run("UnwantedTypeIsSkipped", s.unwanted)
	t.Run("BodyOverTheLimitIsRefused", s.tooLarge)
	t.Run("SlowServerIsGivenUp", s.slow)
	t.Run("BrokenConnectionIsTransient", s.broken)
	t.Run("GuardedAddressIsNeverContacted", s.guarded)
	t.Run("CallerThatLeavesGetsItsOwnError", s.cancelled)
	t.Run("UnusableURLIsDenied", s.unusable)
	t.Run("ConcurrentFetchesDoNotMix", s.concurrent)
}

type suite struct {
	newFetcher func(t testing.TB, cfg Config) fetch.Fetcher
	fetcher    fetch.Fetcher
	server     *httptest.Server
	remote     bool
	release    chan struct{} // closed at the end: frees hanging handlers
}

func (s *suite) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	switch path, arg, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); path {
	case "page":
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		w.Header().Add("X-Robots-Tag", "noindex")
		w.Header().Add("X-Robots-Tag", "otherbot: nofollow")
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprintf(w, "<!DOCTYPE html><title>t</title><p>mark-%s</p>", arg)
	case "to":
		w.Header().Set("Location", r.URL.Query().Get("at"))
		w.WriteHeader(http.StatusFound)
	case "status":
		var code int
		fmt.Sscan(arg, &code)
		if v := r.URL.Query().Get("after"); v != "" {
			w.Header().Set("Retry-After", v)
		}
		w.WriteHeader(code)
		fmt.Fprint(w, "<p>said with the status</p>")
	case "type":
		w.Header().Set("Content-Type", arg)
		fmt.Fprint(w, "not for reading")
	case "large":
		line := strings.Repeat("<p>all work and no play</p>\n", 100)
		for n := 0; n < 10*maxBody; n += len(line) {
			if _, err := fmt.Fprint(w, line); err != nil {
				return
			}
		}
	case "hang":
		if arg == "body" {
			fmt.Fprint(w, "<p>so far")
			w.(http.Flusher).Flush()
		}
		select {
		case <-s.release:
		case <-r.Context().Done():
		}
	default:
		http.NotFound(w, r)
	}
}

// guard lets the suite's server be contacted, and nothing else.
func (s *suite) guard() *egress.Guard {
	return Allow(netip.MustParseAddrPort(strings.TrimPrefix(s.server.URL, "http://")))
}

func (s *suite) get(t *testing.T, path string) (fetch.Response, error) {
	t.Helper()
	return s.fetcher.Fetch(t.Context(), fetch.Request{URL: s.server.URL + path})
}

// wantError checks an error's type, class and that it names the URL.
func wantError(t *testing.T, what string, err error, class fetch.Class, url string) *fetch.Error {
	t.Helper()
	var e *fetch.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: error %v is no *fetch.Error", what, err)
		return &fetch.Error{}
	}
	if e.Class != class || e.URL != url || e.Reason == "" || fetch.ClassOf(err) != class {
		t.Errorf("%s: class %q, URL %q, reason %q; want %q, %q", what, e.Class, e.URL, e.Reason, class, url)
	}
	return e
}

func (s *suite) page(t *testing.T) {
	r, err := s.get(t, "/page/one?a=b#frag")
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != 200 || r.URL != s.server.URL+"/page/one?a=b#frag" || r.Location != "" || r.Skipped != "" || r.Truncated {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(string(r.Body), "mark-one") || !strings.HasPrefix(r.ContentType, "text/html") {
		t.Errorf("type %q, body %q", r.ContentType, r.Body)
	}
	if r.ETag != `"v1"` || r.Modified != "Mon, 02 Jan 2006 15:04:05 GMT" {
		t.Errorf("validators %q, %q", r.ETag, r.Modified)
	}
	if got := strings.Join(r.RobotsTag, "|"); got != "noindex|otherbot: nofollow" {
		t.Errorf("X-Robots-Tag %q", got)
	}
}

func (s *suite) remotePage(t *testing.T) {
	r, err := s.get(t, "/page/one?a=b")
	if err != nil || r.Status != 200 || !strings.Contains(string(r.Body), "mark-one") || !strings.HasPrefix(r.ContentType, "text/html") {
		t.Errorf("%+v, %v", r, err)
	}
}

func (s *suite) remoteRedirect(t *testing.T) {
	r, err := s.get(t, "/to?at=/page/two")
	if err != nil || r.Location != s.server.URL+"/page/two" || r.Status < 300 || r.Status > 399 || r.Body != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

func (s *suite) redirects(t *testing.T) {
	host := strings.TrimPrefix(s.server.URL, "http://")
	for at, want := range map[string]string{
		"/page/two":                       s.server.URL + "/page/two",
		"two?x=y%23z":                     s.server.URL + "/two?x=y%23z",
		"?q":                              s.server.URL + "/to?q",
		"/a/../b/./c%23frag":              s.server.URL + "/b/c%23frag",
		"//" + host + "/x":                "http://" + host + "/x",
		"\\\\" + host + "\\x":             "http://" + host + "/x",
		"http://other.example/y":          "http://other.example/y",
		"HTTPS://Other.Example:443/a%zz":  "https://other.example/a%zz",
		"http://0x7f000001/":              "http://127.0.0.1/",
		"http://169.254.169.254/metadata": "http://169.254.169.254/metadata",
		"http://[::ffff:127.0.0.1]/":      "http://[::ffff:7f00:1]/",
		"ftp://other.example/z":           "ftp://other.example/z",
		"":                                "",
		"http://":                         "",
		"http://exa mple/":                "",
	} {
		r, err := s.get(t, "/to?at="+escape(at))
		if err != nil || r.Status != 302 || r.Location != want || r.Body != nil {
			t.Errorf("redirect to %q: %d %q, body %q, %v; want %q", at, r.Status, r.Location, r.Body, err, want)
		}
	}
	// A fragment of the target is of no use to a crawler.
	if r, err := s.get(t, "/to?at="+escape("/page#x")); err != nil || r.Location != s.server.URL+"/page" {
		t.Errorf("%q, %v", r.Location, err)
	}
}

// escape writes a query value so that no client is tempted to clean it.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

func (s *suite) statuses(t *testing.T) {
	for code, class := range map[int]fetch.Class{
		401: fetch.Denied, 403: fetch.Denied, 451: fetch.Denied,
		408: fetch.Transient, 429: fetch.Transient, 500: fetch.Transient, 502: fetch.Transient, 503: fetch.Transient, 504: fetch.Transient,
	} {
		path := fmt.Sprintf("/status/%d", code)
		_, err := s.get(t, path)
		if e := wantError(t, path, err, class, s.server.URL+path); e.Status != code || !strings.Contains(e.Reason, fmt.Sprint(code)) {
			t.Errorf("%s: status %d, reason %q", path, e.Status, e.Reason)
		}
	}
	for _, code := range []int{400, 404, 405, 410} {
		r, err := s.get(t, fmt.Sprintf("/status/%d", code))
		if err != nil || r.Status != code || r.Body != nil {
			t.Errorf("status %d: %d, body %q, %v", code, r.Status, r.Body, err)
		}
	}
}

func (s *suite) retryAfter(t *testing.T) {
	path := "/status/503?after=120"
	_, err := s.get(t, path)
	if e := wantError(t, path, err, fetch.Transient, s.server.URL+path); e.RetryAfter != 2*time.Minute {
		t.Errorf("RetryAfter %v", e.RetryAfter)
	}
}

func (s *suite) unchanged(t *testing.T) {
	r, err := s.fetcher.Fetch(t.Context(), fetch.Request{URL: s.server.URL + "/page/one", ETag: `"v1"`})
	if err != nil || r.Status != 304 || r.Body != nil {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = s.fetcher.Fetch(t.Context(), fetch.Request{URL: s.server.URL + "/page/one", ETag: `"v0"`})
	if err != nil || r.Status != 200 || !strings.Contains(string(r.Body), "mark-one") {
		t.Errorf("%+v, %v", r, err)
	}
}

func (s *suite) unwanted(t *testing.T) {
	for _, kind := range []string{"image/png", "video/mp4", "audio/ogg", "IMAGE/GIF", "font/woff2", "application/zip"} {
		r, err := s.get(t, "/type/"+kind)
		if err != nil || r.Status != 200 || r.Body != nil || !strings.Contains(r.Skipped, strings.ToLower(kind)) {
			t.Errorf("%s: %+v, %v", kind, r, err)
		}
	}
}

func (s *suite) tooLarge(t *testing.T) {
	_, err := s.get(t, "/large")
	wantError(t, "large", err, fetch.ResourceLimit, s.server.URL+"/large")
}

func (s *suite) slow(t *testing.T) {
	f := s.newFetcher(t, Config{Guard: s.guard(), MaxBody: maxBody, Timeout: short})
	for _, where := range []string{"/hang/header", "/hang/body"} {
		start := time.Now()
		_, err := f.Fetch(t.Context(), fetch.Request{URL: s.server.URL + where})
		if e := wantError(t, where, err, fetch.Transient, s.server.URL+where); !strings.Contains(e.Reason, "timeout") {
			t.Errorf("%s: reason %q", where, e.Reason)
		}
		if took := time.Since(start); took > patience/2 {
			t.Errorf("%s took %v with a limit of %v", where, took, short)
		}
	}
}

func (s *suite) broken(t *testing.T) {
	for name, answer := range map[string]func(net.Conn, []string){
		"reset before the header":  func(c net.Conn, _ []string) { Drop(c) },
		"closed before the header": func(net.Conn, []string) {},
		"closed in the body": func(c net.Conn, _ []string) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<p>half")
		},
		"closed in a chunk": func(c net.Conn, _ []string) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n<p>half")
		},
	} {
		raw := NewRaw(t, answer)
		f := s.newFetcher(t, Config{Guard: Allow(raw.Addr), MaxBody: maxBody, Timeout: patience})
		_, err := f.Fetch(t.Context(), fetch.Request{URL: raw.URL + "/"})
		wantError(t, name, err, fetch.Transient, raw.URL+"/")
	}
	deaf := NewDeaf(t)
	f := s.newFetcher(t, Config{Guard: Allow(deaf), MaxBody: maxBody, Timeout: patience})
	_, err := f.Fetch(t.Context(), fetch.Request{URL: "http://" + deaf.String() + "/"})
	wantError(t, "nobody listens", err, fetch.Transient, "http://"+deaf.String()+"/")
}

// guarded asks for a canary directly and lets the site point at it in every
// way it can; its port is allowed, its address is not.
func (s *suite) guarded(t *testing.T) {
	canary := NewCanary(t, "127.0.0.5:0")
	page := fmt.Sprintf(`<!DOCTYPE html><meta http-equiv=refresh content="0;url=http://%[1]s/">
<link rel=stylesheet href="http://%[1]s/c"><img src="http://%[1]s/i"><script src="http://%[1]s/s"></script>
<iframe src="http://%[1]s/f"></iframe><p>mark</p>`, canary.Addr)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://"+canary.Addr.String()+"/", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, page)
	}))
	defer srv.Close()
	guard := Allow(srv.Listener.Addr().(*net.TCPAddr).AddrPort())
	guard.Ports = append(guard.Ports, canary.Addr.Port())
	f := s.newFetcher(t, Config{Guard: guard, MaxBody: maxBody, Timeout: patience})

	direct := "http://" + canary.Addr.String() + "/"
	_, err := f.Fetch(t.Context(), fetch.Request{URL: direct})
	wantError(t, "direct", err, fetch.Denied, direct)
	if !errors.Is(err, egress.ErrDenied) || !strings.Contains(err.Error(), "--allow-net 127.0.0.0/8") {
		t.Errorf("direct: %v does not say what would allow it", err)
	}
	paths := []string{"/away", "/page"}
	if s.remote {
		paths = paths[1:] // where the other side follows a redirect to is its own network
	}
	for _, path := range paths {
		if _, err := f.Fetch(t.Context(), fetch.Request{URL: srv.URL + path}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if n := canary.Hits(); n != 0 {
		t.Errorf("%d connections reached the canary", n)
	}
	// The canary is reachable, so the zero means something.
	open := s.newFetcher(t, Config{Guard: Allow(canary.Addr), MaxBody: maxBody, Timeout: patience})
	if _, err := open.Fetch(t.Context(), fetch.Request{URL: direct}); fetch.ClassOf(err) == fetch.Denied || canary.Hits() == 0 {
		t.Errorf("with its address allowed: %v, %d hits", err, canary.Hits())
	}
}

func (s *suite) cancelled(t *testing.T) {
	f := s.newFetcher(t, Config{Guard: s.guard(), MaxBody: maxBody, Timeout: patience})
	for _, path := range []string{"/hang/header", "/hang/body"} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		_, err := f.Fetch(ctx, fetch.Request{URL: s.server.URL + path})
		if !errors.Is(err, context.Canceled) || fetch.ClassOf(err) != "" {
			t.Errorf("%s: %v with class %q", path, err, fetch.ClassOf(err))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Fetch(ctx, fetch.Request{URL: s.server.URL + "/page/x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("context over before the call: %v", err)
	}
}

func (s *suite) unusable(t *testing.T) {
	for _, u := range []string{
		"", "/page", "page", "http://", "http:///page", "mailto:a@example.org", "ftp://example.org/", "file:///etc/passwd",
		"javascript:alert(1)", "data:text/html,x", "http://exa mple/", "http://[::1", "http://a:99999/", "http://user:secret@127.0.0.1/",
		s.server.URL + "/" + strings.Repeat("a", 1<<20),
	} {
		_, err := s.fetcher.Fetch(t.Context(), fetch.Request{URL: u})
		wantError(t, clip(u), err, fetch.Denied, u)
		if err != nil && (len(err.Error()) > 1000 || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: message of %d bytes: %s", clip(u), len(err.Error()), clip(err.Error()))
		}
	}
}

func clip(s string) string { return s[:min(len(s), 80)] }

func (s *suite) concurrent(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			r, err := s.get(t, fmt.Sprintf("/page/n%d.", i))
			if err != nil || !strings.Contains(string(r.Body), fmt.Sprintf("mark-n%d.", i)) {
				t.Errorf("fetch %d: %q, %v", i, r.Body, err)
			}
		})
	}
	wg.Wait()
}
