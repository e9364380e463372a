package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"arborist/crawl/egress"
	"arborist/crawl/fetch"
	"arborist/crawl/fetch/fetchtest"
)

func newHosted(t testing.TB, s *fetchtest.Scraper, cfg fetch.HostedConfig) *fetch.Hosted {
	t.Helper()
	plain := fetch.NewHTTP(fetch.HTTPConfig{Guard: cfg.Guard, MaxBody: cfg.MaxBody, Timeout: cfg.Timeout})
	cfg.Base, cfg.Key, cfg.Plain = s.URL, s.Key, plain
	h, err := fetch.NewHosted(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close(); plain.Close() })
	return h
}

func TestHostedKeepsTheFetcherContract(t *testing.T) {
	s := fetchtest.NewScraper(t)
	fetchtest.RunRemote(t, func(t testing.TB, cfg fetchtest.Config) fetch.Fetcher {
		return newHosted(t, s, fetch.HostedConfig{Guard: cfg.Guard, MaxBody: cfg.MaxBody, Timeout: cfg.Timeout})
	})
}

// What the service may not see is refused before it is asked.
func TestServiceIsNotToldOfPrivateAddresses(t *testing.T) {
	s := fetchtest.NewScraper(t)
	dns := fetchtest.NewDNS(t, func(name string, _ int) fetchtest.Answer {
		switch name {
		case "intranet.example":
			return fetchtest.Answer{Addrs: []netip.Addr{netip.MustParseAddr("10.1.2.3")}}
		case "mixed.example":
			return fetchtest.Answer{Addrs: []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("192.168.0.1")}}
		}
		return fetchtest.Answer{Code: 3} // no such name
	})
	h := newHosted(t, s, fetch.HostedConfig{Resolver: dns.Resolver(), Timeout: time.Minute})
	for _, address := range []string{
		"http://10.0.0.1/", "http://127.1/", "http://[::1]/", "http://intranet.example/secret", "http://mixed.example/", "http://nowhere.example/",
		"http://example.org:22/", "file:///etc/passwd",
	} {
		if _, err := h.Fetch(t.Context(), fetch.Request{URL: address}); fetch.ClassOf(err) != fetch.Denied {
			t.Errorf("%s: %v", address, err)
		}
	}
	if asked := s.Asked(); len(asked) > 0 {
		t.Errorf("the service was told of %q", asked)
	}
}

// What the service says about itself is no word of the site, and our key stays
// out of it.
func TestServiceThatFailsIsNoFailureOfThePage(t *testing.T) {
	s := fetchtest.NewScraper(t)
	h := newHosted(t, s, fetch.HostedConfig{Timeout: time.Minute, Guard: fetchtest.Allow(netip.MustParseAddrPort("127.0.0.1:80")), MaxBody: 10 << 10})
	for name, c := range map[string]struct {
		status int
		body   string
		class  fetch.Class
		says   string
	}{
		"key refused":    {401, `{"success":false,"error":"Invalid token KEY"}`, fetch.Transient, "refuses the key"},
		"forbidden":      {403, `nginx`, fetch.Transient, "refuses the key"},
		"credits":        {402, `{"success":false,"error":"Insufficient credits"}`, fetch.Transient, "Insufficient credits"},
		"rate limit":     {429, `{"success":false,"error":"Rate limit exceeded"}`, fetch.Transient, "429"},
		"timed out":      {408, `{"success":false,"error":"Request timed out"}`, fetch.Transient, "timeout"},
		"fault":          {500, `{"success":false,"error":"All scraping engines failed"}`, fetch.Transient, "500"},
		"moved":          {302, ``, fetch.Transient, "302"},
		"no success":     {200, `{"success":false}`, fetch.Transient, "no page"},
		"no JSON":        {200, `<html>`, fetch.Transient, "not understood"},
		"other types":    {200, `{"success":true,"data":{"rawHtml":7}}`, fetch.Transient, "not understood"},
		"endless answer": {200, `{"success":true,"data":{"rawHtml":"` + strings.Repeat("a", 200<<10), fetch.ResourceLimit, "too large"},
		"large page":     {200, `{"success":true,"data":{"rawHtml":"` + strings.Repeat("a", 11<<10) + `"}}`, fetch.ResourceLimit, "too large"},
	} {
		s.Fail(func(w http.ResponseWriter) bool {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(c.status)
			fmt.Fprint(w, strings.ReplaceAll(c.body, "KEY", s.Key))
			return true
		})
		_, err := h.Fetch(t.Context(), fetch.Request{URL: "http://127.0.0.1/p"})
		var e *fetch.Error
		if !errors.As(err, &e) || e.Class != c.class || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), s.Key) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.class == fetch.Transient && (e.Status != 0 || e.RetryAfter != 7*time.Second) {
			t.Errorf("%s: status %d, again after %v", name, e.Status, e.RetryAfter)
		}
	}
}

func TestServiceNeedsASafeAddress(t *testing.T) {
	for base, ok := range map[string]bool{
		"https://api.example.com": true, "https://api.example.com/firecrawl/": true, "http://127.0.0.1:3002": true, "http://localhost:3002": true, "http://[::1]:3002": true,
		"": false, "http://api.example.com": false, "api.example.com": false, "ftp://api.example.com": false, "https://user:pw@api.example.com": false, "https://api.example.com/?key=1": false,
	} {
		if _, err := fetch.NewHosted(fetch.HostedConfig{Base: base}); (err == nil) != ok || err != nil && !errors.Is(err, fetch.ErrHostedConfig) {
			t.Errorf("%q: %v", base, err)
		}
	}
	if _, err := fetch.NewHosted(fetch.HostedConfig{Base: "https://a.example", Key: "two words"}); err == nil || strings.Contains(err.Error(), "two") {
		t.Errorf("%v", err)
	}
}

// robots.txt and its like never go through the service.
func TestServiceIsAskedForPagesAlone(t *testing.T) {
	s := fetchtest.NewScraper(t)
	h, err := fetch.NewHosted(fetch.HostedConfig{Base: s.URL, Plain: fixed(fetch.Response{Status: 200, Body: []byte("plain")}), Guard: (*egress.Guard)(nil)})
	if err != nil {
		t.Fatal(err)
	}
	for _, req := range []fetch.Request{{URL: "http://example.org/robots.txt", AnyType: true}, {URL: "http://example.org/", Prefix: 10}} {
		if r, err := h.Fetch(context.Background(), req); err != nil || string(r.Body) != "plain" {
			t.Errorf("%+v, %v", r, err)
		}
	}
}
