package peer

import (
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ipfs/go-datastore"
	"github.com/ipfs/go-datastore/query"
	"github.com/libp2p/go-libp2p"
	dht "github.com/libp2p/go-libp2p-kad-dht"
	"github.com/libp2p/go-libp2p/core/host"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
)

// inWide has a node take part in the directory, entering by others.
func inWide(entry ...string) func(*Config) {
	return func(c *Config) { c.Wide.Bootstrap = entry }
}

// directory returns n nodes that all know the first one alone, once each of
// them has entered.
func directory(t *testing.T, n int) []*node {
	t.Helper()
	nodes := []*node{newNode(t)}
	// The first one enters by itself: it waits for the others.
	nodes[0].up(listenTCP, inWide("/ip4/127.0.0.1/tcp/1/p2p/"+testPeer))
	for range n - 1 {
		nodes = append(nodes, newNode(t).up(listenTCP, inWide(nodes[0].addr())))
	}
	for _, n := range nodes[1:] {
		await(t, "all have entered the directory", func() bool { return n.peer.wide.dht.RoutingTable().Size() > 0 })
	}
	return nodes
}

func TestACorpusIsFoundByItsOriginAlone(t *testing.T) {
	nodes := directory(t, 9)
	publisher, follower := nodes[3], nodes[8]
	publisher.publish("main", entriesOf(t, "doc:/x", 4, 300)...)
	publisher.peer.wide.provideAll()
	origin := publisher.origin("main")
	found, err := follower.peer.Find(t.Context(), origin)
	if err != nil || !slices.ContainsFunc(found, func(f Provider) bool { return f.Peer == publisher.id && len(f.Addrs) > 0 }) {
		t.Fatalf("found %+v, %v", found, err)
	}
	if res, err := follower.peer.SyncFound(t.Context(), origin, nil); err != nil || res.Documents != 4 {
		t.Fatalf("sync by the origin = %+v, %v", res, err)
	}
	// The follower serves it now, and is found when the publisher is gone.
	follower.peer.wide.provideAll()
	publisher.close()
	other := newNode(t).up(nil, inWide(nodes[0].addr()))
	if res, err := other.peer.SyncFound(t.Context(), origin, nil); err != nil || res.Documents != 4 {
		t.Fatalf("sync without the publisher = %+v, %v", res, err)
	}
	// What nobody serves is said.
	if _, err := other.peer.SyncFound(t.Context(), testPeer+"/main", nil); !errors.Is(err, ErrNoProvider) {
		t.Errorf("a corpus of nobody = %v, want ErrNoProvider", err)
	}
	if _, err := other.peer.Find(t.Context(), "main"); !errors.Is(err, ErrAddress) {
		t.Errorf("a name alone = %v, want ErrAddress", err)
	}
}

func TestNobodyTakesPartInTheDirectoryUnasked(t *testing.T) {
	n := newNode(t).up(listenTCP)
	n.publish("main", entriesOf(t, "doc:/x", 1, 300)...)
	for _, p := range n.peer.host.Mux().Protocols() {
		if p == wideProtocol {
			t.Error("the directory's protocol is offered")
		}
	}
	if _, err := n.peer.Find(t.Context(), testPeer+"/main"); !errors.Is(err, ErrNoProvider) {
		t.Errorf("find = %v, want ErrNoProvider", err)
	}
	for _, bad := range [][]string{{"x"}, {"/ip4/127.0.0.1/tcp/1"}, slices.Repeat([]string{"/ip4/127.0.0.1/tcp/1/p2p/" + testPeer}, maxBootstrap+1)} {
		if p, err := New(Config{KeyFile: n.keyFile(), Wide: WideConfig{Bootstrap: bad}}, n.shared); err == nil {
			p.Close()
			t.Errorf("bootstrap peers %.40q were accepted", bad)
		}
	}
}

// A node that was named to enter by and takes no part itself is told, at once: its
// owner has to name somebody too, and may name the node itself.
func TestANodeToEnterByThatTakesNoPartIsNamed(t *testing.T) {
	outside := newNode(t).up(listenTCP)
	asking := newNode(t).up(listenTCP, inWide(outside.addr()))
	_, err := asking.peer.Find(t.Context(), testPeer+"/main")
	if !errors.Is(err, ErrNoProvider) || !errors.Is(err, ErrNoDirectory) || !strings.Contains(err.Error(), outside.id) {
		t.Errorf("find by way of a node that takes no part: %v, want ErrNoDirectory and its ID", err)
	}
	// All of a group have the same line.
	addr := outside.addr()
	at := addr[:strings.Index(addr, "/p2p/")]
	if err := outside.peer.Close(); err != nil {
		t.Fatal(err)
	}
	outside.up([]string{at}, inWide(addr))
	member := newNode(t).up(listenTCP, inWide(addr))
	member.publish("main", entriesOf(t, "doc:/x", 4, 300)...)
	await(t, "all have entered", func() bool {
		return member.peer.wide.enter(t.Context()) == nil && asking.peer.wide.enter(t.Context()) == nil
	})
	member.peer.wide.provideAll()
	if res, err := asking.peer.SyncFound(t.Context(), member.origin("main"), nil); err != nil || res.Documents != 4 {
		t.Errorf("sync by way of a node that names itself: %+v, %v", res, err)
	}
}

