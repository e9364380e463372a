package egress_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"arborist/crawl/egress"
)

func startProxy(t *testing.T, cfg egress.ProxyConfig) *egress.Proxy {
	t.Helper()
	p, err := egress.NewProxy(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func let(t *testing.T, p *egress.Proxy, raw string) func() {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	revoke, err := p.Let(u)
	if err != nil {
		t.Fatal(err)
	}
	return revoke
}

// through gives a client that uses the proxy for everything.
func through(t *testing.T, p *egress.Proxy) *http.Client {
	tr := &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: p.Addr()}),
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func guardFor(servers ...*httptest.Server) *egress.Guard {
	g := &egress.Guard{}
	for _, s := range servers {
		at := s.Listener.Addr().(*net.TCPAddr).AddrPort()
		g.Nets, g.Ports = append(g.Nets, netip.PrefixFrom(at.Addr(), 32)), append(g.Ports, at.Port())
	}
	return g
}

func TestProxyPassesWhatWasLetThrough(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cookie") != "" || r.Header.Get("Proxy-Authorization") != "" {
			t.Errorf("%s: headers %v went out", r.URL, r.Header)
		}
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("X-Kept", "yes")
		fmt.Fprint(w, "hello ", r.Method)
	})
	plain := httptest.NewServer(answer)
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello tls") }))
	defer secure.Close()
	p := startProxy(t, egress.ProxyConfig{Guard: guardFor(plain, secure)})
	client := through(t, p)

	get := func(method, address string) (int, string) {
		t.Helper()
		req, _ := http.NewRequest(method, address, nil)
		req.Header.Set("Cookie", "secret=1")
		resp, err := client.Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		if resp.StatusCode == 200 && strings.HasPrefix(address, "http:") && (resp.Header.Get("Set-Cookie") != "" || resp.Header.Get("X-Kept") != "yes") {
			t.Errorf("headers %v came back", resp.Header)
		}
		return resp.StatusCode, string(b)
	}
	if code, _ := get("GET", plain.URL); code != http.StatusForbidden {
		t.Errorf("before Let: %d", code)
	}
	if code, said := get("GET", secure.URL); code != 0 || !strings.Contains(said, "Forbidden") {
		t.Errorf("tunnel before Let: %d %s", code, said)
	}
	revoke := let(t, p, plain.URL+"/some/page")
	again := let(t, p, plain.URL)
	let(t, p, secure.URL)
	if code, said := get("GET", plain.URL+"/x"); code != 200 || said != "hello GET" {
		t.Errorf("%d %q", code, said)
	}
	if code, said := get("GET", secure.URL+"/x"); code != 200 || said != "hello tls" {
		t.Errorf("%d %q", code, said)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		if code, _ := get(method, plain.URL); code != http.StatusForbidden {
			t.Errorf("%s: %d", method, code)
		}
	}
	revoke()
	revoke() // a second time changes nothing
	if code, _ := get("GET", plain.URL); code != 200 {
		t.Errorf("revoked once of twice: %d", code)
	}
	again()
	if code, _ := get("GET", plain.URL); code != http.StatusForbidden {
		t.Errorf("revoked: %d", code)
	}
	if p.Denied() == 0 {
		t.Error("nothing was counted as denied")
	}
}

// An origin that was let through is still dialled under the guard, and a
// tunnel to an http origin, which a socket would ask for, is refused.
func TestProxyKeepsTheGuard(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.Error("reached") }))
	defer srv.Close()
	at := srv.Listener.Addr().(*net.TCPAddr).AddrPort()
	closed := startProxy(t, egress.ProxyConfig{Guard: &egress.Guard{Ports: []uint16{at.Port()}}})
	for _, address := range []string{srv.URL, "http://127.1:" + fmt.Sprint(at.Port()), "ftp://example.org/", "http://user:pw@example.org/", "http://example.org:22/"} {
		u, _ := url.Parse(address)
		if _, err := closed.Let(u); err == nil {
			t.Errorf("Let(%s) does not ask the guard", address)
		}
	}
	// localhost says nothing of its address before it is dialled.
	let(t, closed, fmt.Sprintf("http://localhost:%d/", at.Port()))
	let(t, closed, fmt.Sprintf("https://localhost:%d/", at.Port()))
	for _, scheme := range []string{"http", "https"} {
		resp, err := through(t, closed).Get(fmt.Sprintf("%s://localhost:%d/", scheme, at.Port()))
		if err == nil {
			resp.Body.Close()
		}
		if err == nil && resp.StatusCode != http.StatusForbidden || scheme == "https" && (err == nil || !strings.Contains(err.Error(), "Forbidden")) {
			t.Errorf("%s to loopback: %v, %v", scheme, resp, err)
		}
	}

	open := startProxy(t, egress.ProxyConfig{Guard: guardFor(srv)})
	let(t, open, srv.URL)
	for _, request := range []string{
		"CONNECT " + at.String() + " HTTP/1.1\r\nHost: " + at.String() + "\r\n\r\n",
		"GET " + srv.URL + "/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: " + at.String() + "\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", open.Addr())
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(time.Minute))
		io.WriteString(conn, request)
		line, _ := bufio.NewReader(conn).ReadString('\n')
		conn.Close()
		if !strings.Contains(line, "403") {
			t.Errorf("%.40q: %q", request, line)
		}
	}
}

func TestProxyEndsWhatIsTooLong(t *testing.T) {
	flood := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 100 {
			if _, err := w.Write(make([]byte, 10<<10)); err != nil {
				return
			}
		}
	})
	plain, secure := httptest.NewServer(flood), httptest.NewTLSServer(flood)
	defer plain.Close()
	defer secure.Close()
	p := startProxy(t, egress.ProxyConfig{Guard: guardFor(plain, secure), MaxBytes: 100 << 10})
	let(t, p, plain.URL)
	let(t, p, secure.URL)
	for _, address := range []string{plain.URL, secure.URL} {
		resp, err := through(t, p).Get(address)
		if err != nil {
			continue
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err == nil || n > 200<<10 {
			t.Errorf("%s: %d bytes, %v", address, n, err)
		}
	}
}

// Close does not wait for tunnels that nobody ends.
func TestProxyCloseEndsTunnels(t *testing.T) {
	hold := make(chan struct{})
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}))
	defer secure.Close()
	defer close(hold)
	p := startProxy(t, egress.ProxyConfig{Guard: guardFor(secure)})
	let(t, p, secure.URL)
	resp, err := through(t, p).Get(secure.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	p.Close()
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the answer came to its end")
	}
}
