package peer

import (
	"bytes"
	"slices"
	"testing"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"

	"arborist/proof"
)

// rekeying has a node gossip, and tells of changes of keys that it hears of.
func rekeying(heard chan<- [3]string) func(*Config) {
	return func(c *Config) {
		c.Gossip = true
		c.Rekeyed = func(origin, peer, key string) { heard <- [3]string{origin, peer, key} }
	}
}

func TestAChangeOfAKeyIsPassedOnAlongALine(t *testing.T) {
	heard := [3]chan [3]string{}
	nodes := make([]*node, 3)
	for i := range nodes {
		heard[i] = make(chan [3]string, 64)
		nodes[i] = newNode(t).up(listenTCP, rekeying(heard[i]))
	}
	a, b, c := nodes[0], nodes[1], nodes[2]
	a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
	origin := a.origin("main")
	b.sync(a.addr(), origin)
	c.sync(b.addr(), origin) // c knows b alone
	awaitTopic(t, origin, a, b, c)
	old, _ := a.nextKey("main") // and no new record
	for i, from := range map[int]string{1: a.id, 2: b.id} {
		select {
		case got := <-heard[i]:
			if got != [3]string{origin, from, old.Verifier().String()} {
				t.Errorf("node %d heard %v, want that %s of %s is replaced", i, got, origin, from)
			}
		case <-time.After(60 * time.Second):
			t.Fatalf("node %d heard nothing in a minute", i)
		}
	}
	b.pinned(origin, old, 0) // a word moves nobody
	b.sync(a.addr(), origin)
	b.pinned(origin, a.signer("main"), 1)
	if len(heard[0]) > 0 {
		t.Error("the publisher heard of its own change")
	}
}

// Whoever has not the pinned key brings nothing about, and whoever has it little.
func TestOnlyThePinnedKeyAnnouncesItsSuccessor(t *testing.T) {
	heard := make(chan [3]string, 64)
	a, b := newNode(t).up(listenTCP), newNode(t).up(nil, rekeying(heard))
	a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
	origin := a.origin("main")
	b.sync(a.addr(), origin)
	info, err := b.shared.Corpora().Lookup(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	change := func(origin string, old, next *proof.Signer) []byte {
		t.Helper()
		r, err := proof.MakeRotation(proof.Checkpoint{Origin: origin, Size: 3, Root: info.Root}, old, next)
		if err != nil {
			t.Fatal(err)
		}
		return r.Note()
	}
	stranger, another := keyOf(t, origin, 98), keyOf(t, origin, 99)
	first, _ := a.nextKey("main")
	file, err := a.shared.Corpora().Rotations(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	other := testPeer + "/main"
	from := someIDs(t, 1)[0]
	type word struct {
		name string
		said []byte
		want pubsub.ValidationResult
	}
	says := func(words ...word) {
		t.Helper()
		for _, w := range words {
			if got := b.peer.gossip.weigh(t.Context(), origin, from, w.said); got != w.want {
				t.Errorf("%s: %v, want %v", w.name, got, w.want)
			}
		}
	}
	wrong := bytes.Clone(file)
	wrong[len(wrong)-10] ^= 1
	says(
		word{"of a stranger's keys", change(origin, stranger, another), pubsub.ValidationReject},
		word{"of another corpus", change(other, keyOf(t, other, 1), keyOf(t, other, 2)), pubsub.ValidationReject},
		word{"with a wrong signature", wrong, pubsub.ValidationReject},
		word{"cut short", file[:len(file)-1], pubsub.ValidationReject},
		word{"of no keys", []byte("arborist-key-rotation/1\n"), pubsub.ValidationReject},
		word{"too large", bytes.Repeat(file, 1+maxHeadline/len(file)), pubsub.ValidationReject},
	)
	if len(heard) != 0 {
		t.Fatalf("%d words of strangers were worth asking for", len(heard))
	}
	// Its holder, or its thief, can say it a few times, in whatever words.
	says(word{"the change", file, pubsub.ValidationAccept})
	for i := range 6 {
		want := pubsub.ValidationAccept
		if i+1 >= gossipSame {
			want = pubsub.ValidationIgnore
		}
		says(word{"another successor", change(origin, first, keyOf(t, origin, 50, byte(i))), want})
	}
	if len(heard) != gossipSame {
		t.Errorf("%d words were worth asking for, want %d", len(heard), gossipSame)
	}
	// Once it is taken, it is no news, and what was its key says nothing.
	b.sync(a.addr(), origin)
	says(
		word{"a replay", file, pubsub.ValidationIgnore},
		word{"another successor of the replaced key", change(origin, first, stranger), pubsub.ValidationIgnore},
	)
	if len(heard) != gossipSame {
		t.Errorf("%d words were worth asking for after the change, want none", len(heard)-gossipSame)
	}
	if b.peer.table.away(from) {
		t.Error("a few words keep a peer away")
	}
	if got := b.peer.gossip.weigh(t.Context(), other, from, file); got != pubsub.ValidationIgnore {
		t.Errorf("a corpus that is not here: %v", got)
	}
}

// A change that was announced while somebody was away shows in the heads of whoever
// is met after it.
func TestAChangeOfAKeyThatWasMissedIsHeardWithTheHead(t *testing.T) {
	a := newNode(t).up(listenTCP)
	a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
	origin := a.origin("main")
	heard := make(chan [3]string, 8)
	b := newNode(t).up(nil, func(c *Config) {
		c.Rekeyed = func(origin, peer, key string) { heard <- [3]string{origin, peer, key} }
	})
	b.sync(a.addr(), origin)
	meet := func(what string, want ...[3]string) {
		t.Helper()
		for _, h := range b.heads(origin) {
			b.peer.Weigh(t.Context(), h) // which a head by an unknown key alone fails
		}
		got := make([][3]string, 0, len(heard))
		for len(heard) > 0 {
			got = append(got, <-heard)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: heard %v, want %v", what, got, want)
		}
	}
	meet("the key that is pinned")
	first, second := a.nextKey("main") // both sign
	change := [3]string{origin, a.id, first.Verifier().String()}
	meet("both keys", change)
	b.pinned(origin, first, 0) // a word moves nobody
	a.publish("main", entriesOf(t, "doc:/y", 1, 300)...)
	meet("the new key alone", change)
	b.sync(a.addr(), origin)
	b.pinned(origin, second, 1)
	meet("a key that is known")
	a.nextKey("main")
	meet("one change more", [3]string{origin, a.id, second.Verifier().String()})
}
