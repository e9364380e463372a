package peer

import (
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
)

// blocked hears from the resource manager whose streams were over the limits.
// It must not call back into libp2p.
type blocked struct{ tell func(libpeer.ID) }

var _ rcmgr.MetricsReporter = blocked{}

// BlockStream implements [rcmgr.MetricsReporter].
func (b blocked) BlockStream(p libpeer.ID, dir network.Direction) {
	if dir == network.DirInbound {
		b.tell(p)
	}
}

// BlockProtocolPeer implements [rcmgr.MetricsReporter].
func (b blocked) BlockProtocolPeer(_ protocol.ID, p libpeer.ID) { b.tell(p) }

// The others name no peer, or say that all is well.

func (blocked) AllowConn(network.Direction, bool)         {}
func (blocked) BlockConn(network.Direction, bool)         {}
func (blocked) AllowStream(libpeer.ID, network.Direction) {}
func (blocked) AllowPeer(libpeer.ID)                      {}
func (blocked) BlockPeer(libpeer.ID)                      {}
func (blocked) AllowProtocol(protocol.ID)                 {}
func (blocked) BlockProtocol(protocol.ID)                 {}
func (blocked) AllowService(string)                       {}
func (blocked) BlockService(string)                       {}
func (blocked) BlockServicePeer(svc string, p libpeer.ID) {}
func (blocked) AllowMemory(int)                           {}
func (blocked) BlockMemory(int)                           {}
