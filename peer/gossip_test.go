package peer

import (
	"strings"
	"testing"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"

	"arborist/proof"
)

// gossiping has a node gossip, and tells of what it hears.
func gossiping(heard chan<- [2]string) func(*Config) {
	return func(c *Config) {
		c.Gossip = true
		c.Announced = func(origin, peer string, _ uint64) { heard <- [2]string{origin, peer} }
	}
}

func TestAHeadIsPassedOnAlongALine(t *testing.T) {
	heard := [3]chan [2]string{}
	nodes := make([]*node, 3)
	for i := range nodes {
		heard[i] = make(chan [2]string, 64)
		nodes[i] = newNode(t).up(listenTCP, gossiping(heard[i]))
	}
	a, b, c := nodes[0], nodes[1], nodes[2]
	a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
	origin := a.origin("main")
	b.sync(a.addr(), origin)
	c.sync(b.addr(), origin) // c knows b alone
	hears := func(i int, from string) {
		t.Helper()
		select {
		case got := <-heard[i]:
			if got != [2]string{origin, from} {
				t.Errorf("node %d heard %v, want %s of %s", i, got, origin, from)
			}
		case <-time.After(60 * time.Second):
			t.Fatalf("node %d heard nothing in a minute", i)
		}
	}
	awaitTopic(t, origin, a, b, c)
	a.publish("main", entryOf(t, "doc:/new", "a new one"))
	hears(1, a.id)
	hears(2, b.id)
	// Nothing of it moves what is stored: a head is only a reason to ask.
	if b.size(origin) != 3 || c.size(origin) != 3 {
		t.Error("a head that was heard of was taken")
	}
	select {
	case got := <-heard[0]:
		t.Errorf("the publisher heard %v of its own corpus", got)
	default:
	}
}

// awaitTopic waits until each of the nodes knows that its neighbours listen.
func awaitTopic(t *testing.T, origin string, nodes ...*node) {
	t.Helper()
	for _, n := range nodes {
		await(t, "the others listen", func() bool {
			want := len(n.peer.Peers())
			return want > 0 && len(n.peer.gossip.pubsub.ListPeers(topicPrefix+origin)) >= want
		})
	}
}

func TestOnlyHeadsByThePinnedKeyArePassedOn(t *testing.T) {
	heard := make(chan [2]string, 64)
	a, b := newNode(t).up(listenTCP), newNode(t).up(nil, gossiping(heard))
	a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
	origin, key := a.origin("main"), a.signer("main")
	b.sync(a.addr(), origin)
	info, err := b.shared.Corpora().Lookup(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	note := func(s *proof.Signer, size uint64) []byte {
		raw, err := proof.SignCheckpoint(proof.Checkpoint{Origin: origin, Size: size, Root: info.Root}, s)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	stranger, err := proof.NewSigner(origin, [32]byte{99})
	if err != nil {
		t.Fatal(err)
	}
	from := someIDs(t, 1)[0]
	g := b.peer.gossip
	for _, c := range []struct {
		name string
		note []byte
		want pubsub.ValidationResult
	}{
		{"a larger head", note(key, 4), pubsub.ValidationAccept},
		{"the one that is here", note(key, 3), pubsub.ValidationIgnore},
		{"an older one", note(key, 2), pubsub.ValidationIgnore},
		{"another key", note(stranger, 9), pubsub.ValidationReject},
		{"no note", []byte("x"), pubsub.ValidationReject},
		{"nothing", nil, pubsub.ValidationReject},
		{"too large", append(note(key, 9), strings.Repeat("— x AAAAAAAA\n", maxHeadline/12)...), pubsub.ValidationReject},
	} {
		if got := g.weigh(t.Context(), origin, from, c.note); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := g.weigh(t.Context(), testPeer+"/main", from, note(key, 9)); got != pubsub.ValidationIgnore {
		t.Errorf("a corpus that is not here: %v", got)
	}
	// The same head with other lines is passed on a few times, not for ever.
	for i := range 5 {
		want := pubsub.ValidationAccept
		if i >= gossipSame {
			want = pubsub.ValidationIgnore
		}
		if got := g.weigh(t.Context(), origin, from, note(key, 20)); got != want {
			t.Errorf("the same head, time %d: %v, want %v", i+1, got, want)
		}
	}
	if len(heard) != 1+gossipSame {
		t.Errorf("%d heads were worth asking for, want %d", len(heard), 1+gossipSame)
	}
}

func TestAPeerThatGossipsTooMuchIsHeardNoMore(t *testing.T) {
	a, b := newNode(t).up(listenTCP), newNode(t).up(nil, gossiping(make(chan [2]string, 4096)))
	a.publish("main", entriesOf(t, "doc:/x", 1, 300)...)
	origin := a.origin("main")
	b.sync(a.addr(), origin)
	from := someIDs(t, 1)[0]
	rejected := 0
	for i := range 20 * awayAt {
		if b.peer.gossip.weigh(t.Context(), origin, from, []byte{byte(i), byte(i >> 8)}) == pubsub.ValidationReject {
			rejected++
		}
	}
	if rejected > 4*gossipBurst {
		t.Errorf("%d announcements were weighed, want about %d", rejected, gossipBurst)
	}
	if !b.peer.table.away(from) {
		t.Error("the peer is not kept away")
	}
}

func TestTopicsAreThoseOfCorpora(t *testing.T) {
	for name, want := range map[string]bool{
		topicPrefix + testPeer + "/main": true, topicPrefix + "x": false, "/other/" + testPeer + "/main": false, "": false, topicPrefix: false,
	} {
		if got := (ourTopics{}).CanSubscribe(name); got != want {
			t.Errorf("topic %q: %v, want %v", name, got, want)
		}
	}
}
