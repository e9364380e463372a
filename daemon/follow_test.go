package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arborist/daemon/api"
	"arborist/peer"
	"arborist/shard/corpus"
)

// A fakeFollowing is a store with one followed corpus and a network that brings
// it up to date, as far as each peer has it.
type fakeFollowing struct {
	mu    sync.Mutex
	info  corpus.Info
	has   map[string]uint64 // by peer; "" is whoever is found
	asked []string
	at    []time.Time
}

func (f *fakeFollowing) List(context.Context) ([]corpus.Info, error) { return nil, nil }

func (f *fakeFollowing) AddCosignatures(context.Context, string, []byte) (int, error) { return 0, nil }

func (f *fakeFollowing) Lookup(context.Context, string) (corpus.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.info, nil
}

func (f *fakeFollowing) Sync(_ context.Context, from, _ string, _ func(peer.Progress)) (peer.SyncResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked, f.at = append(f.asked, from), append(f.at, time.Now())
	if f.has[from] == 0 {
		return peer.SyncResult{}, errors.New("gone")
	}
	f.info.Size = max(f.info.Size, f.has[from])
	return peer.SyncResult{}, nil
}

func (f *fakeFollowing) SyncFound(ctx context.Context, origin string, p func(peer.Progress)) (peer.SyncResult, error) {
	return f.Sync(ctx, "", origin, p)
}

func (f *fakeFollowing) size() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.info.Size
}

// asks returns whom it has asked so far, in order.
func (f *fakeFollowing) asks() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

// followed runs fn beside a follower of a corpus with 3 records, in fake time.
func followed(t *testing.T, follows bool, fn func(*testing.T, *fakeFollowing, *follower)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		fake := &fakeFollowing{info: corpus.Info{Origin: "them/main", Size: 3}, has: make(map[string]uint64)}
		f := newFollower(fake, func(string) bool { return follows }, func() error { return nil }, slog.New(slog.DiscardHandler))
		f.net = fake
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.run(ctx)
		}()
		fn(t, fake, f)
		cancel()
		<-done
	})
}

func TestAHeadThatWasHeardOfIsFetchedUntilItIsThere(t *testing.T) {
	followed(t, true, func(t *testing.T, fake *fakeFollowing, f *follower) {
		fake.has["b"] = 3 // it has heard of 4 and has it in a while
		f.announced("them/main", "b", 4)
		time.Sleep(10 * time.Second)
		if fake.size() != 3 || len(fake.asks()) < 3 || len(fake.asks()) > 6 {
			t.Errorf("after 10 s: %d records, asked %q", fake.size(), fake.asks())
		}
		fake.mu.Lock()
		fake.has["b"] = 4
		fake.mu.Unlock()
		time.Sleep(followMost)
		n := len(fake.asks())
		if fake.size() != 4 {
			t.Errorf("%d records, want 4", fake.size())
		}
		time.Sleep(time.Hour)
		if len(fake.asks()) != n {
			t.Errorf("it is asked on: %q", fake.asks()[n:])
		}
		// What is here already is not asked for.
		f.announced("them/main", "b", 4)
		time.Sleep(time.Minute)
		if len(fake.asks()) != n {
			t.Errorf("asked for what is here: %q", fake.asks()[n:])
		}
	})
}

func TestAnotherPeerIsFoundWhereTheFirstIsGone(t *testing.T) {
	followed(t, true, func(t *testing.T, fake *fakeFollowing, f *follower) {
		fake.has[""] = 5
		f.announced("them/main", "gone", 4)
		time.Sleep(time.Minute)
		if fake.size() != 5 {
			t.Errorf("%d records, asked %q", fake.size(), fake.asks())
		}
	})
}

func TestAHeadThatNobodyServesEndsTheAsking(t *testing.T) {
	followed(t, true, func(t *testing.T, fake *fakeFollowing, f *follower) {
		f.announced("them/main", "liar", 1<<30)
		for range 1000 {
			f.announced("them/main", "liar", 1<<30)
		}
		time.Sleep(24 * time.Hour)
		if len(fake.asks()) > 2*followTries {
			t.Errorf("asked %d times", len(fake.asks()))
		}
	})
}

// Heads that nobody serves, of more corpora than are synced at a time, keep no
// other corpus back.
func TestHeadsThatNobodyServesHinderNoOtherCorpus(t *testing.T) {
	followed(t, true, func(t *testing.T, fake *fakeFollowing, f *follower) {
		for i := range 4 * followSyncs {
			f.announced(fmt.Sprintf("loud/c%d", i), "liar", 1<<30)
		}
		time.Sleep(30 * time.Second) // they are asked for and waited for now
		fake.mu.Lock()
		fake.has["b"] = 4
		fake.mu.Unlock()
		f.announced("them/main", "b", 4)
		time.Sleep(time.Second)
		if fake.size() != 4 {
			t.Errorf("%d records a second after it was heard of, asked %q", fake.size(), fake.asks())
		}
	})
}

func TestNothingIsFetchedUnlessTheOwnerSaysSo(t *testing.T) {
	followed(t, false, func(t *testing.T, fake *fakeFollowing, f *follower) {
		f.announced("them/main", "b", 4)
		time.Sleep(time.Hour)
		if len(fake.asks()) != 0 {
			t.Errorf("asked %q", fake.asks())
		}
	})
}

