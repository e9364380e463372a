package peer

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"

	"arborist/proof"
)

func infoOf(t testing.TB, p *Peer, id string) (Info, bool) {
	t.Helper()
	known := p.Known()
	i := slices.IndexFunc(known, func(k Info) bool { return k.ID == id })
	if i < 0 {
		return Info{}, false
	}
	return known[i], true
}

func TestAPeerThatSendsBadBytesIsKeptAway(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(listenTCP)
	a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
	change, _ := changing(ofKind(kindCheckpoint), func(b []byte) []byte { return bytes.ToUpper(b) })
	evil := newRelay(t, a, change)
	id := evil.host.ID().String()
	if _, err := b.peer.Sync(t.Context(), evil.addr, a.origin("main"), nil); err == nil {
		t.Fatal("a head with other bytes was taken")
	}
	for range 2 { // by ID, not by address: naming it anew would forgive it
		if _, err := b.peer.Sync(t.Context(), id, a.origin("main"), nil); err == nil {
			t.Fatal("a head with other bytes was taken")
		}
	}
	info, _ := infoOf(t, b.peer, id)
	if info.Score != -awayAt || info.AwayUntil.Before(time.Now()) {
		t.Errorf("after bad bytes: %+v, want it kept away", info)
	}
	await(t, "its connections are closed", func() bool { return len(b.peer.Peers()) == 0 })
	// It is not let in either, until the owner names it again.
	to, err := libpeer.AddrInfoFromString(b.addr())
	if err != nil {
		t.Fatal(err)
	}
	err = evil.host.Connect(t.Context(), *to)
	await(t, "it is not connected", func() bool { return len(b.peer.Peers()) == 0 })
	if _, err2 := b.peer.Sync(t.Context(), id, a.origin("main"), nil); err2 == nil {
		t.Errorf("it is asked again: %v, %v", err, err2)
	}
	if _, err := b.peer.Join(t.Context(), evil.addr); err != nil {
		t.Errorf("the owner's own join: %v", err)
	}
}

func TestAFlooderIsKeptAwayAndOthersAreServed(t *testing.T) {
	a := newNode(t).up(listenTCP, func(c *Config) { c.Serve = ServeConfig{Rate: 1, Burst: missCost} })
	a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
	flooder, id := rawHost(t, a)
	s, err := flooder.NewStream(t.Context(), id, ProtocolID)
	if err != nil {
		t.Fatal(err)
	}
	s.SetDeadline(time.Now().Add(60 * time.Second))
	for range 3 * awayAt * 10 {
		if err = ask(s, "corpora"); err != nil && err.Error() != "status 429" {
			break
		}
	}
	await(t, "the flooder is gone", func() bool { return len(a.peer.Peers()) == 0 })
	info, ok := infoOf(t, a.peer, flooder.ID().String())
	if !ok || info.LimitsHit < awayAt || info.Score != -awayAt {
		t.Errorf("the flooder: %+v", info)
	}
	if res := newNode(t).up(nil).sync(a.addr(), a.origin("main")); res.Documents != 3 {
		t.Errorf("sync beside the flood = %+v", res)
	}
}

