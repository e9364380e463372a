package peer

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"arborist/proof"
	"arborist/shard/corpus"
)

// joined starts a node and has it join others.
func joined(t *testing.T, addrs ...string) *node {
	t.Helper()
	n := newNode(t).up(nil)
	for _, addr := range addrs {
		if _, err := n.peer.Join(t.Context(), addr); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func (n *node) heads(origin string) []PeerHead {
	n.t.Helper()
	heads, err := n.peer.Heads(n.t.Context(), origin)
	if err != nil {
		n.t.Fatal(err)
	}
	return heads
}

// seen returns the size of the greatest head that a node knows.
func (n *node) info(origin string) corpus.Info {
	n.t.Helper()
	info, err := n.shared.Corpora().Lookup(n.t.Context(), origin)
	if err != nil {
		n.t.Fatal(err)
	}
	return info
}

func TestHeadsComeFromThePeersThatHaveTheCorpus(t *testing.T) {
	a, follower, stranger := newNode(t).up(listenTCP), newNode(t).up(listenTCP), newNode(t).up(listenTCP)
	a.publish("main", entriesOf(t, "doc:/x", 3, 200)...)
	origin := a.origin("main")
	follower.sync(a.addr(), origin)
	asker := joined(t, follower.addr(), stranger.addr())
	want, err := a.shared.Corpora().Note(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	for _, heads := range [][]PeerHead{asker.heads(origin), must(asker.peer.HeadsOf(t.Context(), follower.id, []string{origin, a.origin("no")}))} {
		if len(heads) != 1 || heads[0].Peer != follower.id || heads[0].Origin != origin || heads[0].Err != nil || !bytes.Equal(heads[0].Note, want) {
			t.Errorf("heads %+v", heads)
		}
	}
	if heads := must(asker.peer.HeadsOf(t.Context(), a.id, []string{origin})); len(heads) != 1 || heads[0].Err == nil {
		t.Errorf("a peer that is not connected: %+v", heads)
	}
	for _, origin := range []string{"", "main", "x/main", a.origin("../x")} {
		if _, err := asker.peer.Heads(t.Context(), origin); err == nil {
			t.Errorf("origin %q was accepted", origin)
		}
	}
}

func must(heads []PeerHead, err error) []PeerHead {
	if err != nil {
		panic(err)
	}
	return heads
}

// TestHostilePeersCostABoundedTime: one hangs before its reply, one within it,
// one sends too much, one nonsense. The honest one's head is there all the same.
func TestHostilePeersCostABoundedTime(t *testing.T) {
	a := newNode(t).up(listenTCP)
	a.publish("main", entriesOf(t, "doc:/x", 3, 200)...)
	origin := a.origin("main")
	evil := func(fn func(w http.ResponseWriter, r *http.Request)) string {
		return newRelay(t, a, func(_ string, w http.ResponseWriter, r *http.Request, _ http.Handler) { fn(w, r) }).addr
	}
	asker := joined(t, a.addr(),
		evil(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		evil(func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}),
		evil(func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, maxCheckpoint+1)) }),
		evil(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("nonsense\n")) }),
		evil(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }),
	)
	if _, err := asker.shared.Corpora().Follow(t.Context(), a.signer("main").Verifier()); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	heads := asker.heads(origin)
	if took := time.Since(start); took > headTime+3*time.Second {
		t.Errorf("it took %v, want at most %v", took, headTime)
	}
	good := 0
	for _, h := range heads {
		_, err := asker.peer.Weigh(t.Context(), h)
		if err == nil {
			good++
		}
		if ok := h.Peer == a.id; ok != (err == nil) {
			t.Errorf("head of %s: %v", h.Peer, err)
		}
	}
	if good != 1 || len(heads) != 6 || asker.info(origin).Seen != 3 {
		t.Errorf("%d heads, %d good; %+v", len(heads), good, asker.info(origin))
	}
}

