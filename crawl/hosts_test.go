package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arborist/crawl/fetch"
	"arborist/internal/arbtest/site"
)

// hosts serves several sites by the host that is asked for.
type hosts map[string]*site.Site

func (h hosts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	h[host].ServeHTTP(w, r)
}

// wide gives a site of n pages that are linked from its start, and of n more
// below them.
func wide(n int, robots string, more ...string) *site.Site {
	s := site.New(map[string]site.Page{robotsTxt: {Type: "text/plain", Body: robots}})
	hrefs := more
	for i := range n {
		hrefs = append(hrefs, fmt.Sprintf("/a%c", 'a'+i))
		s.Set(hrefs[len(hrefs)-1], site.Links("page", fmt.Sprintf("/b%c", 'a'+i)))
		s.Set(fmt.Sprintf("/b%c", 'a'+i), site.Links("below"))
	}
	s.Set("/", site.Links("home", hrefs...))
	return s
}

// lastHit gives the time from start to a site's latest request.
func lastHit(s *site.Site, start time.Time) time.Duration {
	hits := s.Hits()
	return hits[len(hits)-1].At.Sub(start)
}

func TestASlowHostHoldsUpItselfAlone(t *testing.T) {
	for _, fast := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			quick := wide(10, "User-agent: *\nCrawl-delay: 1", "http://slow.test/", "http://third.test/")
			slow := wide(10, "User-agent: *\nCrawl-delay: 100")
			third := wide(10, "User-agent: *\nCrawl-delay: 1")
			if fast {
				// In fast mode a host slows a crawl down by pushing back.
				slow.Set("/", site.Page{Status: 429, Headers: []string{"Retry-After", "200"}})
				go func() { time.Sleep(time.Second); slow.Set("/", site.Links("home", "/aa")) }()
			}
			start := time.Now()
			got := crawl(t, t.Context(), Config{
				Seed: "http://quick.test/", Depth: 3, Fast: fast, Workers: 2, AllowHosts: []string{"slow.test", "third.test"},
			}, inProcess{hosts{"quick.test": quick, "slow.test": slow, "third.test": third}})
			if got.err != nil || got.report.FailedTotal != 0 {
				t.Fatal(got.err, got.report.Failed)
			}
			// 21 pages and robots.txt at one a second, from the first level of
			// the seed on: whatever the slow host does.
			for name, s := range map[string]*site.Site{"quick": quick, "third": third} {
				if took := lastHit(s, start); took > 30*time.Second {
					t.Errorf("fast %v: %s was crawled after %v", fast, name, took)
				}
				if n := len(s.Hits()); n != 22 {
					t.Errorf("fast %v: %s: %d requests", fast, name, n)
				}
			}
			if took := lastHit(slow, start); took < 200*time.Second {
				t.Errorf("fast %v: the slow host was crawled in %v", fast, took)
			}
		})
	}
}

func TestAHostIsAskedForOneThingAtATimeWhateverItsPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := wide(5, "", "http://h.test:8080/")
		second := wide(5, "")
		got := crawl(t, t.Context(), Config{Seed: "http://h.test/", Depth: 3, AllowHosts: []string{"h.test:8080"}},
			inProcess{hosts{"h.test": first, "h.test:8080": second}})
		if got.err != nil || len(got.pages) != 22 {
			t.Fatal(len(got.pages), got.err)
		}
		hits := append(first.Hits(), second.Hits()...)
		for i, a := range hits {
			for _, b := range hits[:i] {
				if d := a.At.Sub(b.At).Abs(); d < 2*time.Second {
					t.Fatalf("%s%s and %s%s are %v apart", a.Host, a.Target, b.Host, b.Target, d)
				}
			}
		}
	})
}

func TestAHostThatDiesEndsNoOtherHostsCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := wide(20, "", "http://bad.test/")
		bad := wide(20, "")
		for i := range 20 {
			failing(bad, fmt.Sprintf("/a%c", 'a'+i), 99, 503)
		}
		got := crawl(t, t.Context(), Config{Seed: "http://good.test/", Depth: 3, AllowHosts: []string{"bad.test"}},
			inProcess{hosts{"good.test": good, "bad.test": bad}})
		var down *HostDownError
		if !errors.As(got.err, &down) || down.Host != "http://bad.test" {
			t.Errorf("%v", got.err)
		}
		if n := len(good.Hits()); n != 42 {
			t.Errorf("%d requests to the good host", n)
		}
		if n := len(bad.Hits()); n > 3+downAfter {
			t.Errorf("%d requests to the bad host", n)
		}
	})
}