func TestListsCountAtOnce(t *testing.T) {
	table := newTable("")
	a := newNode(t).up(listenTCP, func(c *Config) { c.Table = table })
	b := newNode(t).up(listenTCP)
	join := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err := b.peer.Join(ctx, a.addr())
		return err
	}
	for _, step := range []struct {
		list   List
		entry  string
		remove bool
		want   bool
	}{
		{ListDeny, b.id, false, false}, {ListDeny, b.id, true, true},
		{ListDeny, "127.0.0.0/8", false, false}, {ListDeny, "127.0.0.0/8", true, true},
		{ListAllow, testPeer, false, false}, {ListAllow, b.id, false, true}, {ListAllow, b.id, true, false},
	} {
		edit := table.Put
		if step.remove {
			edit = table.Drop
		}
		if err := errors.Join(edit(step.list, step.entry), a.peer.Recheck()); err != nil {
			t.Fatal(err)
		}
		if !step.want {
			await(t, "the connection is closed", func() bool { return len(a.peer.Peers()) == 0 && len(b.peer.Peers()) == 0 })
		}
		if err := join(); (err == nil) != step.want {
			t.Errorf("%+v: join = %v", step, err)
		}
	}
	if err := table.Put(ListDeny, "127.0.0.1/8"); !errors.Is(err, ErrAddress) {
		t.Errorf("a network with host bits: %v", err)
	}
	if err := table.Drop(ListDeny, b.id); !errors.Is(err, ErrNotListed) {
		t.Errorf("what is not listed: %v", err)
	}
}

func TestJoinedPeersAreConnectedToAgainUntilTheyAreLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "peers.json")
	with := func(c *Config) { c.Table, c.Reconnect = tableAt(t, path), true }
	a := newNode(t).up(listenTCP)
	b := newNode(t).up(nil, with)
	if _, err := b.peer.Join(t.Context(), a.addr()); err != nil {
		t.Fatal(err)
	}
	again := func() {
		t.Helper()
		if err := b.peer.Close(); err != nil {
			t.Fatal(err)
		}
		b.up(nil, with)
	}
	again()
	await(t, "connected after a restart", func() bool { return len(b.peer.Peers()) == 1 })
	// The other side drops the connection, and it comes back.
	was := b.peer.host.Network().ConnsToPeer(a.peer.id.id)[0]
	await(t, "the connection is dropped", func() bool {
		a.peer.host.Network().ClosePeer(b.peer.id.id) // nothing to close before it has heard of it
		return was.IsClosed()
	})
	await(t, "connected anew", func() bool {
		now := b.peer.host.Network().ConnsToPeer(a.peer.id.id)
		return len(now) == 1 && now[0].ID() != was.ID()
	})
	if id, err := b.peer.Leave(a.addr()); err != nil || id != a.id {
		t.Fatal(id, err)
	}
	if info, _ := infoOf(t, b.peer, a.id); info.Joined || info.Connected {
		t.Errorf("after leaving: %+v", info)
	}
	again()
	if known := b.peer.table.reached(); len(known) != 0 {
		t.Errorf("after leaving and a restart %v would be dialled", known)
	}
	if _, err := b.peer.Leave(testPeer); !errors.Is(err, ErrNotConnected) {
		t.Errorf("leave of a peer that was never there: %v", err)
	}
}

// Whoever synced and follows hears of new heads after a restart of either side
// too, without having joined anybody.
func TestServersOfWhatIsFollowedAreConnectedToAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "peers.json")
	a, other := newNode(t).up(listenTCP), newNode(t).up(listenTCP)
	a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
	origin := a.origin("main")
	follows := func(o string) bool { return o == origin }
	b := newNode(t)
	start := func(follows func(string) bool) {
		t.Helper()
		if b.peer != nil {
			if err := b.peer.Close(); err != nil {
				t.Fatal(err)
			}
		}
		b.up(nil, func(c *Config) { c.Table, c.Reconnect, c.Follows = tableAt(t, path), true, follows })
	}
	start(follows)
	b.sync(a.addr(), origin)
	start(follows)
	await(t, "connected after a restart", func() bool { return len(b.peer.Peers()) == 1 })
	if b.peer.lacks(a.peer.id.id) {
		t.Error("a server of the corpus is connected and would be dialled")
	}
	for _, nothing := range []func(string) bool{nil, func(string) bool { return false }} {
		start(nothing)
		if b.peer.lacks(a.peer.id.id) {
			t.Error("a peer would be dialled though nothing of it is followed")
		}
		if found, err := b.peer.Find(t.Context(), origin); err != nil || found[0].Peer != a.id {
			t.Errorf("who served it before: %v, %v", found, err)
		}
	}
	// While somebody else serves it, nobody is missing.
	other.sync(a.addr(), origin)
	b.sync(other.addr(), origin)
	gone := a.peer.id.id
	a.close()
	start(follows)
	await(t, "connected to the other", func() bool { return len(b.peer.Peers()) == 1 })
	if b.peer.lacks(gone) {
		t.Error("a peer would be dialled though another one serves the corpus")
	}
}

