package fetch_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"arborist/crawl/fetch"
	"arborist/crawl/fetch/fetchtest"
)

// raw starts a raw server and a fetcher that may reach it.
func raw(t testing.TB, cfg fetch.HTTPConfig, answer func(net.Conn, []string)) (*fetch.HTTP, string) {
	t.Helper()
	s := fetchtest.NewRaw(t, answer)
	cfg.Guard = fetchtest.Allow(s.Addr)
	return newHTTP(t, cfg), s.URL + "/"
}

const okHTML = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

// drip writes piece over and over, a moment apart, until the client is gone.
func drip(c net.Conn, piece string) {
	for {
		if _, err := io.WriteString(c, piece); err != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// flood writes piece as fast as it is taken.
func flood(c net.Conn, piece string) {
	piece = strings.Repeat(piece, 1000)
	for {
		if _, err := io.WriteString(c, piece); err != nil {
			return
		}
	}
}

func TestHostileAnswerEndsInTimeAndMemory(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(net.Conn, []string)
		class  fetch.Class
		reason string
	}{
		{"dripping status line", func(c net.Conn, _ []string) { drip(c, "H") }, fetch.Transient, "timeout"},
		{"dripping header", func(c net.Conn, _ []string) { io.WriteString(c, okHTML); drip(c, "X-A: b\r\n") }, fetch.Transient, "timeout"},
		{"dripping body", func(c net.Conn, _ []string) { io.WriteString(c, okHTML+"\r\n"); drip(c, "x") }, fetch.Transient, "timeout"},
		{"dripping chunks", func(c net.Conn, _ []string) {
			io.WriteString(c, okHTML+"Transfer-Encoding: chunked\r\n\r\n")
			drip(c, "1\r\nx\r\n")
		}, fetch.Transient, "timeout"},
		{"dripping gzip of nothing", func(c net.Conn, _ []string) {
			io.WriteString(c, okHTML+"Content-Encoding: gzip\r\n\r\n")
			drip(c, string(fetchtest.Gzip(nil)))
		}, fetch.Transient, "timeout"},
		{"endless header lines", func(c net.Conn, _ []string) { io.WriteString(c, okHTML); flood(c, "X-Long: yes\r\n") }, fetch.ResourceLimit, "header"},
		{"one endless header line", func(c net.Conn, _ []string) { io.WriteString(c, okHTML+"X-Long: "); flood(c, "yes") }, fetch.ResourceLimit, "header"},
		{"endless status line", func(c net.Conn, _ []string) { io.WriteString(c, "HTTP/1.1 200 "); flood(c, "OK") }, fetch.ResourceLimit, "header"},
		{"endless informational answers", func(c net.Conn, _ []string) { flood(c, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n") }, fetch.ResourceLimit, "header"},
		{"endless body", func(c net.Conn, _ []string) { io.WriteString(c, okHTML+"\r\n"); flood(c, "xxxxxxxx") }, fetch.ResourceLimit, "too large"},
		{"endless chunk extension", func(c net.Conn, _ []string) {
			io.WriteString(c, okHTML+"Transfer-Encoding: chunked\r\n\r\n1;a=")
			flood(c, "b")
		}, fetch.Transient, ""},
		{"endless tiny chunks", func(c net.Conn, _ []string) {
			io.WriteString(c, okHTML+"Transfer-Encoding: chunked\r\n\r\n")
			flood(c, "1\r\nx\r\n")
		}, "", ""}, // too wasteful or too large, whichever comes first
		{"endless trailers", func(c net.Conn, _ []string) {
			io.WriteString(c, okHTML+"Transfer-Encoding: chunked\r\n\r\n0\r\n")
			flood(c, "X-T: y\r\n")
		}, fetch.Transient, ""},
		{"declared length too long", func(c net.Conn, _ []string) {
			io.WriteString(c, okHTML+"Content-Length: 99999999999\r\n\r\nx")
			io.Copy(io.Discard, c)
		}, fetch.ResourceLimit, "too large"},
		{"declared length beyond numbers", func(c net.Conn, _ []string) {
			io.WriteString(c, okHTML+"Content-Length: 99999999999999999999999\r\n\r\nx")
		}, fetch.Transient, ""},
		{"negative length", func(c net.Conn, _ []string) { io.WriteString(c, okHTML+"Content-Length: -1\r\n\r\nx") }, fetch.Transient, ""},
		{"two lengths", func(c net.Conn, _ []string) {
			io.WriteString(c, okHTML+"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx")
		}, fetch.Transient, ""},
		{"body shorter than declared", func(c net.Conn, _ []string) { io.WriteString(c, okHTML+"Content-Length: 10\r\n\r\nshort") }, fetch.Transient, "cut short"},
		{"gzip whole, body shorter than declared", func(c net.Conn, _ []string) {
			gz := fetchtest.Gzip([]byte("x"))
			fmt.Fprintf(c, okHTML+"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(gz)+10, gz)
		}, fetch.Transient, "cut short"},
		{"gzip whole, then a tail shorter than declared", func(c net.Conn, _ []string) {
			body := string(fetchtest.Gzip([]byte("x"))) + strings.Repeat("-", 20_000)
			fmt.Fprintf(c, okHTML+"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(body)+10, body)
		}, fetch.Transient, "cut short"},
		{"reset in the body", func(c net.Conn, _ []string) {
			io.WriteString(c, okHTML+"Content-Length: 10\r\n\r\nshort")
			time.Sleep(50 * time.Millisecond) // let the first part be read
			fetchtest.Drop(c)
		}, fetch.Transient, ""},
		{"half closed", func(c net.Conn, _ []string) {
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c)
		}, fetch.Transient, "cut short"},
		{"half closed in the body", func(c net.Conn, _ []string) {
			io.WriteString(c, okHTML+"Content-Length: 10\r\n\r\nshort")
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c)
		}, fetch.Transient, "cut short"},
		{"silence", func(c net.Conn, _ []string) { io.Copy(io.Discard, c) }, fetch.Transient, "timeout"},
		{"no HTTP", func(c net.Conn, _ []string) { io.WriteString(c, "220 mail.example ESMTP\r\n") }, fetch.Transient, ""},
		{"HTTP/0.9", func(c net.Conn, _ []string) { io.WriteString(c, "<html>hello</html>") }, fetch.Transient, ""},
		{"TLS on a plain port", func(c net.Conn, _ []string) { c.Write([]byte{0x15, 3, 1, 0, 2, 2, 40}) }, fetch.Transient, ""},
		{"switching protocols", func(c net.Conn, _ []string) {
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
			io.Copy(io.Discard, c)
		}, fetch.Transient, ""},
		{"unasked 304", func(c net.Conn, _ []string) { io.WriteString(c, "HTTP/1.1 304 Not Modified\r\n\r\n") }, fetch.Transient, "304"},
		{"status 999", func(c net.Conn, _ []string) { io.WriteString(c, "HTTP/1.1 999 No\r\n\r\n") }, fetch.Transient, "999"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // most of these wait
			// Only who waits for nothing ends by the clock. Whatever ends by
			// a limit or a fault must get there however slow the machine is.
			timeout := 2 * time.Minute
			if c.reason == "timeout" {
				timeout = 500 * time.Millisecond
			}
			f, url := raw(t, fetch.HTTPConfig{Timeout: timeout, MaxBody: 1 << 20}, c.answer)
			start := time.Now()
			r, err := f.Fetch(t.Context(), fetch.Request{URL: url})
			class := fetch.ClassOf(err)
			if class == "" || c.class != "" && class != c.class || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("%d bytes, %v with class %q; want %q, %q", len(r.Body), err, class, c.class, c.reason)
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("a message of %d bytes", len(err.Error()))
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestOddButReadableAnswerIsRead(t *testing.T) {
	for name, answer := range map[string]string{
		"no length, ends with the connection": okHTML + "\r\nbody",
		"HTTP/1.0":                            "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nbody",
		"no reason phrase":                    "HTTP/1.1 200\r\nContent-Type: text/html\r\n\r\nbody",
		"early hints first":                   "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + okHTML + "\r\nbody",
		"the same length twice":               okHTML + "Content-Length: 4\r\nContent-Length: 4\r\n\r\nbody",
		"length shorter than sent":            okHTML + "Content-Length: 4\r\n\r\nbody and more",
		"bare line feeds":                     "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 4\n\nbody",
		"no content type":                     "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody",
		"content type with nonsense":          "HTTP/1.1 200 OK\r\nContent-Type: text/HTML; charset=;;\r\nContent-Length: 4\r\n\r\nbody",
		"trailers":                            okHTML + "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nX-T: y\r\n\r\n",
		"a header of 100 KB":                  okHTML + "X-Long: " + strings.Repeat("y", 100<<10) + "\r\n\r\nbody",
	} {
		f, url := raw(t, fetch.HTTPConfig{Timeout: 2 * time.Minute}, func(c net.Conn, _ []string) { io.WriteString(c, answer) })
		r, err := f.Fetch(t.Context(), fetch.Request{URL: url})
		if err != nil || r.Status != 200 || string(r.Body) != "body" {
			t.Errorf("%s: %d %q, skipped %q, %v", name, r.Status, r.Body, r.Skipped, err)
		}
	}
}

// The body of an unwanted type stays with the server.
func TestUnwantedBodyIsLeftUnread(t *testing.T) {
	var sent atomic.Int64
	done := make(chan struct{}, 1)
	piece := bytes.Repeat([]byte("x"), 64<<10)
	f, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "video/mp4")
		for sent.Load() < 1<<30 {
			n, err := w.Write(piece)
			sent.Add(int64(n))
			if err != nil {
				break
			}
		}
		done <- struct{}{}
	}, fetch.HTTPConfig{})
	r, err := f.Fetch(t.Context(), fetch.Request{URL: base})
	if err != nil || r.Skipped == "" || r.Body != nil || r.Wire != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	<-done // the server notices that nobody reads on
	if n := sent.Load(); n > 32<<20 {
		t.Errorf("%d bytes were sent before the connection was cut", n)
	}
	// The same page on request, whatever its type.
	sent.Store(0)
	r, err = f.Fetch(t.Context(), fetch.Request{URL: base, AnyType: true, Prefix: 1000})
	if err != nil || len(r.Body) != 1000 || !r.Truncated {
		t.Errorf("%d bytes, %v", len(r.Body), err)
	}
	<-done
}

// A redirect or a 404 with a small body keeps its connection, one with a large
// or slow body does not hold the crawl up.
func TestBodyNobodyWantsCostsLittle(t *testing.T) {
	for name, c := range map[string]struct {
		body  string
		hang  bool
		times int
		most  int32 // connections
	}{
		// A machine that stands still for a second may cost one or another.
		"small": {strings.Repeat("x", 1000), false, 20, 5},
		"large": {strings.Repeat("x", 1<<20), false, 2, 2},
		"slow":  {"x", true, 2, 2},
	} {
		var conns atomic.Int32
		release := make(chan struct{})
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, c.body)
			if c.hang {
				w.(http.Flusher).Flush()
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}
		}))
		srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				conns.Add(1)
			}
		}
		srv.Start()
		f := newHTTP(t, fetch.HTTPConfig{Guard: fetchtest.Allow(addrOf(srv)), Timeout: 2 * time.Minute})
		start := time.Now()
		for range c.times {
			if r, err := f.Fetch(t.Context(), fetch.Request{URL: srv.URL}); err != nil || r.Status != 404 {
				t.Errorf("%s: %d, %v", name, r.Status, err)
			}
		}
		if n := conns.Load(); n > c.most {
			t.Errorf("%s: %d connections for %d answers, want %d", name, n, c.times, c.most)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: took %v", name, took)
		}
		close(release)
		srv.Close()
	}
}
