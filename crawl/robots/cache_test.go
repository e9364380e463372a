package robots

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"arborist/crawl/fetch"
	"arborist/crawl/internal/weburl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a fetcher for tests on the fake clock, where no real connection can
// be: it answers from a function and counts. The tests in live_test.go run
// the real one.
type site struct {
	answer  func(url string) (fetch.Response, error)
	takes   time.Duration
	fetched atomic.Int64
	running atomic.Int64
}

func (s *site) Fetch(ctx context.Context, req fetch.Request) (fetch.Response, error) {
	s.fetched.Add(1)
	s.running.Add(1)
	defer s.running.Add(-1)
	if s.takes > 0 {
		select {
		case <-time.After(s.takes):
		case <-ctx.Done():
			return fetch.Response{}, context.Cause(ctx)
		}
	}
	return s.answer(req.URL)
}

func file(text string) func(string) (fetch.Response, error) {
	return func(string) (fetch.Response, error) {
		return fetch.Response{Status: 200, Body: []byte(text)}, nil
	}
}

func status(code int) func(string) (fetch.Response, error) {
	return func(url string) (fetch.Response, error) {
		if e := fetch.StatusError(url, code, nil); e != nil {
			return fetch.Response{}, e
		}
		return fetch.Response{Status: code}, nil
	}
}

func parse(t *testing.T, url string) weburl.URL {
	t.Helper()
	u, err := weburl.NewParser(nil).Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func mustCheck(t *testing.T, c *Reader, url string) Decision {
	t.Helper()
	d, err := c.Check(t.Context(), parse(t, url))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRulesAreFetchedOncePerLifetime(t *testing.T) {
	for _, c := range []struct{ set, lives time.Duration }{{0, time.Hour}, {10 * time.Minute, 10 * time.Minute}, {72 * time.Hour, 24 * time.Hour}} {
		synctest.Test(t, func(t *testing.T) {
			s := &site{answer: file("User-agent: *\nDisallow: /a\nCrawl-delay: 3")}
			cache := NewCache(CacheConfig{TTL: c.set}).Through(s)
			for range 3 {
				d := mustCheck(t, cache, "http://e.org/a/b?c#d")
				if d.Allowed || d.Reason != "robots.txt: Disallow: /a" || d.CrawlDelay != 3*time.Second || !d.HasDelay || d.Temporary {
					t.Errorf("%+v", d)
				}
			}
			time.Sleep(c.lives - time.Second)
			mustCheck(t, cache, "http://e.org/")
			if n := s.fetched.Load(); n != 1 {
				t.Errorf("TTL %v: %d fetches within the lifetime", c.set, n)
			}
			time.Sleep(time.Second)
			mustCheck(t, cache, "http://e.org/")
			if n := s.fetched.Load(); n != 2 {
				t.Errorf("TTL %v: %d fetches after the lifetime", c.set, n)
			}
		})
	}
}

func TestEachOriginHasItsOwnRules(t *testing.T) {
	s := &site{answer: func(url string) (fetch.Response, error) {
		return fetch.Response{Status: 200, Body: []byte("User-agent: *\nDisallow: /" + strings.ReplaceAll(url, "/", "-"))}, nil
	}}
	cache := NewCache(CacheConfig{}).Through(s)
	for i, u := range []string{"http://e.org/", "https://e.org/", "http://e.org:8080/", "http://www.e.org/", "http://[::1]/"} {
		mustCheck(t, cache, u)
		if n := int(s.fetched.Load()); n != i+1 {
			t.Errorf("%s shares the rules of another origin", u)
		}
	}
	for _, same := range []string{"http://E.org:80/x", "HTTP://e.ORG", "https://e.org:443/#f"} {
		mustCheck(t, cache, same)
	}
	if n := s.fetched.Load(); n != 5 {
		t.Errorf("%d fetches for five origins", n)
	}
}

func TestStatusDecidesByTheRFC(t *testing.T) {
	for _, c := range []struct {
		code               int
		allowed, temporary bool
	}{
		{200, true, false}, {204, true, false}, {401, false, false}, {403, false, false},
		{400, true, false}, {404, true, false}, {408, true, false}, {410, true, false}, {418, true, false}, {451, true, false}, {402, true, false},
		{429, false, true}, {500, false, true}, {502, false, true}, {503, false, true}, {599, false, true},
		{304, false, true}, {302, false, true}, // a redirect to nowhere
	} {
		d := mustCheck(t, NewCache(CacheConfig{}).Through(&site{answer: status(c.code)}), "http://e.org/x")
		if d.Allowed != c.allowed || d.Temporary != c.temporary {
			t.Errorf("status %d: %+v", c.code, d)
		}
		if !d.Allowed && !strings.Contains(d.Reason, "status "+fmt.Sprint(c.code)) {
			t.Errorf("status %d: the reason does not say so: %q", c.code, d.Reason)
		}
	}
}

func TestUnreachableStaysClosedUntilItAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{answer: status(503)}
		cache := NewCache(CacheConfig{}).Through(s)
		closed := func(wait time.Duration) {
			t.Helper()
			d := mustCheck(t, cache, "http://e.org/x")
			if d.Allowed || !d.Temporary || d.RetryAfter != wait {
				t.Errorf("%+v, want closed for %v", d, wait)
			}
		}
		// Asked again after 1, 2, 4 … minutes, never later than the TTL.
		for i, wait := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
			wait := time.Duration(wait) * time.Minute
			closed(wait)
			time.Sleep(wait - time.Second)
			closed(time.Second)
			if n := s.fetched.Load(); n != int64(i+1) {
				t.Fatalf("asked %d times in round %d", n, i)
			}
			time.Sleep(time.Second)
		}
		s.answer = file("")
		if d := mustCheck(t, cache, "http://e.org/x"); !d.Allowed {
			t.Errorf("still closed after it answered: %+v", d)
		}
		// An origin that was open closes again, and starts at a minute.
		time.Sleep(time.Hour)
		s.answer = func(string) (fetch.Response, error) { return fetch.Response{}, errors.New("no route") }
		closed(time.Minute)
	})
}

