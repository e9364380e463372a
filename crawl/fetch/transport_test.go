package fetch_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"arborist/crawl/egress"
	"arborist/crawl/fetch"
	"arborist/crawl/fetch/fetchtest"
)

func TestRequestSaysWhoAsksAndForWhat(t *testing.T) {
	var got http.Header
	f, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		w.Header().Set("Set-Cookie", "session=1")
	}, fetch.HTTPConfig{UserAgent: fetch.UserAgent("1.2", "https://arborist.example/bot")})
	for range 2 { // a cookie of the first answer does not come back
		if _, err := f.Fetch(t.Context(), fetch.Request{URL: base, ETag: `W/"a"`, Modified: "Mon, 02 Jan 2006 15:04:05 GMT"}); err != nil {
			t.Fatal(err)
		}
	}
	for k, want := range map[string]string{
		"User-Agent":        "Arborist/1.2 (+https://arborist.example/bot)",
		"If-None-Match":     `W/"a"`,
		"If-Modified-Since": "Mon, 02 Jan 2006 15:04:05 GMT",
		"Cookie":            "", "Referer": "", "Authorization": "",
	} {
		if got.Get(k) != want {
			t.Errorf("%s: %q, want %q", k, got.Get(k), want)
		}
	}
	if !strings.HasPrefix(got.Get("Accept"), "text/html") {
		t.Errorf("Accept: %q", got.Get("Accept"))
	}
	for _, c := range [][3]string{{"", "", "Arborist"}, {"2", "", "Arborist/2"}, {"", "https://x", "Arborist (+https://x)"}} {
		if ua := fetch.UserAgent(c[0], c[1]); ua != c[2] {
			t.Errorf("UserAgent(%q, %q) = %q", c[0], c[1], ua)
		}
	}
}

// A validator that came from a page must not be able to add header lines.
func TestValidatorCannotSmuggleAHeader(t *testing.T) {
	f, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Evil") != "" {
			t.Error("a header was smuggled in")
		}
	}, fetch.HTTPConfig{})
	_, err := f.Fetch(t.Context(), fetch.Request{URL: base, ETag: "\"a\"\r\nX-Evil: 1"})
	var e *fetch.Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("%v", err)
	}
}

// The request line carries what the URL says, also where net/url cannot.
func TestTargetGoesOutAsWritten(t *testing.T) {
	for path, want := range map[string]string{
		"":                       "/",
		"?":                      "/?",
		"/a%zz":                  "/a%zz",
		"/a%zz?b=%zz":            "/a%zz?b=%zz",
		"//a%zz":                 "//a%zz",
		"//evil.example/x":       "//evil.example/x",
		"/%2e%2E/b":              "/b",
		"/a/../../b":             "/b",
		"/a%2Fb%2fc":             "/a%2Fb%2fc",
		"/a b\"<>`{}|^":          "/a%20b%22%3C%3E%60%7B%7D|^",
		"/straße/木?ü=木":          "/stra%C3%9Fe/%E6%9C%A8?%C3%BC=%E6%9C%A8",
		"\\a\\b":                 "/a/b",
		"/a\n\tb":                "/ab",
		"/a;b=c!$&'()*+,;=:@-._": "/a;b=c!$&'()*+,;=:@-._",
		"/a?b?c/d#frag":          "/a?b?c/d",
		"/*":                     "/*",
		"/%":                     "/%",
		"/a%00b":                 "/a%00b",
	} {
		f, base := raw(t, fetch.HTTPConfig{}, func(c net.Conn, header []string) {
			fmt.Fprintf(c, "%s\r\n%s", okHTML, header[0])
		})
		base = strings.TrimSuffix(base, "/")
		// Two slashes at the front go out in the absolute form, which every
		// server has to take, where net/url cannot write them.
		want := map[bool]string{true: base + want, false: want}[strings.HasPrefix(want, "//a%zz")]
		r, err := f.Fetch(t.Context(), fetch.Request{URL: base + path})
		if err != nil || string(r.Body) != "GET "+want+" HTTP/1.1" {
			t.Errorf("%q: %q, %v; want %q", path, r.Body, err, want)
		}
	}
}