// Who asks for a corpus by its origin, or names a peer by its ID, has it dialled
// where it was reached before, in another process too, unless the owner left it.
func TestWhoWasReachedBeforeIsDialledWhereItsOwnerAsksAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "peers.json")
	a, b := newNode(t).up(listenTCP), newNode(t)
	a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
	again := func() {
		t.Helper()
		if b.peer != nil {
			if err := b.peer.Close(); err != nil {
				t.Fatal(err)
			}
		}
		b.up(nil, func(c *Config) { c.Table = tableAt(t, path) })
	}
	again()
	b.sync(a.addr(), "main")
	again()
	if len(b.peer.Peers()) != 0 {
		t.Fatal("a peer was dialled that nobody asked for")
	}
	if _, err := b.peer.SyncFound(t.Context(), a.origin("main"), nil); err != nil {
		t.Errorf("by the origin: %v", err)
	}
	again()
	if _, err := b.peer.Sync(t.Context(), a.id, "main", nil); err != nil {
		t.Errorf("by the peer's ID: %v", err)
	}
	again()
	if _, err := b.peer.Leave(a.id); err != nil {
		t.Fatal(err)
	}
	for _, again := range []func() (SyncResult, error){
		func() (SyncResult, error) { return b.peer.SyncFound(t.Context(), a.origin("main"), nil) },
		func() (SyncResult, error) { return b.peer.Sync(t.Context(), a.id, "main", nil) },
	} {
		if _, err := again(); !errors.Is(err, ErrNotConnected) {
			t.Errorf("after leaving it: %v, want ErrNotConnected", err)
		}
	}
}

// A publisher is found by its ID where its address is known, directory or not.
func TestAKnownPublisherIsFound(t *testing.T) {
	a, b := newNode(t).up(listenTCP), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
	if _, err := b.peer.Join(t.Context(), a.addr()); err != nil {
		t.Fatal(err)
	}
	if err := b.peer.host.Network().ClosePeer(a.peer.id.id); err != nil {
		t.Fatal(err)
	}
	await(t, "nobody is connected", func() bool { return len(b.peer.Peers()) == 0 })
	if res, err := b.peer.SyncFound(t.Context(), a.origin("main"), nil); err != nil || res.Documents != 3 {
		t.Errorf("synced %+v, %v", res, err)
	}
}

func TestBytesAndCorporaOfAPeerAreListed(t *testing.T) {
	a, b := newNode(t).up(listenTCP), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 20, 3000)...)
	if _, err := b.peer.Join(t.Context(), a.addr()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.peer.Corpora(t.Context(), a.id); err != nil {
		t.Fatal(err)
	}
	b.sync(a.id, "main")
	at, of := b.peer.Peers()[0], a.peer.Peers()[0]
	if !slices.Equal(at.Corpora, []string{a.origin("main")}) || at.BytesIn < 10_000 || at.BytesOut == 0 || !at.Joined || at.Seen.IsZero() {
		t.Errorf("at the follower: %+v", at)
	}
	if of.BytesOut < at.BytesIn || of.Joined || of.Score != 0 {
		t.Errorf("at the publisher: %+v; the follower received %d", of, at.BytesIn)
	}
}

