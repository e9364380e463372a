package peer

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/discovery/mdns"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// LANService is the name under which nodes announce themselves in the local
// network by multicast DNS.
const LANService = "_arborist._udp"

const (
	lanDials  = 4                // peers dialled at a time
	lanPeers  = 64               // peers that are connected because they were found
	lanPause  = time.Minute      // before the same peer is dialled again
	lanChange = 30 * time.Second // between looks at whether our own addresses have changed
)

// A lan finds peers in the local network and connects to them. What others
// announce is anybody's word: a peer must prove its ID, and only addresses of
// local networks are dialled.
type lan struct {
	peer *Peer
	free chan struct{}

	mu    sync.Mutex
	tried map[libpeer.ID]time.Time
}

var _ mdns.Notifee = (*lan)(nil)

// runLAN announces this node and looks for others until the peer is closed. It
// starts again when the addresses of the machine change, since an announcement
// names those that there were at its start.
func (p *Peer) runLAN() {
	l := &lan{peer: p, free: make(chan struct{}, lanDials), tried: make(map[libpeer.ID]time.Time)}
	look := time.NewTicker(lanChange)
	defer look.Stop()
	var running mdns.Service
	defer func() {
		if running != nil {
			running.Close()
		}
	}()
	var last []ma.Multiaddr
	for {
		now, err := p.host.Network().InterfaceListenAddresses()
		same := slices.EqualFunc(now, last, func(a, b ma.Multiaddr) bool { return a.Equal(b) })
		if err == nil && len(now) > 0 && (running == nil || !same) {
			if running != nil {
				running.Close()
			}
			last, running = now, mdns.NewMdnsService(p.host, LANService, l)
			if err := running.Start(); err != nil {
				p.log.Warn("local network: nobody is found and this node is not announced", "error", err)
				running.Close()
				running = nil
			}
		}
		select {
		case <-p.ctx.Done():
			return
		case <-look.C:
		}
	}
}

// HandlePeerFound implements [mdns.Notifee].
func (l *lan) HandlePeerFound(info libpeer.AddrInfo) {
	info.Addrs = slices.DeleteFunc(info.Addrs, func(a ma.Multiaddr) bool { return !manet.IsPrivateAddr(a) || isRelayed(a) })
	info.Addrs = info.Addrs[:min(len(info.Addrs), maxPeerAddrs)]
	ctx, leave, err := l.peer.enter(l.peer.ctx)
	if err != nil {
		return
	}
	defer leave()
	if len(info.Addrs) == 0 || !l.due(info.ID) {
		return
	}
	select {
	case l.free <- struct{}{}:
		defer func() { <-l.free }()
	case <-ctx.Done():
		return
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if err := l.peer.connect(ctx, info); err != nil {
		l.peer.log.Debug("local network: peer not reached", "peer", info.ID, "error", err)
	}
}

// due reports whether a peer that was found is to be dialled now, and notes
// that it is.
func (l *lan) due(id libpeer.ID) bool {
	if l.peer.host.Network().Connectedness(id) == network.Connected || !l.peer.gater.allowsPeer(id) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.tried[id]; ok && time.Since(at) < lanPause {
		return false
	}
	for other, at := range l.tried {
		if time.Since(at) >= lanPause {
			delete(l.tried, other)
		}
	}
	if len(l.tried) >= lanPeers { // somebody announces peers without end
		return false
	}
	l.tried[id] = time.Now()
	return true
}