// TestFollowersFollowWithinSeconds: a publisher and two followers in a line; the
// last one knows only the one before it.
func TestFollowersFollowWithinSeconds(t *testing.T) {
	ctx := t.Context()
	var nodes [3]*api.Client
	var at [3]api.PeerIDResult
	var err error
	for i := range nodes {
		home := newHome(t)
		if i == 0 {
			addPages(t, home, "first", 2)
		}
		nodes[i], _ = serve(t, home)
		if at[i], err = nodes[i].PeerID(ctx); err != nil {
			t.Fatal(err)
		}
	}
	origin := at[0].PeerID + "/" + MainCorpus
	for i := 1; i < 3; i++ {
		if _, err := nodes[i].Sync(ctx, api.SyncRequest{From: at[i-1].Addrs[0], Corpus: origin}, nil); err != nil {
			t.Fatal(err)
		}
		if res, err := nodes[i].FollowCorpus(ctx, api.FollowRequest{Origin: origin}); err != nil || len(res.Follow) != 1 {
			t.Fatal(res, err)
		}
	}
	start := time.Now()
	if _, err := nodes[0].Add(ctx, api.AddRequest{Paths: []string{pages(t, "later", 3)}}, nil); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < 3; i++ {
		for {
			res, err := nodes[i].ListCorpora(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if c := res.Corpora[len(res.Corpora)-1]; c.Origin == origin && c.Size == 5 {
				break
			}
			if time.Since(start) > 90*time.Second {
				t.Fatalf("node %d has not followed: %+v", i, res.Corpora)
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Logf("node %d has it after %s", i, time.Since(start).Round(time.Millisecond))
	}
	if _, err := nodes[0].FollowCorpus(ctx, api.FollowRequest{Origin: MainCorpus}); err == nil {
		t.Error("an own corpus is followed")
	}
	if res, err := nodes[1].FollowCorpus(ctx, api.FollowRequest{Origin: origin, Off: true}); err != nil || len(res.Follow) != 0 {
		t.Errorf("following off: %+v, %v", res, err)
	}
}

func TestAChangedKeyIsFetchedUntilItIsPinned(t *testing.T) {
	followed(t, true, func(t *testing.T, fake *fakeFollowing, f *follower) {
		fake.info.Key, fake.has["b"] = "old", 3
		f.rekeyed("them/main", "b", "old")
		time.Sleep(10 * time.Second)
		if n := len(fake.asks()); n < 3 || n > 6 {
			t.Errorf("after 10 s: asked %q", fake.asks())
		}
		fake.mu.Lock()
		fake.info.Key = "new"
		fake.mu.Unlock()
		time.Sleep(followMost)
		n := len(fake.asks())
		f.rekeyed("them/main", "b", "old") // again: it is here
		time.Sleep(time.Hour)
		if len(fake.asks()) != n {
			t.Errorf("it is asked on: %q", fake.asks()[n:])
		}
	})
}

// A publisher changes a key and adds nothing; who follows has the new one soon.
func TestFollowersTakeANewKeyWithinSeconds(t *testing.T) {
	ctx := t.Context()
	home := newHome(t)
	addPages(t, home, "first", 2)
	publisher, _ := serve(t, home)
	at, err := publisher.PeerID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	origin := at.PeerID + "/" + MainCorpus
	reader, _ := serve(t, newHome(t))
	if _, err := reader.Sync(ctx, api.SyncRequest{From: at.Addrs[0], Corpus: origin}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.FollowCorpus(ctx, api.FollowRequest{Origin: origin}); err != nil {
		t.Fatal(err)
	}
	// What is said before the two know of each other's topic is not heard.
	for range 12 {
		if _, err := publisher.RotateCorpus(ctx, MainCorpus); err != nil {
			t.Fatal(err)
		}
		want, err := publisher.CorpusKey(ctx, MainCorpus)
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if got, err := reader.CorpusKey(ctx, origin); err == nil && got.Key == want.Key {
				return
			}
		}
		if _, err := publisher.RetireCorpusKey(ctx, MainCorpus); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("after a minute the follower has an old key")
}

func TestAFollowerThatWasAwayWhenAKeyWasChangedTakesTheNewOne(t *testing.T) {
	ctx := t.Context()
	home, away := newHome(t), newHome(t)
	addPages(t, home, "first", 2)
	publisher, _ := serve(t, home)
	at, err := publisher.PeerID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	origin := at.PeerID + "/" + MainCorpus
	reader, stop := serve(t, away)
	if _, err := reader.Sync(ctx, api.SyncRequest{From: at.Addrs[0], Corpus: origin}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.FollowCorpus(ctx, api.FollowRequest{Origin: origin}); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	// And no new record, which would bring the key with it.
	if _, err := publisher.RotateCorpus(ctx, MainCorpus); err != nil {
		t.Fatal(err)
	}
	want, err := publisher.CorpusKey(ctx, MainCorpus)
	if err != nil {
		t.Fatal(err)
	}
	reader, _ = serve(t, away)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if got, err := reader.CorpusKey(ctx, origin); err == nil && got.Key == want.Key {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("after a minute the follower has the old key")
		}
	}
}
