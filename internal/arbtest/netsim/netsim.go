// Package netsim is a network for tests of real nodes: they speak QUIC over
// libp2p's own simulation of UDP. In a [testing/synctest] bubble its time is the
// only one that passes. What nodes compute takes none, so how long something
// takes there is how long they wait, for the lines and for each other.
package netsim

import (
	"fmt"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	quic "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/x/simlibp2p"
	"github.com/marcopolo/simnet"
)

// A Network carries packets between hosts.
type Network struct {
	net  *simnet.Simnet
	line simnet.NodeBiDiLinkSettings
}

// New starts a network until the test is over. Each packet is on its way for as
// long as latency says, which is called by one goroutine; a host sends up bytes a
// second and gets five times as many.
func New(t testing.TB, up float64, latency func() time.Duration) *Network {
	t.Helper()
	bits := int(8 * up)
	n := &Network{
		net:  &simnet.Simnet{LatencyFunc: func(*simnet.Packet) time.Duration { return latency() }},
		line: simnet.NodeBiDiLinkSettings{Uplink: simnet.LinkSettings{BitsPerSecond: bits}, Downlink: simnet.LinkSettings{BitsPerSecond: 5 * bits}},
	}
	n.net.Start()
	t.Cleanup(n.net.Close)
	return n
}

// Transports has one host use the network. It must listen at one of [Addr].
func (n *Network) Transports() libp2p.Option {
	return libp2p.ChainOptions(
		libp2p.Transport(quic.NewTransport), simlibp2p.QUICSimnet(n.net, n.line),
		libp2p.DisableIdentifyAddressDiscovery(), // it waits for the machine's network, so time would stand still
	)
}

// Addr is the address of the i-th host, below 12,000. No two are of one /16: a
// directory takes few of each.
func Addr(i int) string {
	return fmt.Sprintf("/ip4/%d.%d.7.7/udp/4707/quic-v1", 20+i%50, 1+i/50)
}
