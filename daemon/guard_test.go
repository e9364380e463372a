package daemon

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arborist/peer"
	"arborist/proof"
	"arborist/shard/corpus"
)

// A fakeNet counts who is asked. Peers named "hang…" answer when the call ends.
type fakeNet struct {
	peers []string

	mu    sync.Mutex
	asked map[string]int
	most  int // visits at a time
	now   int
}

func (f *fakeNet) Peers() []peer.Info {
	infos := make([]peer.Info, len(f.peers))
	for i, id := range f.peers {
		infos[i].ID = id
	}
	return infos
}

func (f *fakeNet) Heads(ctx context.Context, origin string) ([]peer.PeerHead, error) {
	for _, id := range f.peers {
		if _, err := f.HeadsOf(ctx, id, nil); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (f *fakeNet) HeadsOf(ctx context.Context, id string, _ []string) ([]peer.PeerHead, error) {
	f.mu.Lock()
	f.asked[id]++
	f.now++
	f.most = max(f.most, f.now)
	f.mu.Unlock()
	if len(id) > 4 && id[:4] == "hang" {
		<-ctx.Done()
	}
	f.mu.Lock()
	f.now--
	f.mu.Unlock()
	return nil, nil
}

func (f *fakeNet) Weigh(context.Context, peer.PeerHead) (proof.Checkpoint, error) {
	return proof.Checkpoint{}, nil
}

func (f *fakeNet) count(id string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[id]
}

// fakeCorpora is a store with one own corpus.
type fakeCorpora struct{}

var ours = corpus.Info{Origin: "us/main", Own: true, Size: 3, Seen: 3}

func (fakeCorpora) List(context.Context) ([]corpus.Info, error) { return []corpus.Info{ours}, nil }

func (fakeCorpora) Lookup(context.Context, string) (corpus.Info, error) { return ours, nil }

func (fakeCorpora) AddCosignatures(context.Context, string, []byte) (int, error) { return 0, nil }

// guarded runs fn beside a guard over a fake network, in fake time.
func guarded(t *testing.T, peers []string, fn func(*testing.T, *fakeNet, *guard)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		net := &fakeNet{peers: peers, asked: make(map[string]int)}
		g := newGuard(fakeCorpora{}, time.Hour, slog.New(slog.DiscardHandler))
		g.net = net
		done := make(chan struct{})
		go func() {
			defer close(done)
			g.run(ctx)
		}()
		fn(t, net, g)
		cancel()
		<-done
	})
}

func TestAPeerIsAskedWhenItConnectsAndInEachRound(t *testing.T) {
	guarded(t, []string{"a", "b"}, func(t *testing.T, net *fakeNet, g *guard) {
		g.arrived("a")
		g.arrived("a") // a second connection
		synctest.Wait()
		if a, b := net.count("a"), net.count("b"); a != 1 || b != 0 {
			t.Fatalf("after a connected: asked %d and %d times", a, b)
		}
		time.Sleep(2 * guardPause)
		g.arrived("a")
		synctest.Wait()
		if a := net.count("a"); a != 2 {
			t.Fatalf("after a connected again later: asked %d times", a)
		}
		g.again("a") // the owner joins it once more
		synctest.Wait()
		if a := net.count("a"); a != 3 {
			t.Fatalf("joined again by the owner: asked %d times", a)
		}
		// Rounds are 45 to 75 minutes apart.
		time.Sleep(44*time.Minute - 2*guardPause)
		synctest.Wait()
		if b := net.count("b"); b != 0 {
			t.Fatalf("before the first round: asked %d times", b)
		}
		time.Sleep(10*time.Hour - 44*time.Minute)
		synctest.Wait()
		if b := net.count("b"); b < 8 || b > 13 {
			t.Errorf("asked %d times in 10 hours, want about 10", b)
		}
	})
}

func TestPeersThatHangHoldUpNeitherRoundsNorTheEnd(t *testing.T) {
	peers := []string{"hang1", "hang2", "hang3", "hang4", "hang5", "hang6", "a"}
	guarded(t, peers, func(t *testing.T, net *fakeNet, g *guard) {
		start := time.Now()
		for _, id := range peers {
			g.arrived(id)
		}
		for net.count("a") == 0 {
			time.Sleep(time.Second)
		}
		if took := time.Since(start); took > 2*guardVisit {
			t.Errorf("the honest peer waited %v", took)
		}
		if net.most > guardVisits {
			t.Errorf("%d peers were asked at a time, want at most %d", net.most, guardVisits)
		}
		for i := range 10 * guardQueue { // more than there is room for
			g.arrived("hang" + string(rune('A'+i)))
		}
		// guarded ends the guard in the middle of their visits.
	})
}

func TestTheFirstAppendAsksOnceAndWaitsAShortTime(t *testing.T) {
	guarded(t, []string{"hang1"}, func(t *testing.T, net *fakeNet, g *guard) {
		start := time.Now()
		g.beforeAppend(t.Context(), ours.Origin, false)
		if took := time.Since(start); took != headsWait {
			t.Errorf("the first append waited %v, want %v", took, headsWait)
		}
		start = time.Now()
		g.beforeAppend(t.Context(), ours.Origin, false)
		if took := time.Since(start); took != 0 || net.count("hang1") != 1 {
			t.Errorf("the second append waited %v, asked %d times", took, net.count("hang1"))
		}
		net.peers = nil
		g.beforeAppend(t.Context(), "us/other", false)
		net.peers = []string{"a"} // that nobody was there does not count as asked
		g.beforeAppend(t.Context(), "us/other", false)
		if net.count("a") != 1 {
			t.Errorf("asked %d times", net.count("a"))
		}
	})
}