// TestALargerHeadIsWeighed: who learns of a head, own corpus or followed, and
// what the peer that tells it can and cannot bring about.
func TestALargerHeadIsWeighed(t *testing.T) {
	noTiles := func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
		if ofKind(kindTile)(path) {
			http.NotFound(w, r)
			return
		}
		honest.ServeHTTP(w, r)
	}
	for _, c := range []struct {
		name    string
		change  func(string, http.ResponseWriter, *http.Request, http.Handler)
		own     bool
		foreign bool // signed by another key
		forked  bool // of another history
		seen    uint64
		frozen  bool
		err     error
	}{
		{name: "followed", change: honestly, seen: 300},
		{name: "followed, without proof", change: noTiles, seen: 20, err: ErrMissing},
		{name: "followed, by another key", change: honestly, foreign: true, seen: 20, err: ErrTampered},
		{name: "followed, another history", change: honestly, forked: true, seen: 20, frozen: true, err: ErrEquivocation},
		{name: "own", change: honestly, own: true, seen: 300},
		{name: "own, without proof", change: noTiles, own: true, seen: 300},
		{name: "own, by another key", change: honestly, own: true, foreign: true, seen: 20, err: ErrTampered},
		{name: "own, another history", change: honestly, own: true, forked: true, seen: 20, frozen: true, err: ErrEquivocation},
		{name: "own, another history without proof", change: noTiles, own: true, forked: true, seen: 300},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newNode(t).up(listenTCP)
			a.publish("main", entriesOf(t, "doc:/x", 20, 100)...)
			origin := a.origin("main")
			var asker, teller *node
			teller = a.twin()
			if c.own {
				asker = a.twin().up(nil) // the publisher after a restore
				asker.publish("main", entriesOf(t, "doc:/x", 20, 100)...)
			} else {
				asker = newNode(t).up(nil)
				asker.sync(a.addr(), origin)
			}
			if c.foreign {
				teller = newNode(t)
				teller.id = a.id
				teller.signers = map[string]*proof.Signer{"x": nil} // another seed for main
			}
			prefix := "doc:/x"
			if c.forked {
				prefix = "doc:/fork"
			}
			teller.publish("main", entriesOf(t, prefix, 20, 100)...)
			teller.publish("main", entriesOf(t, "doc:/more", 280, 100)...)
			evil := newRelay(t, teller, c.change)
			if _, err := asker.peer.Join(t.Context(), evil.addr); err != nil {
				t.Fatal(err)
			}
			var found []PeerHead
			for _, h := range asker.heads(origin) {
				if h.Peer != a.id {
					found = append(found, h)
				}
			}
			if len(found) != 1 {
				t.Fatalf("heads %+v", found)
			}
			head, err := asker.peer.Weigh(t.Context(), found[0])
			if !errors.Is(err, c.err) || err == nil && head.Size != 300 {
				t.Errorf("weigh: %+v, %v, want %v", head, err, c.err)
			}
			info := asker.info(origin)
			if info.Seen != c.seen || info.Size != 20 || info.Frozen != c.frozen {
				t.Errorf("known now: %+v", info)
			}
			if c.forked && c.own && !c.frozen {
				// The sync that is to bring the records back finds out.
				_, err := asker.peer.Sync(t.Context(), newRelay(t, teller, honestly).addr, origin, nil)
				if !errors.Is(err, ErrEquivocation) || !asker.info(origin).Frozen {
					t.Errorf("sync of the other history: %v", err)
				}
			}
			if c.seen == 300 && c.own && !c.forked {
				if err := asker.shared.Corpora().MayAppend(t.Context(), origin, asker.signer("main")); !errors.Is(err, corpus.ErrBehind) {
					t.Errorf("may append: %v", err)
				}
			}
		})
	}
}

func TestAPeerThatLagsIsNoEvidence(t *testing.T) {
	a, b := newNode(t).up(listenTCP), newNode(t).up(listenTCP)
	a.publish("main", entriesOf(t, "doc:/x", 5, 200)...)
	origin := a.origin("main")
	b.sync(a.addr(), origin)
	a.publish("main", entriesOf(t, "doc:/y", 5, 200)...)
	if _, err := a.peer.Join(t.Context(), b.addr()); err != nil {
		t.Fatal(err)
	}
	for _, h := range a.heads(origin) {
		if head, err := a.peer.Weigh(t.Context(), h); err != nil || head.Size != 5 {
			t.Errorf("%+v, %v", head, err)
		}
	}
	if found, err := a.shared.Corpora().Evidence(t.Context(), origin); err != nil || len(found) > 0 {
		t.Errorf("evidence %+v, %v", found, err)
	}
}

// A peer that was fooled by whoever has the replaced key tells its fork: the
// publisher and its followers see that, and go on.
func TestAForkByTheReplacedKeyIsSeenWhenPeersAreAsked(t *testing.T) {
	a, b, fooled := newNode(t).up(listenTCP), newNode(t).up(nil), newNode(t).up(listenTCP)
	first := entriesOf(t, "one", 3, 200)
	a.publish("main", first...)
	origin := a.origin("main")
	lagging := newNode(t).up(listenTCP)
	lagging.sync(a.addr(), origin)
	thief := a.twin().up(nil)
	thief.publish("main", first...)
	thief.publish("main", entriesOf(t, "lie", 5, 200)...)
	fooled.sync(newRelay(t, thief, honestly).addr, origin)
	_, next := a.nextKey("main")
	a.publish("main", entriesOf(t, "two", 3, 200)...)
	b.sync(a.addr(), origin)
	for name, asker := range map[string]*node{"publisher": a, "follower": b} {
		for _, at := range []*node{lagging, fooled} {
			if _, err := asker.peer.Join(t.Context(), at.addr()); err != nil {
				t.Fatal(err)
			}
		}
		shown := 0
		for _, h := range asker.heads(origin) {
			if _, err := asker.peer.Weigh(t.Context(), h); h.Peer == fooled.id && errors.Is(err, ErrKey) {
				shown++
			}
		}
		if shown != 1 {
			t.Errorf("%s: the fork was not weighed", name)
		}
		asker.keeps(origin, proof.ReplacedKey) // and nothing of the peer that lags
		asker.pinned(origin, next, 1)
	}
}

func TestArrivalsAreAnnouncedInBothDirections(t *testing.T) {
	told := make(chan string, 16)
	announcing := func(c *Config) { c.Arrived = func(id string) { told <- id } }
	a, b, c := newNode(t).up(listenTCP, announcing), newNode(t).up(listenTCP), newNode(t).up(nil)
	if _, err := a.peer.Join(t.Context(), b.addr()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.peer.Join(t.Context(), a.addr()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var got []string
	for len(got) < 2 {
		select {
		case id := <-told:
			if !slices.Contains(got, id) {
				got = append(got, id)
			}
		case <-ctx.Done():
			t.Fatalf("told of %v only", got)
		}
	}
	slices.Sort(got)
	want := []string{b.id, c.id}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("told of %v, want %v", got, want)
	}
}