func TestHTTP2IsSpoken(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, r.Proto, " ", r.URL.Path)
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	f := newHTTP(t, fetch.HTTPConfig{Guard: fetchtest.Allow(addrOf(srv)), Roots: roots(srv)})
	r, err := f.Fetch(t.Context(), fetch.Request{URL: srv.URL + "/x"})
	if err != nil || string(r.Body) != "HTTP/2.0 /x" {
		t.Errorf("%q, %v", r.Body, err)
	}
}

func TestHTTP2LimitsHold(t *testing.T) {
	release := make(chan struct{})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		switch r.URL.Path {
		case "/header":
			for i := range 400 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("y", 1000))
			}
		case "/body":
			for range 1000 {
				if _, err := io.WriteString(w, strings.Repeat("y", 64<<10)); err != nil {
					return
				}
			}
		case "/hang":
			w.(http.Flusher).Flush()
			select {
			case <-release:
			case <-r.Context().Done():
			}
		case "/abort":
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	srv.Config.ErrorLog = quiet()
	defer srv.Close()
	defer close(release)
	f := newHTTP(t, fetch.HTTPConfig{Guard: fetchtest.Allow(addrOf(srv)), MaxBody: 1 << 20, Roots: roots(srv)})
	for path, class := range map[string]fetch.Class{
		// The HTTP/2 client drops a connection whose header goes on after the
		// limit without saying why: any class, as long as it ends.
		"/header": "", "/body": fetch.ResourceLimit, "/hang": fetch.Transient, "/abort": fetch.Transient,
	} {
		req := fetch.Request{URL: srv.URL + path}
		if path == "/hang" {
			req.Timeout = 300 * time.Millisecond
		}
		if r, err := f.Fetch(t.Context(), req); err == nil || class != "" && fetch.ClassOf(err) != class {
			t.Errorf("%s: %d bytes, %v; want %q", path, len(r.Body), err, class)
		}
	}
}

func TestCertificateThatDoesNotVerifyIsDenied(t *testing.T) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	srv.Config.ErrorLog = quiet()
	defer srv.Close()
	f := newHTTP(t, fetch.HTTPConfig{Guard: fetchtest.Allow(addrOf(srv))})
	_, err := f.Fetch(t.Context(), fetch.Request{URL: srv.URL})
	if fetch.ClassOf(err) != fetch.Denied || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown issuer: %v", err)
	}
	// Known issuer, other name.
	dns := fetchtest.NewDNS(t, loopback)
	g := newHTTP(t, fetch.HTTPConfig{Guard: fetchtest.Allow(addrOf(srv)), Roots: roots(srv), Resolver: dns.Resolver()})
	_, err = g.Fetch(t.Context(), fetch.Request{URL: "https://other.test:" + port(srv)})
	var host *tls.CertificateVerificationError
	if fetch.ClassOf(err) != fetch.Denied || !errors.As(err, &host) {
		t.Errorf("other name: %v", err)
	}
}