func TestNothingElseThatFailedIsTakenForHostsThatAreDown(t *testing.T) {
	down, full := &HostDownError{Host: "http://a.test"}, errors.New("the disk is full")
	for err, want := range map[error]bool{
		down: true, fmt.Errorf("read source: %w", errors.Join(down, down)): true,
		full: false, errors.Join(fmt.Errorf("read source: %w", down), full): false, fmt.Errorf("%w: %w", down, full): false,
	} {
		if HostsDown(err) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
	if HostsDown(nil) {
		t.Error("nothing failed")
	}
}

func TestARateHoldsForEachHostInFastModeToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := wide(10, "", "http://b.test/"), wide(10, "")
		start := time.Now()
		got := crawl(t, t.Context(), Config{Seed: "http://a.test/", Depth: 3, Fast: true, Workers: 8, Delay: time.Second / 2, AllowHosts: []string{"b.test"}},
			inProcess{hosts{"a.test": a, "b.test": b}})
		if got.err != nil || len(got.pages) != 42 {
			t.Fatal(len(got.pages), got.err)
		}
		for _, s := range []*site.Site{a, b} {
			for i, d := range spacing(s) {
				if d < time.Second/2 {
					t.Errorf("request %d came after %v", i+1, d)
				}
			}
		}
		if took := time.Since(start); took > 14*time.Second {
			t.Errorf("22 requests to each of two hosts, two a second, took %v", took)
		}
	})
}

// A page whose host is not slow is not kept waiting by hosts that are, however
// many those are.
func TestHostsThatPauseTakeNoPlaceFromTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hosts{}
		var links, allow []string
		for i := range 12 {
			name := fmt.Sprintf("busy%d.test", i)
			h[name] = site.New(map[string]site.Page{"/": {Status: 503, Headers: []string{"Retry-After", "250"}}})
			links, allow = append(links, "http://"+name+"/"), append(allow, name)
		}
		h["good.test"] = wide(20, "", links...)
		start := time.Now()
		got := crawl(t, t.Context(), Config{Seed: "http://good.test/", Depth: 3, Fast: true, Workers: 4, AllowHosts: allow}, inProcess{h})
		if took := lastHit(h["good.test"], start); took > 10*time.Second || len(got.pages) != 41 {
			t.Errorf("%d pages, the good host's after %v", len(got.pages), took)
		}
		if got.report.FailedTotal != 12 {
			t.Errorf("%d failures, %v", got.report.FailedTotal, got.err)
		}
	})
}

// classed is a fetcher that fails for /bad with a class.
type classed struct {
	inProcess
	class fetch.Class
	bad   []time.Time // requests
}

func (f *classed) Fetch(ctx context.Context, req fetch.Request) (fetch.Response, error) {
	if !strings.HasSuffix(req.URL, "/bad") {
		return f.inProcess.Fetch(ctx, req)
	}
	f.bad = append(f.bad, time.Now())
	return fetch.Response{}, &fetch.Error{URL: req.URL, Class: f.class, Reason: "as the test wants it"}
}

func TestEachClassOfFailureIsTriedAsOftenAsItMayHelp(t *testing.T) {
	for class, tries := range map[fetch.Class]int{fetch.Denied: 1, fetch.Transient: 3, fetch.RenderFailed: 2, fetch.ResourceLimit: 2} {
		synctest.Test(t, func(t *testing.T) {
			s := site.New(map[string]site.Page{"/": site.Links("home", "/bad", "/good", "/better"), "/good": site.Links("good"), "/better": site.Links("better")})
			f := &classed{inProcess: inProcess{s}, class: class}
			got := crawl(t, t.Context(), Config{Seed: "http://127.0.0.1/", Depth: 1}, f)
			if got.err != nil || len(f.bad) != tries {
				t.Errorf("%s: %d requests, want %d, %v", class, len(f.bad), tries, got.err)
			}
			if r := got.report; r.FailedTotal != 1 || r.Classes[class] != 1 || len(r.Classes) != 1 || r.Failed[0].Class != class || r.Failed[0].Error == "" {
				t.Errorf("%s: failed %+v, counted %v", class, r.Failed, r.Classes)
			}
			// What may come later comes after what has not been tried.
			for _, h := range s.Hits() {
				if len(f.bad) > 1 && !h.At.Before(f.bad[1]) {
					t.Errorf("%s: %s was asked for after the second try", class, h.Target)
				}
			}
		})
	}
}

func TestAUserAgentIsObeyedUnderItsOwnName(t *testing.T) {
	for _, tc := range []struct {
		agent string
		want  []string
	}{
		{"", []string{"/", "/only-other", robotsTxt}},
		{"OtherBot/2.0 (+https://example.org/bot)", []string{"/", "/only-arborist", robotsTxt}},
		{"(no token)", []string{"/", "/only-other", robotsTxt}},
	} {
		s := site.New(map[string]site.Page{
			robotsTxt:        {Type: "text/plain", Body: "User-agent: arborist\nDisallow: /only-arborist\n\nUser-agent: otherbot\nDisallow: /only-other\n"},
			"/":              {Body: `<meta name=otherbot content=noindex><a href=/only-other>a</a> <a href=/only-arborist>b</a>`},
			"/only-other":    site.Links("a"),
			"/only-arborist": site.Links("b"),
		})
		got := fast(t, s, "/", 1, func(c *Config) { c.UserAgent = tc.agent })
		equal(t, tc.agent, sorted(s.Targets()), tc.want)
		if noindex := got.report.NoIndex == 1; noindex != strings.HasPrefix(tc.agent, "OtherBot") {
			t.Errorf("%s: noindex %d", tc.agent, got.report.NoIndex)
		}
		for _, h := range s.Hits() {
			if ua := h.Header.Get("User-Agent"); tc.agent != "" && ua != tc.agent || ua == "" {
				t.Errorf("%s asked as %q", h.Target, ua)
			}
		}
	}
}
