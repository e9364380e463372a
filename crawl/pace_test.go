package crawl

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// newGuest gives a guest of a pace that nobody else shares.
func newGuest(delay time.Duration) *guest { return &guest{pace: newPace(), delay: delay} }

// take takes a turn at a host for a request that takes no time.
func take(t *testing.T, g *guest, host string) {
	t.Helper()
	turn, err := g.turn(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	turn.end()
}

// starts takes n turns one after the other, each request lasting took, and
// gives their starts relative to the first.
func starts(t *testing.T, g *guest, host string, n int, took time.Duration) []time.Duration {
	t.Helper()
	var out []time.Duration
	var first time.Time
	for i := range n {
		turn, err := g.turn(t.Context(), host)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = time.Now()
		}
		out = append(out, time.Since(first))
		time.Sleep(took)
		turn.end()
	}
	return out
}

func TestRequestsToAHostStartTheDelayApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		g := newGuest(500 * ms)
		if got := starts(t, g, "a", 4, 100*ms); !slices.Equal(got, []time.Duration{0, 500 * ms, 1000 * ms, 1500 * ms}) {
			t.Errorf("short requests: %v", got)
		}
		if got := starts(t, g, "b", 3, 700*ms); !slices.Equal(got, []time.Duration{0, 700 * ms, 1400 * ms}) {
			t.Errorf("long requests: %v", got)
		}
		if got := starts(t, newGuest(0), "a", 3, 0); !slices.Equal(got, []time.Duration{0, 0, 0}) {
			t.Errorf("no delay: %v", got)
		}
	})
}

func TestADelayLearnedLaterHoldsForTheNextRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuest(2 * time.Second)
		start := time.Now()
		take(t, g, "a") // robots.txt
		g.keepTo("a", 10*time.Second)
		take(t, g, "a")
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("longer: %v", took)
		}
		g.keepTo("a", time.Second)
		take(t, g, "a")
		if took := time.Since(start); took != 11*time.Second {
			t.Errorf("shorter: %v", took)
		}
	})
}

func TestHostsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuest(time.Minute)
		start := time.Now()
		g.pace.pushBack("slow", time.Hour)
		for _, host := range []string{"a", "b", "c"} {
			take(t, g, host)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("%v", took)
		}
	})
}

func TestConcurrentTurnsKeepTheSpacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuest(500 * time.Millisecond)
		begin := time.Now()
		var mu sync.Mutex
		var at []time.Duration
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				take(t, g, "a")
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
		g := newGuest(0)
		take(t, g, "a")
		start := time.Now()
		for range 6 { // six requests were under way
			g.pace.pushBack("a", 3*time.Second)
		}
		take(t, g, "a")
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("pause: %v", took)
		}
		take(t, g, "a")
		if took := time.Since(start); took != 3500*time.Millisecond {
			t.Errorf("spacing after it: %v", took)
		}
		g.pace.pushBack("a", 0)
		start = time.Now()
		take(t, g, "a")
		if took := time.Since(start); took != time.Second {
			t.Errorf("spacing after a second push: %v", took)
		}
		for range 100 {
			g.pace.calm("a")
		}
		take(t, g, "a")
		start = time.Now()
		take(t, g, "a")
		if took := time.Since(start); took != 0 {
			t.Errorf("spacing after a long calm: %v", took)
		}
		for range 50 {
			take(t, g, "a")
			g.pace.pushBack("a", 0)
		}
		start = time.Now()
		take(t, g, "a")
		if took := time.Since(start); took > slowest {
			t.Errorf("spacing grew to %v", took)
		}
	})
}

func TestAPauseHoldsForTurnsThatWaitAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuest(time.Second)
		take(t, g, "a")
		start := time.Now()
		done := make(chan time.Duration)
		go func() {
			take(t, g, "a")
			done <- time.Since(start)
		}()
		time.Sleep(500 * time.Millisecond)
		g.pace.pushBack("a", 5*time.Second)
		if took := <-done; took < 5500*time.Millisecond {
			t.Errorf("the turn came after %v", took)
		}
	})
}

func TestWaitingForATurnEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuest(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		take(t, g, "a")
		start := time.Now()
		if _, err := g.turn(ctx, "a"); err == nil || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// guests gives guests of one pace.
func guests(delays ...time.Duration) (all []*guest) {
	p := newPace()
	for _, d := range delays {
		all = append(all, &guest{pace: p, delay: d, polite: d > 0})
	}
	return all
}

func TestTheSlowestGuestHoldsWhileItStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const s = time.Second
		all := guests(5*s, 2*s, 0)
		slow, polite, fast := all[0], all[1], all[2]
		start := time.Now()
		for i, step := range []struct {
			guest *guest
			at    time.Duration
		}{{fast, 0}, {polite, 2 * s}, {slow, 7 * s}, {fast, 12 * s}, {polite, 17 * s}} {
			if take(t, step.guest, "a"); time.Since(start) != step.at {
				t.Errorf("request %d at %v, want %v", i, time.Since(start), step.at)
			}
		}
		go func() {
			time.Sleep(s)
			slow.leave() // while the next turn is waited for
		}()
		if take(t, polite, "a"); time.Since(start) != 19*s {
			t.Errorf("without the slowest at %v", time.Since(start))
		}
		polite.leave()
		if take(t, fast, "a"); time.Since(start) != 19*s {
			t.Errorf("without the polite at %v", time.Since(start))
		}
		late := &guest{pace: slow.pace, delay: 3 * s, polite: true}
		if take(t, late, "a"); time.Since(start) != 22*s {
			t.Errorf("a guest that comes later: at %v", time.Since(start))
		}
	})
}

func TestAPoliteGuestIsNeverUnderWayWithAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := guests(time.Millisecond, 0)
		polite, fast := all[0], all[1]
		var mu sync.Mutex
		underWay, most, alone := 0, 0, 0
		var wg sync.WaitGroup
		ask := func(g *guest) {
			turn, err := g.turn(t.Context(), "a")
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			underWay++
			if most = max(most, underWay); g.polite {
				alone = max(alone, underWay)
			}
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			underWay--
			mu.Unlock()
			turn.end()
		}
		for range 5 {
			wg.Go(func() { ask(fast) })
		}
		synctest.Wait()
		if most != 5 {
			t.Errorf("%d fast requests at once before there was a polite guest", most)
		}
		for range 5 {
			wg.Go(func() { ask(polite) })
			wg.Go(func() { ask(fast) })
		}
		time.Sleep(1500 * time.Millisecond)
		mu.Lock()
		most = underWay
		mu.Unlock()
		wg.Wait()
		if most != 1 || alone != 1 {
			t.Errorf("%d requests at once beside a polite guest, %d with its own", most, alone)
		}
	})
}

func TestHostsThatNobodyAsksAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		stays := &guest{pace: p}
		take(t, stays, "stays")
		p.pushBack("pause", time.Hour)
		for i := range 3 * hostsKept {
			g := &guest{pace: p}
			take(t, g, fmt.Sprint(i))
			g.leave()
			time.Sleep(time.Second)
		}
		if n := len(p.hosts); n > hostsKept {
			t.Errorf("%d hosts are remembered", n)
		}
		if p.hosts["stays"] == nil {
			t.Error("a host with a guest was forgotten")
		}
		p.pushBack("pause", time.Hour)
		for i := range 2 * hostsKept {
			p.host(fmt.Sprint("x", i))
		}
		if !p.slowed("pause") {
			t.Error("a host that asked for a pause was forgotten")
		}
	})
}