// The standard library reads the environment once per process, so the test
// runs itself again in one that has a proxy from the start.
func TestProxyOfTheEnvironmentIsIgnored(t *testing.T) {
	proxy := os.Getenv("TEST_PROXY")
	if proxy == "" {
		canary := fetchtest.NewCanary(t, "127.0.0.1:0")
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyOfTheEnvironmentIsIgnored$", "-test.count=1")
		cmd.Env = append(os.Environ(), "TEST_PROXY="+canary.Addr.String(), "NO_PROXY=", "no_proxy=")
		for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
			cmd.Env = append(cmd.Env, name+"=http://"+canary.Addr.String())
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		if n := canary.Hits(); n != 0 {
			t.Errorf("%d connections reached the proxy", n)
		}
		return
	}
	dns := fetchtest.NewDNS(t, loopback)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "direct") }))
	defer srv.Close()
	guard := fetchtest.Allow(addrOf(srv), netip.MustParseAddrPort(proxy))
	f := newHTTP(t, fetch.HTTPConfig{Guard: guard, Resolver: dns.Resolver()})
	// A name: the standard library never uses a proxy for localhost.
	r, err := f.Fetch(t.Context(), fetch.Request{URL: "http://site.test:" + port(srv)})
	if err != nil || string(r.Body) != "direct" {
		t.Errorf("%q, %v", r.Body, err)
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	var conns atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(fetchtest.Gzip([]byte(strings.Repeat("page ", 10000))))
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	f := newHTTP(t, fetch.HTTPConfig{Guard: fetchtest.Allow(addrOf(srv))})
	for range 50 {
		if _, err := f.Fetch(t.Context(), fetch.Request{URL: srv.URL}); err != nil {
			t.Fatal(err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("50 pages one after the other took %d connections", n)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				if _, err := f.Fetch(t.Context(), fetch.Request{URL: srv.URL}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := conns.Load(); n > 60 {
		t.Errorf("200 pages, eight at a time, took %d connections", n)
	}
}

func loopback(string, int) fetchtest.Answer {
	return fetchtest.Answer{Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}
}

func port(srv *httptest.Server) string { return fmt.Sprint(addrOf(srv).Port()) }

func TestNameErrorsHaveTheirClass(t *testing.T) {
	dns := fetchtest.NewDNS(t, func(name string, _ int) fetchtest.Answer {
		switch name {
		case "gone.test":
			return fetchtest.Answer{Code: dnsmessage.RCodeNameError}
		case "broken.test":
			return fetchtest.Answer{Code: dnsmessage.RCodeServerFailure}
		case "refused.test":
			return fetchtest.Answer{Code: dnsmessage.RCodeRefused}
		}
		return fetchtest.Answer{} // the name is there, without an address
	})
	f := newHTTP(t, fetch.HTTPConfig{Resolver: dns.Resolver()})
	for name, class := range map[string]fetch.Class{
		"gone.test": fetch.Denied, "empty.test": fetch.Denied, "broken.test": fetch.Transient, "refused.test": fetch.Transient,
	} {
		_, err := f.Fetch(t.Context(), fetch.Request{URL: "http://" + name + "/"})
		if fetch.ClassOf(err) != class || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v; want %q", name, err, class)
		}
	}
}

// Threat 22 through the whole fetcher: what a name resolved to for one page
// says nothing about the next connection.
func TestRebindingNameIsRefusedOnTheNextConnection(t *testing.T) {
	canary := fetchtest.NewCanary(t, "127.0.0.1:0")
	ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.2:%d", canary.Addr.Port()))
	if err != nil {
		t.Skip(err)
	}
	srv := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "the public page")
	})}}
	srv.Start()
	defer srv.Close()
	dns := fetchtest.NewDNS(t, func(_ string, nth int) fetchtest.Answer {
		return fetchtest.Answer{Addrs: []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, byte(2 - min(nth, 1))})}}
	})
	guard := &egress.Guard{Nets: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, Ports: []uint16{canary.Addr.Port()}}
	f := newHTTP(t, fetch.HTTPConfig{Guard: guard, Resolver: dns.Resolver()})
	url := fmt.Sprintf("http://rebind.test:%d/", canary.Addr.Port())
	if r, err := f.Fetch(t.Context(), fetch.Request{URL: url}); err != nil || string(r.Body) != "the public page" {
		t.Fatalf("%q, %v", r.Body, err)
	}
	for range 3 {
		if _, err := f.Fetch(t.Context(), fetch.Request{URL: url}); fetch.ClassOf(err) != fetch.Denied || !errors.Is(err, egress.ErrDenied) {
			t.Errorf("after the change: %v", err)
		}
	}
	if n := canary.Hits(); n != 0 {
		t.Errorf("%d connections reached the private address", n)
	}
}

// quiet keeps a test server's complaints about us out of the output.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// roots gives the authorities that vouch for a test server.
func roots(srv *httptest.Server) *x509.CertPool {
	return srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
}
