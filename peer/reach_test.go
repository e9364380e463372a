package peer

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"
)

func TestEveryTransportMovesACorpus(t *testing.T) {
	for name, listen := range map[string]string{
		"TCP": "/ip4/127.0.0.1/tcp/0", "QUIC": "/ip4/127.0.0.1/udp/0/quic-v1", "WebSocket": "/ip4/127.0.0.1/tcp/0/ws",
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newNode(t).up([]string{listen}), newNode(t).up(nil)
			a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
			if b.sync(a.addr(), "main"); b.size(a.origin("main")) != 3 {
				t.Errorf("%d records came, want 3", b.size(a.origin("main")))
			}
		})
	}
}

// await waits for something that other goroutines bring about.
func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute still not: %s", what)
		}
	}
}

// relayedPair returns a publisher that is reached through a relay alone, its
// relayed address, and a node that can use relays.
func relayedPair(t *testing.T) (publisher, other *node, addr string) {
	t.Helper()
	r := newNode(t).up(listenTCP, func(c *Config) { c.Reach.RelayService = true })
	publisher = newNode(t).up(nil, func(c *Config) { c.Reach.Relays = []string{r.addr()} })
	publisher.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
	// The slot shows at the relay alone: libp2p announces no loopback address of
	// a relay.
	await(t, "the publisher has a slot at the relay", func() bool {
		tags := r.peer.host.ConnManager().GetTagInfo(publisher.peer.id.id)
		return tags != nil && tags.Tags["relay-reservation"] > 0
	})
	other = newNode(t).up(nil, func(c *Config) { c.Reach.HolePunching = true })
	return publisher, other, r.addr() + "/p2p-circuit/p2p/" + publisher.id
}

// On loopback no hole can be punched: libp2p tries public addresses alone.
func TestACorpusNeverTravelsThroughARelay(t *testing.T) {
	a, b, addr := relayedPair(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // for a direct connection to come about
	defer cancel()
	if _, err := b.peer.Sync(ctx, addr, "main", nil); !errors.Is(err, ErrRelayed) {
		t.Fatalf("sync through a relay = %v, want ErrRelayed", err)
	}
	list := b.peer.Peers()
	i := slices.IndexFunc(list, func(p Info) bool { return p.ID == a.id })
	if i < 0 || !list[i].Relayed {
		t.Errorf("peers = %+v, want the publisher, relayed", list)
	}
	// A client that insists gets nothing.
	id, err := parsePeerID(a.id)
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.peer.host.NewStream(network.WithAllowLimitedConn(t.Context(), "test"), id, ProtocolID)
	if err == nil {
		err = ask(s, "corpora")
	}
	if err == nil {
		t.Error("corpora were served over a relayed connection")
	}
}

func TestNodesThatAreNotAskedToRelayNothing(t *testing.T) {
	plain := newNode(t).up(listenTCP)
	user := newNode(t).up(listenTCP, func(c *Config) { c.Reach.HolePunching = true })
	for n, not := range map[*node][]protocol.ID{
		plain: {"/libp2p/circuit/relay/0.2.0/hop", "/libp2p/circuit/relay/0.2.0/stop", "/libp2p/dcutr", "/libp2p/autonat/2/dial-request"},
		user:  {"/libp2p/circuit/relay/0.2.0/hop"},
	} {
		for _, p := range n.peer.host.Mux().Protocols() {
			if slices.Contains(not, p) {
				t.Errorf("the host offers %s, which it was not asked to", p)
			}
		}
	}
	// And connect through none.
	a, _, addr := relayedPair(t)
	if _, err := plain.peer.Join(t.Context(), addr); !errors.Is(err, ErrUnavailable) {
		t.Errorf("join of %s through a relay = %v, want ErrUnavailable", a.id, err)
	}
}

func TestAddressesOfRelaysAreChecked(t *testing.T) {
	n := newNode(t)
	for _, relays := range [][]string{{"x"}, {"/ip4/127.0.0.1/tcp/1"}, slices.Repeat([]string{"/ip4/127.0.0.1/tcp/1/p2p/" + testPeer}, maxRelays+1)} {
		if p, err := New(Config{KeyFile: n.keyFile(), Reach: ReachConfig{Relays: relays}}, n.shared); err == nil {
			p.Close()
			t.Errorf("relays %q were accepted", relays)
		}
	}
}
