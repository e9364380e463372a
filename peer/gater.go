package peer

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// A gater is asked by libp2p before each step of each connection. It applies
// an [Access] both ways and forbids every dial that the node's owner did not
// ask for: libp2p itself can open no connection.
type gater struct {
	table *Table // knows who is kept away
	lists atomic.Pointer[accessLists]
	// relayed: connections through relays are allowed, and libp2p may dial
	// public addresses of peers by itself, to make such a connection a direct
	// one and to tell peers which of their addresses can be reached.
	relayed bool

	mu     sync.Mutex
	wanted map[libpeer.ID]wish
	// anybody: peers that nobody named may be dialled, for the directory.
	anybody *wish
}

// A wish allows dialling one peer.
type wish struct {
	// private: the owner gave an address outside the public internet, or a
	// name. Without it, an address that the peer itself announced could send
	// our dials into the local network.
	private bool
}

func newGater(a Access, t *Table) (*gater, error) {
	lists, err := newAccessLists(t.access(a))
	if err != nil {
		return nil, err
	}
	g := &gater{table: t, wanted: make(map[libpeer.ID]wish)}
	g.lists.Store(lists)
	return g, nil
}

// want allows dials to the peer of info from now on, and to the relays that its
// addresses name.
func (g *gater) want(info libpeer.AddrInfo) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wish(info)
	for _, a := range info.Addrs {
		if relay, ok := relayOf(a); ok {
			g.wish(relay)
		}
	}
}

// openTo lets peers be dialled that nobody named; where the directory is one of
// a local network, at private addresses too.
func (g *gater) openTo(local bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.anybody = &wish{private: local}
}

// mayDial returns what allows dialling a peer.
func (g *gater) mayDial(p libpeer.ID) (w wish, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w, ok = g.wanted[p]
	if g.anybody != nil {
		w.private = w.private || g.anybody.private
	}
	return w, ok || g.anybody != nil || g.relayed
}

// unwant ends what want began.
func (g *gater) unwant(id libpeer.ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.wanted, id)
}

// wish is want for one peer. The caller holds mu.
func (g *gater) wish(info libpeer.AddrInfo) {
	w := g.wanted[info.ID]
	for _, a := range info.Addrs {
		w.private = w.private || !manet.IsPublicAddr(a)
	}
	g.wanted[info.ID] = w
}

// relayOf returns the relay that a relayed address goes through.
func relayOf(a ma.Multiaddr) (libpeer.AddrInfo, bool) {
	before, rest := ma.SplitFunc(a, func(c ma.Component) bool { return c.Protocol().Code == ma.P_CIRCUIT })
	if len(rest) == 0 || len(before) == 0 {
		return libpeer.AddrInfo{}, false
	}
	info, err := libpeer.AddrInfoFromP2pAddr(before)
	if err != nil {
		return libpeer.AddrInfo{}, false
	}
	return *info, true
}

func (g *gater) allowsPeer(p libpeer.ID) bool {
	return g.lists.Load().allowsPeer(p) && !g.table.away(p)
}

// leavesOut reports whether the owner's lists leave out a peer, or each address that
// it is to be dialled at.
func (g *gater) leavesOut(info libpeer.AddrInfo) bool {
	lists := g.lists.Load()
	return !lists.allowsPeer(info.ID) || len(info.Addrs) > 0 && !slices.ContainsFunc(info.Addrs, func(a ma.Multiaddr) bool {
		ip, known := addrIP(a)
		return !known || lists.allowsIP(ip) // a name is looked up by the dial
	})
}

func (g *gater) allowsAddr(a ma.Multiaddr) bool {
	if a == nil {
		return false
	}
	// A relayed connection shows the relay's address, not the peer's.
	lists := g.lists.Load()
	if isRelayed(a) && (!g.relayed || len(lists.allowNets) > 0) {
		return false
	}
	ip, ok := addrIP(a)
	return ok && lists.allowsIP(ip)
}

func isRelayed(a ma.Multiaddr) bool {
	_, err := a.ValueForProtocol(ma.P_CIRCUIT)
	return err == nil
}

// addrIP returns the address as the network sees it: an IPv4 address that is
// mapped into IPv6 is an IPv4 address, a zone is dropped.
func addrIP(a ma.Multiaddr) (netip.Addr, bool) {
	std, err := manet.ToIP(a)
	if err != nil {
		return netip.Addr{}, false
	}
	ip, ok := netip.AddrFromSlice(std)
	return ip.Unmap(), ok
}

// InterceptPeerDial implements [connmgr.ConnectionGater].
func (g *gater) InterceptPeerDial(p libpeer.ID) bool {
	_, ok := g.mayDial(p)
	return ok && g.allowsPeer(p)
}

// InterceptAddrDial implements [connmgr.ConnectionGater].
func (g *gater) InterceptAddrDial(p libpeer.ID, a ma.Multiaddr) bool {
	w, ok := g.mayDial(p)
	return ok && (w.private || manet.IsPublicAddr(a)) && g.allowsAddr(a)
}

// InterceptAccept implements [connmgr.ConnectionGater].
func (g *gater) InterceptAccept(c network.ConnMultiaddrs) bool {
	return g.allowsAddr(c.RemoteMultiaddr())
}

// InterceptSecured implements [connmgr.ConnectionGater].
func (g *gater) InterceptSecured(_ network.Direction, p libpeer.ID, c network.ConnMultiaddrs) bool {
	return g.allowsPeer(p) && g.allowsAddr(c.RemoteMultiaddr())
}

// InterceptUpgraded implements [connmgr.ConnectionGater].
func (g *gater) InterceptUpgraded(network.Conn) (bool, control.DisconnectReason) {
	return true, 0
}

// parsePeerID accepts a peer ID's usual text form and no other: "12D3Koo…" of
// an Ed25519 key, which holds the public key itself.
func parsePeerID(s string) (libpeer.ID, error) {
	if len(s) > maxPeerID {
		return "", fmt.Errorf("parse peer ID: %d characters, want at most %d", len(s), maxPeerID)
	}
	id, err := libpeer.Decode(s)
	if err != nil {
		return "", fmt.Errorf("parse peer ID %q: %w", s, err)
	}
	if id.String() != s {
		return "", fmt.Errorf("parse peer ID %q: write it as %s", s, id)
	}
	if _, err := publicKey(id); err != nil {
		return "", err
	}
	return id, nil
}
