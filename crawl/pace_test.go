package crawl

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// starts takes n turns one after the other, each request lasting took, and
// gives their starts relative to the first.
func starts(t *testing.T, p *pace, host string, n int, took time.Duration) []time.Duration {
	t.Helper()
	var out []time.Duration
	var first time.Time
	for i := range n {
		if err := p.wait(t.Context(), host); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = time.Now()
		}
		out = append(out, time.Since(first))
		time.Sleep(took)
	}
	return out
}

func TestRequestsToAHostStartTheDelayApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		p := newPace(500 * ms)
		if got := starts(t, p, "a", 4, 100*ms); !slices.Equal(got, []time.Duration{0, 500 * ms, 1000 * ms, 1500 * ms}) {
			t.Errorf("short requests: %v", got)
		}
		if got := starts(t, p, "b", 3, 700*ms); !slices.Equal(got, []time.Duration{0, 700 * ms, 1400 * ms}) {
			t.Errorf("long requests: %v", got)
		}
		if got := starts(t, newPace(0), "a", 3, 0); !slices.Equal(got, []time.Duration{0, 0, 0}) {
			t.Errorf("no delay: %v", got)
		}
	})
}

func TestADelayLearnedLaterHoldsForTheNextRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(2 * time.Second)
		start := time.Now()
		p.wait(t.Context(), "a") // robots.txt
		p.setDelay("a", 10*time.Second)
		p.wait(t.Context(), "a")
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("longer: %v", took)
		}
		p.setDelay("a", time.Second)
		p.wait(t.Context(), "a")
		if took := time.Since(start); took != 11*time.Second {
			t.Errorf("shorter: %v", took)
		}
	})
}

func TestHostsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(time.Minute)
		start := time.Now()
		p.pushBack("slow", time.Hour)
		for _, host := range []string{"a", "b", "c"} {
			p.wait(t.Context(), host)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("%v", took)
		}
	})
}

func TestConcurrentTurnsKeepTheSpacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(500 * time.Millisecond)
		begin := time.Now()
		var mu sync.Mutex
		var at []time.Duration
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				p.wait(t.Context(), "a")
				mu.Lock()
				defer mu.Unlock()
				at = append(at, time.Since(begin))
			})
		}
		wg.Wait()
		for i, d := range at {
			if d != time.Duration(i)*500*time.Millisecond {
				t.Fatalf("turns at %v", at)
			}
		}
	})
}

func TestAHostThatPushesBackIsSlowedAndForgiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(0)
		p.wait(t.Context(), "a")
		start := time.Now()
		for range 6 { // six requests were under way
			p.pushBack("a", 3*time.Second)
		}
		p.wait(t.Context(), "a")
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("pause: %v", took)
		}
		p.wait(t.Context(), "a")
		if took := time.Since(start); took != 3500*time.Millisecond {
			t.Errorf("spacing after it: %v", took)
		}
		p.pushBack("a", 0)
		start = time.Now()
		p.wait(t.Context(), "a")
		if took := time.Since(start); took != time.Second {
			t.Errorf("spacing after a second push: %v", took)
		}
		for range 100 {
			p.calm("a")
		}
		p.wait(t.Context(), "a")
		start = time.Now()
		p.wait(t.Context(), "a")
		if took := time.Since(start); took != 0 {
			t.Errorf("spacing after a long calm: %v", took)
		}
		for range 50 {
			p.wait(t.Context(), "a")
			p.pushBack("a", 0)
		}
		start = time.Now()
		p.wait(t.Context(), "a")
		if took := time.Since(start); took > slowest {
			t.Errorf("spacing grew to %v", took)
		}
	})
}

func TestAPauseHoldsForTurnsThatWaitAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(time.Second)
		p.wait(t.Context(), "a")
		start := time.Now()
		done := make(chan time.Duration)
		go func() {
			p.wait(t.Context(), "a")
			done <- time.Since(start)
		}()
		time.Sleep(500 * time.Millisecond)
		p.pushBack("a", 5*time.Second)
		if took := <-done; took < 5500*time.Millisecond {
			t.Errorf("the turn came after %v", took)
		}
	})
}

func TestWaitingForATurnEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p.wait(ctx, "a")
		start := time.Now()
		if err := p.wait(ctx, "a"); err == nil || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}
