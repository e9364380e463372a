package peer

import (
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	ma "github.com/multiformats/go-multiaddr"
)

// A relay tells a node the address that it sees it at. Holes are punched there,
// so it must be where the node listens.
func TestARelayIsMetFromThePortOfQUICThatIsListenedAt(t *testing.T) {
	quic := []string{"/ip4/127.0.0.1/udp/0/quic-v1"}
	r := newNode(t).up(quic, func(c *Config) { c.Reach.RelayService = true })
	n := newNode(t)
	id, err := loadIdentity(n.keyFile())
	if err != nil {
		t.Fatal(err)
	}
	p, err := newDialler(Config{KeyFile: n.keyFile(), Listen: quic, Reach: ReachConfig{Relays: []string{r.addr()}}}, id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	// On a busy machine it takes that long until the node listens.
	time.Sleep(300 * time.Millisecond)
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	var conn network.Conn
	await(t, "the relay is met", func() bool {
		conns := p.host.Network().ConnsToPeer(r.peer.id.id)
		if len(conns) > 0 {
			conn = conns[0]
		}
		return conn != nil
	})
	local, err := conn.LocalMultiaddr().ValueForProtocol(ma.P_UDP)
	if err != nil {
		t.Fatal(err)
	}
	listen := p.host.Network().ListenAddresses()
	if !slices.ContainsFunc(listen, func(a ma.Multiaddr) bool { port, _ := a.ValueForProtocol(ma.P_UDP); return port == local }) {
		t.Errorf("the relay is met from port %s, and %v is listened at", local, listen)
	}
}
