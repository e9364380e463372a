// Package site is a web site for tests: pages given as a map, with a log of
// every request.
package site

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Page is what the site answers at one address.
type Page struct {
	Status  int           // 0: 200
	Type    string        // Content-Type; "": text/html; charset=utf-8
	Body    string        // may be empty
	To      string        // Location; with it Status is 302 unless given
	Headers []string      // more headers, name and value in turn
	Wait    time.Duration // before the answer

	// Serve, where not nil, answers in place of all above.
	Serve http.HandlerFunc
}

// Links gives an HTML page with some text of its own and a link to each href.
func Links(title string, hrefs ...string) Page {
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html><html><head><title>%s</title></head><body><h1>%s</h1>\n", title, title)
	fmt.Fprintf(&b, "<p>The page %s tells about %s, at some length, so that it is a page worth keeping.</p>\n", title, title)
	for _, h := range hrefs {
		fmt.Fprintf(&b, "<p><a href=\"%s\">%s</a></p>\n", h, h)
	}
	b.WriteString("</body></html>\n")
	return Page{Body: b.String()}
}

// A Hit is one request.
type Hit struct {
	Method string
	Target string // path and query
	Host   string
	At     time.Time
	Header http.Header
}

// A Site answers and logs. It is safe for concurrent use.
type Site struct {
	mu    sync.Mutex
	pages map[string]Page
	rest  http.Handler // for what is not in pages; nil: 404
	hits  []Hit
}

// New makes a site of pages by path and query.
func New(pages map[string]Page) *Site {
	s := &Site{pages: map[string]Page{}}
	for target, p := range pages {
		s.pages[target] = p
	}
	return s
}

// Over makes a site that logs what another handler answers.
func Over(h http.Handler) *Site { return &Site{pages: map[string]Page{}, rest: h} }

// Set adds or replaces a page.
func (s *Site) Set(target string, p Page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[target] = p
}

// ServeHTTP implements [http.Handler].
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := r.URL.RequestURI()
	s.mu.Lock()
	s.hits = append(s.hits, Hit{Method: r.Method, Target: target, Host: r.Host, At: time.Now(), Header: r.Header.Clone()})
	p, found := s.pages[target]
	s.mu.Unlock()
	switch {
	case !found && s.rest != nil:
		s.rest.ServeHTTP(w, r)
		return
	case !found:
		http.NotFound(w, r)
		return
	case p.Serve != nil:
		p.Serve(w, r)
		return
	}
	if p.Wait > 0 {
		select {
		case <-time.After(p.Wait):
		case <-r.Context().Done():
			return
		}
	}
	for i := 0; i+1 < len(p.Headers); i += 2 {
		w.Header().Add(p.Headers[i], p.Headers[i+1])
	}
	status := p.Status
	if p.To != "" {
		w.Header().Set("Location", p.To)
		if status == 0 {
			status = http.StatusFound
		}
	}
	kind := p.Type
	if kind == "" {
		kind = "text/html; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	if status != 0 {
		w.WriteHeader(status)
	}
	fmt.Fprint(w, p.Body)
}

// Start serves the site on a loopback port until the test ends, and gives its
// address without a slash at the end.
func (s *Site) Start(t testing.TB) string {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

// Hits gives the requests in the order of their arrival.
func (s *Site) Hits() []Hit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.hits)
}

// Targets gives the path and query of each request, in order.
func (s *Site) Targets() []string {
	var out []string
	for _, h := range s.Hits() {
		out = append(out, h.Target)
	}
	return out
}

// Count gives the number of requests for one path and query.
func (s *Site) Count(target string) int {
	n := 0
	for _, t := range s.Targets() {
		if t == target {
			n++
		}
	}
	return n
}

// Forget empties the log.
func (s *Site) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hits = nil
}
