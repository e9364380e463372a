package peer

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestTheNodeIsServedOverPlainHTTPUnderLocalNamesAlone(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 3, 200)...)
	web, err := a.peer.ListenHTTP("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	if res := b.sync(web.URL(), "main"); res.Documents != 3 {
		t.Errorf("sync = %+v", res)
	}
	addr := web.addr.String()
	for host, want := range map[string]string{
		addr: "200", "localhost": "200", "localhost:80": "200", "127.0.0.2": "200", "[::1]:1": "200",
		"example.org": "404", "127.0.0.1.example.org": "404", "localhost.example.org:80": "404", "10.0.0.1": "404", "[]": "404",
	} {
		reply := string(rawGet(t, addr, fmt.Sprintf("GET %scorpora HTTP/1.1\r\nHost: %s\r\n\r\n", PathPrefix, host)))
		if !strings.HasPrefix(reply, "HTTP/1.1 "+want) {
			t.Errorf("as %q: %.30q, want %s", host, reply, want)
		}
	}
}

func TestRangesGiveThatPartOfTheResource(t *testing.T) {
	a := newNode(t).up(nil)
	entries := entriesOf(t, "doc:/x", 300, 200)
	a.publish("main", entries...)
	at := a.origin("main") + "/"
	ask := func(path, spec string, more ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, PathPrefix+path, nil)
		r.Header.Set("Range", spec)
		for _, coding := range more {
			r.Header.Set("Accept-Encoding", coding)
		}
		w := httptest.NewRecorder()
		a.peer.Handler().ServeHTTP(w, r)
		return w
	}
	for _, path := range []string{at + "tile/0/000", at + "tile/entries/000", at + "pack/000", at + "pack/001.p/44", at + "doc/" + entries[7].Document.Root().String()} {
		whole := fetchAs(t, a.peer.Handler(), path, "")
		n := len(whole)
		for _, c := range []struct {
			spec     string
			from, to int // to is exclusive
		}{
			{"bytes=0-0", 0, 1}, {"bytes=5-99", 5, 100}, {fmt.Sprintf("bytes=%d-%d", n/2, n/2+70), n / 2, n/2 + 71},
			{fmt.Sprintf("bytes=%d-", n-3), n - 3, n}, {"bytes=-9", n - 9, n}, {fmt.Sprintf("bytes=0-%d", 10*n), 0, n}, {fmt.Sprintf("bytes=-%d", 10*n), 0, n},
		} {
			w := ask(path, c.spec)
			want := fmt.Sprintf("bytes %d-%d/%d", c.from, c.to-1, n)
			if w.Code != http.StatusPartialContent || w.Header().Get("Content-Range") != want || w.Body.String() != string(whole[c.from:c.to]) {
				t.Errorf("%s, %s: status %d, range %q, %d bytes; want %q", path, c.spec, w.Code, w.Header().Get("Content-Range"), w.Body.Len(), want)
			}
		}
		for _, spec := range []string{fmt.Sprintf("bytes=%d-", n), fmt.Sprintf("bytes=%d-%d", n+1, n+5), "bytes=-0"} {
			if w := ask(path, spec); w.Code != http.StatusRequestedRangeNotSatisfiable {
				t.Errorf("%s, %s: status %d, want 416", path, spec, w.Code)
			}
		}
		// What is no single range of bytes is answered with the whole.
		for _, spec := range []string{"bytes=0-1,4-5", "bytes=5-1", "bytes=+1-2", "bytes=a-b", "lines=0-1", "bytes=", "bytes=99999999999999999999-"} {
			if w := ask(path, spec); w.Code != http.StatusOK || w.Body.String() != string(whole) {
				t.Errorf("%s, %s: status %d, %d bytes, want all %d", path, spec, w.Code, w.Body.Len(), n)
			}
		}
	}
	if w := ask(at+"pack/000", "bytes=0-9", "zstd"); w.Code != http.StatusOK || w.Header().Get("Content-Encoding") != "zstd" {
		t.Errorf("a range of a compressed pack: status %d", w.Code)
	}
	if w := ask(at+"checkpoint", "bytes=0-9"); w.Code != http.StatusOK {
		t.Errorf("a range of what changes: status %d, want the whole", w.Code)
	}
}

func TestAllPeersTogetherGetNoMoreThanTheLimit(t *testing.T) {
	const size, perSecond = 2 << 20, 64 << 10
	upload := newLimit(perSecond)
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
		out := newReply(r.Context(), w)
		out.limit = upload
		if _, err := out.Write(make([]byte, size)); err != nil {
			t.Error(err)
		}
	}, func(t *testing.T, p *pipes) {
		start := time.Now()
		done := make(chan error, 2)
		for range 2 {
			go func() {
				src := sourceOver(p)
				defer src.close()
				b, err := src.open(t.Context(), anything)
				if err == nil {
					b.allow(1 << 30)
					_, err = readText(b, size)
					b.Close()
				}
				done <- err
			}()
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if d, want := time.Since(start), 2*size/perSecond*time.Second; d < want*9/10 || d > want*11/10 {
			t.Errorf("two peers got %d bytes each at %d a second in %s, want %s", size, perSecond, d, want)
		}
	})
}
