package crawl

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arborist/crawl/fetch"
	"arborist/internal/arbtest/site"
)

// Crawls of this file share what crawls of one process share.

// counted answers after a while, and notes how many requests were under way.
type counted struct {
	*site.Site
	takes time.Duration

	mu             sync.Mutex
	underWay, most int
}

func (s *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.underWay++
	s.most = max(s.most, s.underWay)
	s.mu.Unlock()
	s.Site.ServeHTTP(w, r)
	time.Sleep(s.takes)
	s.mu.Lock()
	s.underWay--
	s.mu.Unlock()
}

func TestCrawlsOfOneHostInTurnKeepItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := chainOf(6, "User-agent: *\nCrawl-delay: 3")
		shared := NewPoliteness("", 0)
		for _, seed := range []string{"/", "/3", "/5"} {
			got := crawl(t, t.Context(), Config{Seed: "http://127.0.0.1" + seed, Depth: 1, Politeness: shared}, inProcess{s})
			if got.err != nil || len(got.pages) != 2 {
				t.Fatal(len(got.pages), got.err)
			}
		}
		for i, d := range spacing(s) {
			// Only robots.txt and the first page come before the delay is known.
			if want := 3 * time.Second; d != want {
				t.Errorf("request %d came after %v, want %v", i+1, d, want)
			}
		}
		if n := s.Count(robotsTxt); n != 1 {
			t.Errorf("robots.txt was asked for %d times", n)
		}
		time.Sleep(time.Hour)
		crawl(t, t.Context(), Config{Seed: "http://127.0.0.1/", Politeness: shared}, inProcess{s})
		if n := s.Count(robotsTxt); n != 2 {
			t.Errorf("robots.txt was asked for %d times, its hour being over", n)
		}
	})
}

func TestCrawlsOfOneHostAtOnceAreOneVisitor(t *testing.T) {
	for _, tc := range []struct {
		name          string
		first, second Config
		want          time.Duration
	}{
		{"at one rate", Config{Delay: 2 * time.Second}, Config{Delay: 2 * time.Second}, 2 * time.Second},
		{"at two rates", Config{Delay: 5 * time.Second}, Config{Delay: time.Second}, 5 * time.Second},
		{"a fast one beside", Config{Delay: 2 * time.Second}, Config{Fast: true}, 2 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &counted{Site: chainOf(20, ""), takes: 300 * time.Millisecond}
				shared := NewPoliteness("", 0)
				// The second has less to do, so both run for as long as it runs.
				tc.first.Seed, tc.first.Depth = "http://127.0.0.1/", 9
				tc.second.Seed, tc.second.Depth = "http://127.0.0.1/11", 5
				var wg sync.WaitGroup
				for _, cfg := range []Config{tc.first, tc.second} {
					cfg.Politeness = shared
					wg.Go(func() {
						if got := crawl(t, t.Context(), cfg, inProcess{s}); got.err != nil || len(got.pages) != cfg.Depth+1 {
							t.Error(len(got.pages), got.err)
						}
					})
					synctest.Wait()
				}
				wg.Wait()
				for i, d := range spacing(s.Site) {
					if d < tc.want {
						t.Errorf("request %d came after %v, want %v", i+1, d, tc.want)
					}
				}
				if s.most != 1 {
					t.Errorf("%d requests were under way at once", s.most)
				}
				if n := s.Count(robotsTxt); n != 1 {
					t.Errorf("robots.txt was asked for %d times", n)
				}
			})
		})
	}
}

func TestAPauseOutlivesTheCrawlThatWasGivenIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := site.New(map[string]site.Page{"/": site.Links("home", "/busy"), "/busy": {Status: 503, Headers: []string{"Retry-After", "600"}}})
		shared := NewPoliteness("", 0)
		crawl(t, t.Context(), Config{Seed: "http://127.0.0.1/", Depth: 1, Politeness: shared}, inProcess{s})
		crawl(t, t.Context(), Config{Seed: "http://127.0.0.1/", Politeness: shared}, inProcess{s})
		all := spacing(s)
		if last := all[len(all)-1]; last != longestPause {
			t.Errorf("the next crawl asked after %v", last)
		}
	})
}

// partial asks for a part of each page at another port of its host while the
// page is under way, as a browser does.
type partial struct{ inProcess }

func (f partial) Fetch(ctx context.Context, req fetch.Request) (fetch.Response, error) {
	if req.Parts != nil {
		if err := req.Parts(ctx, "http://127.0.0.1:8080/script.js"); err != nil {
			return fetch.Response{}, err
		}
	}
	return f.inProcess.Fetch(ctx, req)
}

func TestAPartOfAPageDoesNotWaitForItsOwnPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got := crawl(t, ctx, Config{Seed: "http://127.0.0.1/", AllowHosts: []string{"127.0.0.1:8080"}}, partial{inProcess{chainOf(1, "")}})
		if got.err != nil || len(got.pages) != 1 {
			t.Errorf("%d pages, %v", len(got.pages), got.err)
		}
	})
}

func TestALongWaitIsTold(t *testing.T) {
	for delay, want := range map[string]int{"3": 0, "30": 2} {
		synctest.Test(t, func(t *testing.T) {
			s := chainOf(3, "User-agent: *\nCrawl-delay: "+delay)
			var mu sync.Mutex
			told := 0
			got := crawl(t, t.Context(), Config{Seed: "http://127.0.0.1/", Depth: 1, Waits: func(host string, wait time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				told++
				if host != "127.0.0.1" || wait > 30*time.Second || wait < 25*time.Second {
					t.Errorf("told of %q, %v", host, wait)
				}
			}}, inProcess{s})
			if got.err != nil || len(got.pages) != 2 {
				t.Fatal(len(got.pages), got.err)
			}
			if told != want {
				t.Errorf("Crawl-delay %s: told %d times, want %d", delay, told, want)
			}
		})
	}
}
