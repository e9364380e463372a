package peer

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A guest with many requests in line makes itself wait, and nobody else for more
// than what is being worked on.
func TestTurnsComeFirstToWhoWasServedLeast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts, ctx := &turns{free: 2}, t.Context()
		flooder, honest := new(guest), new(guest)
		const work = 10 * time.Millisecond
		var flood sync.WaitGroup
		for range 200 {
			flood.Go(func() {
				end, err := ts.take(ctx, flooder)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(work)
				end()
			})
		}
		for range 20 {
			time.Sleep(3 * work)
			began := time.Now()
			end, err := ts.take(ctx, honest)
			if err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(began); waited > work {
				t.Errorf("waited %s beside a flood, want at most %s", waited, work)
			}
			time.Sleep(work / 10)
			end()
		}
		flood.Wait()
	})
}

// Two guests that ask for all they can get half of it each, with however many requests.
func TestTurnsAreSharedEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := &turns{free: 2}
		ctx, stop := context.WithCancel(t.Context())
		var done [2]atomic.Int64
		var all sync.WaitGroup
		guests := [2]*guest{new(guest), new(guest)}
		for i, streams := range []int{2, 30} {
			for range streams {
				all.Go(func() {
					for ctx.Err() == nil {
						end, err := ts.take(ctx, guests[i])
						if err != nil {
							return
						}
						time.Sleep(time.Millisecond)
						done[i].Add(1)
						end()
					}
				})
			}
		}
		time.Sleep(time.Second)
		stop()
		all.Wait()
		if a, b := done[0].Load(), done[1].Load(); a < 900 || b < 900 || a+b < 1990 {
			t.Errorf("%d and %d requests were served, want 1000 each", a, b)
		}
		if ts.free != 2 || len(ts.waiting) != 0 {
			t.Errorf("%d turns are free and %d guests wait at the end", ts.free, len(ts.waiting))
		}
	})
}

// Whoever asked for nothing for a minute gets half of the turns then, not all of them.
func TestWhoWasAwayHasSavedNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := &turns{free: 1}
		var done [2]atomic.Int64
		var all sync.WaitGroup
		here, back := new(guest), new(guest)
		ask := func(ctx context.Context, g *guest, done *atomic.Int64) {
			for range 4 {
				all.Go(func() {
					for ctx.Err() == nil {
						end, err := ts.take(ctx, g)
						if err != nil {
							return
						}
						time.Sleep(10 * time.Millisecond)
						done.Add(1)
						end()
					}
				})
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute+time.Second)
		defer stop()
		ask(ctx, here, &done[0])
		time.Sleep(time.Minute)
		before := done[0].Load()
		ask(ctx, back, &done[1])
		all.Wait()
		if a, b := done[0].Load()-before, done[1].Load(); a < 45 || b < 45 {
			t.Errorf("%d and %d requests were served beside each other, want 50 each", a, b)
		}
	})
}

// Memory is held until a guest has read what it was sent. Who waits for it must
// not keep others from their turns.
func TestAGuestThatWaitsForMemoryHasNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(nil, nil, ServeConfig{}, slog.New(slog.DiscardHandler))
		h.turns = &turns{free: 1}
		slow := h.guests.enter("slow")
		release, err := h.guests.hold(t.Context(), slow, h.guests.cfg.PeerBytes)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		ctx, stop := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() {
			out := newReply(ctx, httptest.NewRecorder())
			defer out.endTurn()
			if err := h.serve(httptest.NewRequest("GET", "/", nil).WithContext(ctx), out, resource{kind: kindFuse}, slow); err == nil {
				t.Error("it was served without memory")
			}
		})
		synctest.Wait()
		if h.turns.free != 1 {
			t.Error("it has the only turn")
		}
		stop()
		waiting.Wait()
	})
}
