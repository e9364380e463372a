package crawl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arborist/crawl/fetch"
	"arborist/internal/arbtest/site"
)

// The crawls of this file run on a fake clock: they take no time, and times
// are exact. The site answers in process.

const robotsTxt = "/robots.txt"

func chainOf(n int, robots string) *site.Site {
	s := site.New(map[string]site.Page{"/": site.Links("home", "/1")})
	if robots != "" {
		s.Set(robotsTxt, site.Page{Type: "text/plain", Body: robots})
	}
	for i := 1; i <= n; i++ {
		s.Set(fmt.Sprintf("/%d", i), site.Links(fmt.Sprint(i), fmt.Sprintf("/%d", i+1)))
	}
	return s
}

// spacing gives the times between the starts of requests.
func spacing(s *site.Site) []time.Duration {
	var out []time.Duration
	hits := s.Hits()
	for i := 1; i < len(hits); i++ {
		out = append(out, hits[i].At.Sub(hits[i-1].At))
	}
	return out
}

func TestRequestsKeepTheSitesPace(t *testing.T) {
	const s = time.Second
	for _, tc := range []struct {
		name   string
		robots string
		cfg    Config
		want   time.Duration
	}{
		{"no word of the site", "", Config{}, 2 * s},
		{"rules without a delay", "User-agent: *\nDisallow: /x", Config{}, 2 * s},
		{"a longer delay", "User-agent: *\nCrawl-delay: 7", Config{}, 7 * s},
		{"a shorter delay", "User-agent: *\nCrawl-delay: 0.5", Config{}, s / 2},
		{"our own delay", "User-agent: arborist\nCrawl-delay: 3\nUser-agent: *\nCrawl-delay: 9", Config{}, 3 * s},
		{"two requests a second", "", Config{Delay: s / 2}, s / 2},
		{"asked for slower than the site", "User-agent: *\nCrawl-delay: 1", Config{Delay: 5 * s}, 5 * s},
		{"asked for faster than the site", "User-agent: *\nCrawl-delay: 5", Config{Delay: s}, 5 * s},
		{"fast", "User-agent: *\nCrawl-delay: 9", Config{Fast: true}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := chainOf(5, tc.robots)
				tc.cfg.Seed, tc.cfg.Depth = "http://127.0.0.1/", 9
				got := crawl(t, t.Context(), tc.cfg, inProcess{site})
				if got.err != nil || len(got.pages) != 6 {
					t.Fatal(len(got.pages), got.err)
				}
				if site.Targets()[0] != robotsTxt {
					t.Errorf("first request: %q", site.Targets()[0])
				}
				for i, d := range spacing(site) {
					if d != tc.want {
						t.Errorf("request %d came after %v, want %v", i+1, d, tc.want)
					}
				}
			})
		})
	}
}

func TestDisallowIsHonouredInEveryMode(t *testing.T) {
	for _, fast := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := site.New(map[string]site.Page{
				robotsTxt:     {Type: "text/plain", Body: "User-agent: *\nDisallow: /no\nAllow: /no/but\nDisallow: /*.cgi$\n"},
				"/":           site.Links("home", "/no", "/no/x", "/no/but", "/a.cgi", "/a.cgi?x", "/to", "/no%2Fx"),
				"/to":         {To: "/no/target"},
				"/no/target":  site.Links("target"),
				"/no/but":     site.Links("but"),
				"/a.cgi?x":    site.Links("cgi"),
				"/no":         site.Links("no"),
				"/no/x":       site.Links("no"),
				"/a.cgi":      site.Links("no"),
				"/no/target/": site.Links("no"),
			})
			got := crawl(t, t.Context(), Config{Seed: "http://127.0.0.1/", Depth: 5, Fast: fast}, inProcess{s})
			equal(t, "requests", sorted(s.Targets()), []string{"/", "/a.cgi?x", "/no/but", robotsTxt, "/to"})
			equal(t, "pages", sorted(got.paths()), []string{"/", "/a.cgi?x", "/no/but"})
			if got.report.RefusedTotal != 5 {
				t.Errorf("refused %+v", got.report.Refused)
			}
		})
	}
}

// failing answers with an error status a number of times, then with a page.
func failing(s *site.Site, target string, times, status int, headers ...string) {
	page := site.Links("recovered")
	s.Set(target, page)
	if times == 0 {
		return
	}
	s.Set(target, site.Page{Status: status, Headers: headers, Body: "error"})
}

func TestFailuresInPassingAreTriedAgainABoundedNumberOfTimes(t *testing.T) {
	for _, status := range []int{500, 502, 503, 504, 429, 408} {
		synctest.Test(t, func(t *testing.T) {
			s := site.New(map[string]site.Page{"/": site.Links("home", "/bad", "/good"), "/good": site.Links("good")})
			failing(s, "/bad", 99, status)
			got := crawl(t, t.Context(), Config{Seed: "http://127.0.0.1/", Depth: 1}, inProcess{s})
			if got.err != nil || s.Count("/bad") != 3 || len(got.pages) != 2 {
				t.Errorf("status %d: %d requests, %d pages, %v", status, s.Count("/bad"), len(got.pages), got.err)
			}
			f := got.report.Failed
			if len(f) != 1 || f[0].Class != fetch.Transient || !strings.Contains(f[0].Error, fmt.Sprint(status)) {
				t.Errorf("status %d: failed %+v", status, f)
			}
		})
	}
	for _, status := range []int{400, 401, 403, 404, 410, 451} {
		synctest.Test(t, func(t *testing.T) {
			s := site.New(map[string]site.Page{"/": site.Links("home", "/bad")})
			failing(s, "/bad", 99, status)
			got := crawl(t, t.Context(), Config{Seed: "http://127.0.0.1/", Depth: 1}, inProcess{s})
			if f := got.report.Failed; got.err != nil || s.Count("/bad") != 1 || len(f) != 1 || f[0].Class != fetch.Denied {
				t.Errorf("status %d: %d requests, failed %+v, %v", status, s.Count("/bad"), f, got.err)
			}
		})
	}
}

func TestAPageThatRecoversIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := site.New(map[string]site.Page{"/": site.Links("home", "/bad", "/good"), "/good": site.Links("good")})
		failing(s, "/bad", 1, 500)
		go func() {
			time.Sleep(5 * time.Second)
			failing(s, "/bad", 0, 0)
		}()
		got := crawl(t, t.Context(), Config{Seed: "http://127.0.0.1/", Depth: 1}, inProcess{s})
		equal(t, "pages", got.paths(), []string{"/", "/good", "/bad"})
		if got.report.FailedTotal != 0 {
			t.Errorf("%+v", got.report.Failed)
		}
	})
}

func TestRetryAfterIsObeyed(t *testing.T) {
	for _, fast := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := site.New(map[string]site.Page{"/": site.Links("home", "/busy", "/a", "/b"), "/a": site.Links("a"), "/b": site.Links("b")})
			failing(s, "/busy", 1, 429, "Retry-After", "60")
			go func() {
				time.Sleep(30 * time.Second)
				failing(s, "/busy", 0, 0)
			}()
			got := crawl(t, t.Context(), Config{Seed: "http://127.0.0.1/", Depth: 1, Fast: fast, Workers: 1}, inProcess{s})
			if got.err != nil || len(got.pages) != 4 {
				t.Fatal(got.paths(), got.err)
			}
			hits := s.Hits()
			at := slices.IndexFunc(hits, func(h site.Hit) bool { return h.Target == "/busy" })
			for _, h := range hits[at+1:] {
				// Requests that were under way at the same time are no breach.
				if d := h.At.Sub(hits[at].At); d > 0 && d < time.Minute {
					t.Errorf("fast %v: %s was requested %v after the host asked for a minute", fast, h.Target, d)
				}
			}
		})
	}
}

func TestAHostThatAsksForALongPauseIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := site.New(map[string]site.Page{"/": site.Links("home", "/busy", "/a"), "/a": site.Links("a")})
		failing(s, "/busy", 99, 503, "Retry-After", "7200")
		start := time.Now()
		got := crawl(t, t.Context(), Config{Seed: "http://127.0.0.1/", Depth: 1}, inProcess{s})
		var down *HostDownError
		if !errors.As(got.err, &down) || down.Pause != 2*time.Hour || time.Since(start) > time.Minute {
			t.Errorf("%v after %v", got.err, time.Since(start))
		}
		if len(got.pages) != 1 || s.Count("/a") != 0 {
			t.Errorf("pages %q, requests %q", got.paths(), s.Targets())
		}
	})
}

func TestAHostThatDiesIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hrefs []string
		s := site.New(nil)
		for i := range 500 {
			hrefs = append(hrefs, fmt.Sprintf("/%d", i))
			failing(s, hrefs[i], 99, 503)
		}
		s.Set("/", site.Links("home", hrefs...))
		got := crawl(t, t.Context(), Config{Seed: "http://127.0.0.1/", Depth: 1}, inProcess{s})
		var down *HostDownError
		if !errors.As(got.err, &down) || down.Host != "http://127.0.0.1" {
			t.Fatalf("%v", got.err)
		}
		if n := len(s.Hits()); n > 2+downAfter {
			t.Errorf("%d requests", n)
		}
	})
}

func TestASiteWhoseRulesAreLostIsNotCrawled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := chainOf(3000, "User-agent: *\nCrawl-delay: 2\n")
		go func() {
			time.Sleep(30 * time.Minute) // the rules count for an hour
			s.Set(robotsTxt, site.Page{Status: 503})
		}()
		got := crawl(t, t.Context(), Config{Seed: "http://127.0.0.1/", Depth: 5000, PatternBudget: 1 << 20}, inProcess{s})
		var down *HostDownError
		if !errors.As(got.err, &down) || !strings.Contains(down.Reason, "robots.txt") {
			t.Fatalf("%v", got.err)
		}
		hits := s.Hits()
		for _, h := range hits {
			if d := h.At.Sub(hits[0].At); d > time.Hour+time.Second && h.Target != robotsTxt {
				t.Fatalf("%s was requested %v after the rules were read", h.Target, d)
			}
		}
		if n := len(got.pages); n < 1700 || n > 1800 {
			t.Errorf("%d pages in an hour at one every 2 s", n)
		}
	})
}

func TestASiteWhoseRulesComeBackIsCrawledOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := chainOf(2000, "User-agent: *\nCrawl-delay: 2\n")
		go func() {
			time.Sleep(30 * time.Minute)
			s.Set(robotsTxt, site.Page{Status: 503})
			time.Sleep(31 * time.Minute)
			s.Set(robotsTxt, site.Page{Type: "text/plain", Body: "User-agent: *\nCrawl-delay: 2\n"})
		}()
		got := crawl(t, t.Context(), Config{Seed: "http://127.0.0.1/", Depth: 5000, PatternBudget: 1 << 20}, inProcess{s})
		if got.err != nil || len(got.pages) != 2001 {
			t.Errorf("%d pages, %v", len(got.pages), got.err)
		}
	})
}