// A sybil is a hostile node of the directory: it says that it serves the
// corpus, and knows nobody but its own kind.
func sybils(t *testing.T, n int, entry, origin string, serve func(i int) (host.Host, string)) {
	t.Helper()
	for i := range n {
		h, _ := serve(i)
		info, err := libpeer.AddrInfoFromString(entry)
		if err != nil {
			t.Fatal(err)
		}
		d, err := dht.New(h, dht.ProtocolPrefix(WidePrefix), dht.Mode(dht.ModeServer), dht.BootstrapPeers(*info), dht.DisableValues())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		if err := h.Connect(t.Context(), *info); err != nil {
			t.Fatal(err)
		}
		await(t, "the sybil has entered", func() bool { return d.RoutingTable().Size() > 0 })
		if err := d.Provide(t.Context(), corpusKey(origin), true); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSybilsHideNoHonestPeerAndFeedNoWrongDocument(t *testing.T) {
	nodes := directory(t, 3)
	honest := newNode(t).up(listenTCP) // in no directory
	honest.publish("main", entriesOf(t, "doc:/x", 4, 300)...)
	origin := honest.origin("main")
	change, _ := changing(ofKind(kindPack), func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	changeDoc, _ := changing(ofKind(kindDoc), func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	sybils(t, 8, nodes[0].addr(), origin, func(i int) (host.Host, string) {
		if i%2 == 0 { // some serve what was changed, some nothing at all
			r := newRelay(t, honest, change)
			if i%4 == 0 {
				r = newRelay(t, honest, changeDoc)
			}
			return r.host, r.addr
		}
		h, err := libp2p.New(libp2p.ListenAddrStrings(listenTCP...), libp2p.DisableRelay(), libp2p.DisableMetrics(), libp2p.ForceReachabilityPrivate())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Close() })
		return h, ""
	})
	// Everybody it can find lies: a typed failure, and nothing is stored of them.
	eclipsed := newNode(t).up(nil, inWide(nodes[0].addr()))
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	res, err := eclipsed.peer.SyncFound(ctx, origin, nil)
	if !errors.Is(err, ErrNoProvider) && err != nil {
		t.Errorf("sync among liars = %+v, %v, want ErrNoProvider", res, err)
	}
	if _, err := eclipsed.shared.Check(t.Context(), func(p string) { t.Errorf("check: %s", p) }); err != nil {
		t.Error(err)
	}
	// With one peer of the owner's choice it is all there.
	pinned := newNode(t).up(nil, inWide(nodes[0].addr()))
	if _, err := pinned.peer.Join(t.Context(), honest.addr()); err != nil {
		t.Fatal(err)
	}
	if res, err := pinned.peer.SyncFound(ctx, origin, nil); err != nil || res.Documents != 4 {
		t.Fatalf("sync with a pinned peer = %+v, %v", res, err)
	}
	sameCorpus(t, honest, pinned, "main")
	// Whom it had from there is asked first the next time, connected or not.
	for _, c := range pinned.peer.host.Network().Conns() {
		c.Close()
	}
	found, err := pinned.peer.Find(ctx, origin)
	if err != nil || found[0].Peer != honest.id || found[0].How != FoundKnown {
		t.Errorf("found %+v, %v, want the peer that served it first, as known", found, err)
	}
}

func TestAFloodOfRecordsPushesOutRecordsAndTakesNoMoreMemory(t *testing.T) {
	r, ctx := newRecords(), t.Context()
	key := func(corpus int, who string) datastore.Key {
		return datastore.NewKey(fmt.Sprintf("/providers/%08d/%s", corpus, base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(who))))
	}
	for i := range 2 * maxRecordsOfPeer {
		if err := r.Put(ctx, key(i, "loud"), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.has); n != maxRecordsOfPeer {
		t.Errorf("%d records name one peer, at most %d", n, maxRecordsOfPeer)
	}
	for i := range maxRecords + 10 {
		if err := r.Put(ctx, key(1, fmt.Sprint(i)), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	res, err := r.Query(ctx, query.Query{KeysOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	all, err := res.Rest()
	if err != nil || len(all) != maxRecords || len(r.has) != maxRecords {
		t.Errorf("%d records are kept, %d known, %v; want %d", len(all), len(r.has), err, maxRecords)
	}
	for k := range r.has {
		if err := r.Delete(ctx, k); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.of) != 0 || len(r.has) != 0 {
		t.Errorf("after deleting all: %d peers, %d records", len(r.of), len(r.has))
	}
}
