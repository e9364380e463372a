package peer

import (
	"errors"
	"slices"
	"testing"

	ma "github.com/multiformats/go-multiaddr"
)

// Where a router hands a port on, or a cloud maps an address, this node cannot know
// it: its owner does, and then whoever hands it on or asks the directory does too.
func TestAnAddressThatTheOwnerNamesIsHandedOn(t *testing.T) {
	nodes := directory(t, 4)
	const public = "/ip4/127.0.0.77/tcp/4707" // loopback, or the directory would not tell of it here
	publisher := newNode(t)
	publisher.up(listenTCP, inWide(nodes[0].addr()), func(c *Config) { c.Announce = []string{public} })
	if addrs := publisher.peer.Addrs(); len(addrs) != 2 || addrs[0] != public+"/p2p/"+publisher.id {
		t.Errorf("it prints %q", addrs)
	}
	await(t, "who it is connected with has the address to tell others", func() bool {
		known := nodes[0].peer.host.Peerstore().Addrs(publisher.peer.id.id)
		return slices.ContainsFunc(known, func(a ma.Multiaddr) bool { return a.String() == public })
	})
	silent := newNode(t).up(nil, func(c *Config) { c.Announce = []string{public} })
	if addrs := silent.peer.Addrs(); len(addrs) > 0 {
		t.Errorf("a node that listens nowhere prints %q", addrs)
	}
}

func TestAddressesToAnnounceAreChecked(t *testing.T) {
	for _, addr := range []string{
		"/ip4/203.0.113.7/tcp/4707", "/ip6/2001:db8::1/udp/4707/quic-v1", "/dns4/node.example.org/tcp/443/tls/ws", "/dns/node.example.org/tcp/1",
	} {
		if _, err := outside([]string{addr}); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
	}
	for _, addr := range []string{
		"", "x", "203.0.113.7:4707", "/ip4/203.0.113.7", "/ip4/0.0.0.0/tcp/4707", "/ip6/::/tcp/4707", "/ip4/203.0.113.7/tcp/0", "/unix/run/x", "/tcp/4707",
		"/ip4/203.0.113.7/tcp/4707/p2p/" + testPeer, "/ip4/203.0.113.7/tcp/4707/p2p/" + testPeer + "/p2p-circuit", "/dns4/a/tcp/1/p2p-circuit",
	} {
		n := newNode(t)
		if p, err := New(Config{KeyFile: n.keyFile(), Announce: []string{addr}}, n.shared); !errors.Is(err, ErrAnnounce) {
			if err == nil {
				p.Close()
			}
			t.Errorf("%q: %v, want ErrAnnounce", addr, err)
		}
	}
	if _, err := outside(slices.Repeat([]string{"/dns4/a/tcp/1"}, maxOutside+1)); !errors.Is(err, ErrAnnounce) {
		t.Errorf("too many: %v", err)
	}
}
