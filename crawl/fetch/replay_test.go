package fetch_test

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"arborist/crawl/egress"
	"arborist/crawl/fetch"
)

// A server that closes kept connections in place of an answer is asked at most twice
// by one fetch, however many connections are kept, and the fetch can be tried again.
func TestOneFetchIsNotSentOverAndOver(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const kept = 8
	var asked atomic.Int32
	var together sync.WaitGroup // so that each first page has a connection of its own
	together.Add(kept)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					if req.URL.Path == "/closes" {
						asked.Add(1)
						return
					}
					together.Done()
					together.Wait()
					c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok"))
				}
			})
		}
	})
	defer serving.Wait()
	defer l.Close()
	h := fetch.NewHTTP(fetch.HTTPConfig{Guard: &egress.Guard{Nets: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Ports: []uint16{uint16(l.Addr().(*net.TCPAddr).Port)}}})
	defer h.Close()
	base := "http://" + l.Addr().String()
	var fetching sync.WaitGroup
	for range kept {
		fetching.Go(func() {
			if _, err := h.Fetch(t.Context(), fetch.Request{URL: base + "/page"}); err != nil {
				t.Error(err)
			}
		})
	}
	fetching.Wait()
	_, err = h.Fetch(t.Context(), fetch.Request{URL: base + "/closes"})
	if e := (*fetch.Error)(nil); !errors.As(err, &e) || e.Class != fetch.Transient {
		t.Errorf("%v, want a failure that is tried again", err)
	}
	if n := asked.Load(); n < 1 || n > 2 {
		t.Errorf("it was asked %d times, want at most 2", n)
	}
}
