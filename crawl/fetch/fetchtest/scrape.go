package fetchtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html/charset"
)

// A Scraper stands in for a rendering service: it answers POST /v1/scrape as
// Firecrawl does, by asking the site itself. It runs no scripts, and contacts
// loopback alone.
type Scraper struct {
	URL string
	Key string // that it wants as a bearer token

	mu    sync.Mutex
	asked []string
	fail  func(w http.ResponseWriter) bool
}

// NewScraper starts a rendering service that stops with the test.
func NewScraper(t testing.TB) *Scraper {
	t.Helper()
	s := &Scraper{Key: "fc-0123456789"}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !at.Addr().IsLoopback() {
			return nil, fmt.Errorf("%s is not loopback", address)
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, client) }))
	t.Cleanup(client.CloseIdleConnections)
	t.Cleanup(srv.Close)
	s.URL = srv.URL
	return s
}

// Asked gives the addresses that the service was asked for since the last call.
func (s *Scraper) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// Fail has every request answered by f as long as that reports true.
func (s *Scraper) Fail(f func(w http.ResponseWriter) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = f
}

func (s *Scraper) serve(w http.ResponseWriter, r *http.Request, client *http.Client) {
	var req struct {
		URL     string   `json:"url"`
		Formats []string `json:"formats"`
		Timeout int64    `json:"timeout"` // milliseconds
	}
	s.mu.Lock()
	fail := s.fail
	s.mu.Unlock()
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/v1/scrape":
		http.NotFound(w, r)
		return
	case r.Header.Get("Authorization") != "Bearer "+s.Key:
		answer(w, http.StatusUnauthorized, map[string]any{"success": false, "error": "Unauthorized: Invalid token " + r.Header.Get("Authorization")})
		return
	case fail != nil && fail(w):
		return
	case json.NewDecoder(r.Body).Decode(&req) != nil || len(req.Formats) != 1 || req.Formats[0] != "rawHtml":
		answer(w, http.StatusBadRequest, map[string]any{"success": false, "error": "Bad Request"})
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, req.URL)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(cmp.Or(req.Timeout, 30000))*time.Millisecond)
	defer cancel()
	page, err := http.NewRequestWithContext(ctx, http.MethodGet, req.URL, nil)
	if err != nil {
		answer(w, http.StatusBadRequest, map[string]any{"success": false, "error": err.Error()})
		return
	}
	resp, err := client.Do(page)
	var body []byte
	if err == nil {
		defer resp.Body.Close()
		body, err = io.ReadAll(io.LimitReader(resp.Body, 8<<20))
		if kind := resp.Header.Get("Content-Type"); err == nil && strings.HasPrefix(kind, "text/html") {
			enc, _, _ := charset.DetermineEncoding(body, kind)
			body, err = enc.NewDecoder().Bytes(body)
		}
	}
	switch {
	case ctx.Err() != nil:
		answer(w, http.StatusRequestTimeout, map[string]any{"success": false, "error": "Request timed out"})
	case err != nil:
		answer(w, http.StatusInternalServerError, map[string]any{"success": false, "error": err.Error()})
	default:
		answer(w, http.StatusOK, map[string]any{"success": true, "data": map[string]any{"rawHtml": string(body), "metadata": map[string]any{
			"statusCode": resp.StatusCode, "sourceURL": req.URL, "url": resp.Request.URL.String(), "contentType": resp.Header.Get("Content-Type"),
		}}})
	}
}

func answer(w http.ResponseWriter, status int, v map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}
