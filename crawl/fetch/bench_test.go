package fetch_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"arborist/crawl/fetch"
	"arborist/crawl/fetch/fetchtest"
)

// What a fetch costs beside a bare keep-alive GET of the same page by the
// standard library, server included in both.
func BenchmarkFetch(b *testing.B) {
	page := []byte(strings.Repeat("<p>A paragraph of a documentation page, with a <a href=\"/x\">link</a>.</p>\n", 400))
	for name, body := range map[string][]byte{"plain": page, "gzip": fetchtest.Gzip(page)} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			if name != "plain" {
				w.Header().Set("Content-Encoding", name)
			}
			w.Write(body)
		}))
		f := newHTTP(b, fetch.HTTPConfig{Guard: fetchtest.Allow(addrOf(srv))})
		b.Run(name+"/fetch", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := f.Fetch(b.Context(), fetch.Request{URL: srv.URL + "/guide/page.html"})
				if err != nil || !bytes.Equal(r.Body, page) {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/bare", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				req, _ := http.NewRequest("GET", srv.URL+"/guide/page.html", nil)
				if name != "plain" {
					req.Header.Set("Accept-Encoding", "gzip") // left encoded
				}
				r, err := srv.Client().Do(req)
				if err != nil {
					b.Fatal(err)
				}
				io.ReadAll(r.Body)
				r.Body.Close()
			}
		})
		srv.Close()
	}
}