// Nodes that find each other in the local network often dial both at once.
func TestTwoConnectionsFromOneAddressAreListedAsOneAddress(t *testing.T) {
	a, b := newNode(t).up(listenQUIC), newNode(t).up(listenQUIC)
	a.publish("main", entriesOf(t, "doc:/x", 1, 300)...)
	if _, err := b.peer.Join(t.Context(), a.addr()); err != nil {
		t.Fatal(err)
	}
	info := a.peer.host.Network().ListenAddresses()[0]
	tr := b.peer.host.Network().(*swarm.Swarm).TransportForDialing(info)
	second, err := tr.Dial(t.Context(), info, a.peer.id.id)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	await(t, "there are two connections", func() bool { return len(a.peer.host.Network().ConnsToPeer(b.peer.id.id)) == 2 })
	if addrs := a.peer.Peers()[0].Addrs; len(addrs) != 1 {
		t.Errorf("the list has %v", addrs)
	}
	if addrs := a.peer.addrsOf(b.peer.id.id); len(addrs) != 1 {
		t.Errorf("a search for who serves a corpus tells %v", addrs)
	}
}

// Between a change of the key and its arrival everywhere, honest peers serve
// heads by a key that is not the pinned one.
func TestAHeadByAnotherKeyIsNobodysFault(t *testing.T) {
	a, b := newNode(t).up(listenTCP), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
	origin := a.origin("main")
	b.sync(a.addr(), origin)
	info, err := b.shared.Corpora().Lookup(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	other, err := proof.NewSigner(origin, [32]byte{99})
	if err != nil {
		t.Fatal(err)
	}
	note, err := proof.SignCheckpoint(proof.Checkpoint{Origin: origin, Size: 9, Root: info.Root}, other)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := b.peer.Weigh(t.Context(), PeerHead{Peer: a.id, Origin: origin, Note: note}); err == nil {
			t.Fatal("a head by another key was taken")
		}
	}
	if info, _ := infoOf(t, b.peer, a.id); info.Score != 0 || !info.Connected {
		t.Errorf("the peer that served it: %+v", info)
	}
}

// The same holds for proofs and answers to queries, in both directions: a follower
// that lags meets one that is ahead. Nothing of them is taken; what the same answer
// has of another corpus is.
func TestAProofByAnotherKeyIsNobodysFault(t *testing.T) {
	a := newNode(t).up(listenTCP, answering)
	lags, ahead := newNode(t).up(listenTCP, answering), newNode(t).up(listenTCP, answering)
	x := entryOf(t, "doc:/x", "Grey granite of the quarry.")
	a.publish("main", x)
	a.publish("second", entryOf(t, "doc:/z", "Red granite."))
	origin := a.origin("main")
	for _, n := range []*node{lags, ahead} {
		n.sync(a.addr(), a.origin("second"))
	}
	lags.sync(a.addr(), origin)
	a.nextKey("main")
	a.publish("main", entryOf(t, "doc:/y", "Slate."))
	ahead.sync(a.addr(), origin)
	for _, c := range []struct {
		name     string
		asks, of *node
	}{
		{"the publisher, by one that lags", lags, a},
		{"one that is ahead, by one that lags", lags, ahead},
		{"one that lags, by one that is ahead", ahead, lags},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.asks.peer.Join(t.Context(), c.of.addr()); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if _, err := c.asks.peer.Prove(t.Context(), c.of.id, origin, x.Document.Root(), 0); !errors.Is(err, ErrKeyDiffers) {
					t.Errorf("proof: %v, want ErrKeyDiffers", err)
				}
				answer := c.asks.ask("granite", c.of.id)[0]
				if answer.Err != nil || !slices.Equal(uris(answer), []string{"doc:/z"}) || !slices.Equal(answer.OtherKey, []string{origin}) {
					t.Errorf("answer: %q, other key: %q, %v; want what the second corpus has, and the first one named", uris(answer), answer.OtherKey, answer.Err)
				}
			}
			if info, _ := infoOf(t, c.asks.peer, c.of.id); info.Score != 0 || !info.Connected {
				t.Errorf("who was asked: %+v", info)
			}
		})
	}
}