func TestServersRetryAfterIsRespectedUpToTheTTL(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{0: time.Minute, 10 * time.Minute: 10 * time.Minute, 20 * time.Hour: time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := &site{answer: func(url string) (fetch.Response, error) {
				return fetch.Response{}, &fetch.Error{URL: url, Class: fetch.Transient, Status: 503, Reason: "status 503", RetryAfter: asked}
			}}
			if d := mustCheck(t, NewCache(CacheConfig{}).Through(s), "http://e.org/"); d.RetryAfter != want {
				t.Errorf("asked for %v, waits %v, want %v", asked, d.RetryAfter, want)
			}
		})
	}
}

func TestCallersOfOneOriginShareAFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{answer: file("User-agent: *\nDisallow: /"), takes: 2 * time.Second}
		cache := NewCache(CacheConfig{}).Through(s)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if d := mustCheck(t, cache, "http://e.org/x"); d.Allowed {
					t.Error("allowed")
				}
			})
		}
		// Another origin does not wait for this one.
		wg.Go(func() { mustCheck(t, cache, "http://other.org/x") })
		start := time.Now()
		wg.Wait()
		if n := s.fetched.Load(); n != 2 || time.Since(start) != 2*time.Second {
			t.Errorf("%d fetches in %v", n, time.Since(start))
		}
	})
}

func TestCallerThatLeavesDoesNotTakeTheFetchAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{answer: file(""), takes: 4 * time.Second}
		cache, page := NewCache(CacheConfig{}).Through(s), parse(t, "http://e.org/")
		first, leave := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, err := cache.Check(first, page)
			gone <- err
		}()
		synctest.Wait()
		stayed := make(chan Decision)
		go func() { stayed <- mustCheck(t, cache, "http://e.org/") }()
		synctest.Wait()
		leave()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("the caller that left got %v", err)
		}
		if d := <-stayed; !d.Allowed || s.fetched.Load() != 1 {
			t.Errorf("the one that stayed got %+v after %d fetches", d, s.fetched.Load())
		}
	})
}

func TestFetchEndsWhenNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{answer: file(""), takes: time.Hour}
		cache, page := NewCache(CacheConfig{}).Through(s), parse(t, "http://e.org/")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := cache.Check(ctx, page); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if n := s.running.Load(); n != 0 {
			t.Errorf("%d fetches still run", n)
		}
		// Given up is not an answer: the next caller fetches again.
		s.takes = 0
		if d := mustCheck(t, cache, "http://e.org/"); !d.Allowed || s.fetched.Load() != 2 {
			t.Errorf("%+v after %d fetches", d, s.fetched.Load())
		}
	})
}

// A caller may join a fetch in the instant in which the last waiter leaves.
func TestJoiningAFetchThatIsBeingCancelledStartsAnother(t *testing.T) {
	s := &site{answer: file(""), takes: 200 * time.Microsecond}
	cache, page := NewCache(CacheConfig{TTL: time.Nanosecond}).Through(s), parse(t, "http://e.org/")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration((i+j)%5)*100*time.Microsecond)
				if i == 0 {
					cancel()
					ctx, cancel = context.WithCancel(t.Context())
				}
				d, err := cache.Check(ctx, page)
				if err == nil && !d.Allowed || err != nil && ctx.Err() == nil {
					t.Errorf("%+v, %v", d, err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
}

func TestNumberAndWeightOfOriginsAreBounded(t *testing.T) {
	s := &site{answer: file("User-agent: *\nDisallow: /a")}
	cache := NewCache(CacheConfig{MaxOrigins: 10})
	reader := cache.Through(s)
	for i := range 100 {
		mustCheck(t, reader, fmt.Sprintf("http://h%d.org/", i))
		mustCheck(t, reader, "http://often.org/")
	}
	if len(cache.origins) != 10 || cache.recent.Len() != 10 {
		t.Errorf("%d origins kept, list of %d", len(cache.origins), cache.recent.Len())
	}
	if n := s.fetched.Load(); n != 101 {
		t.Errorf("%d fetches: the origin in use was forgotten", n)
	}

	var long strings.Builder
	long.WriteString("User-agent: *\n")
	for i := 0; long.Len() < MaxSize-5000; i++ {
		fmt.Fprintf(&long, "Disallow: /%d%s\n", i, strings.Repeat("a", 4000))
	}
	heavy := NewCache(CacheConfig{})
	reader = heavy.Through(&site{answer: file(long.String())})
	for i := range 80 {
		mustCheck(t, reader, fmt.Sprintf("http://h%d.org/", i))
	}
	sum := 0
	for _, o := range heavy.origins {
		sum += o.verdict.rules.weight
	}
	if sum != heavy.weight || sum > maxWeight || len(heavy.origins) >= 80 || len(heavy.origins) < 10 {
		t.Errorf("weight %d, counted %d, %d origins", sum, heavy.weight, len(heavy.origins))
	}
}

func TestOriginBeingFetchedIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{answer: file("User-agent: *\nDisallow: /a"), takes: 2 * time.Second}
		cache := NewCache(CacheConfig{MaxOrigins: 1})
		reader := cache.Through(s)
		var wg sync.WaitGroup
		for _, u := range []string{"http://a.org/", "http://b.org/", "http://c.org/", "http://a.org/"} {
			wg.Go(func() { mustCheck(t, reader, u) })
			synctest.Wait()
		}
		wg.Wait()
		if n := s.fetched.Load(); n != 3 {
			t.Errorf("%d fetches for three origins", n)
		}
		mustCheck(t, reader, "http://d.org/")
		if one := cache.origins["http://d.org"]; len(cache.origins) != 1 || one == nil || cache.weight != one.verdict.rules.weight {
			t.Errorf("%d origins, weight %d", len(cache.origins), cache.weight)
		}
	})
}

func TestReadersShareAnswersButNotWhatIsTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusing := func(url string) (fetch.Response, error) {
			return fetch.Response{}, &fetch.Error{URL: url, Class: fetch.Denied}
		}
		broken := func(string) (fetch.Response, error) { return fetch.Response{}, errors.New("its archive is full") }
		for name, first := range map[string]func(string) (fetch.Response, error){"a guard refuses": refusing, "a fetcher is broken": broken} {
			cache := NewCache(CacheConfig{})
			f, g := &site{answer: first, takes: time.Second}, &site{answer: file("User-agent: *\nDisallow: /a")}
			own, other, third := cache.Through(f), cache.Through(g), cache.Through(g)
			const page = "http://e.org/b"
			var wg sync.WaitGroup
			wg.Go(func() {
				if d := mustCheck(t, own, page); d.Allowed || d.Err == nil {
					t.Errorf("%s: %+v", name, d)
				}
			})
			synctest.Wait() // the other waits for the same request
			wg.Go(func() {
				if d := mustCheck(t, other, page); !d.Allowed {
					t.Errorf("%s, and another reader is told %+v", name, d)
				}
			})
			wg.Wait()
			mustCheck(t, third, page)
			mustCheck(t, own, page) // is glad of what another could fetch
			if f.fetched.Load() != 1 || g.fetched.Load() != 1 {
				t.Errorf("%s: %d and %d requests", name, f.fetched.Load(), g.fetched.Load())
			}
		}
	})
}
