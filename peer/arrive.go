package peer

import (
	"fmt"
	"slices"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
)

// announce notes every new connection with a peer that speaks our protocol,
// and tells Config.Arrived of it, until the peer is closed.
func (p *Peer) announce() error {
	sub, err := p.host.EventBus().Subscribe(new(event.EvtPeerIdentificationCompleted))
	if err != nil {
		return fmt.Errorf("watch connections: %w", err)
	}
	p.calls.Go(func() {
		defer sub.Close()
		for {
			select {
			case e := <-sub.Out():
				p.greet(e)
			case <-p.ctx.Done():
				return
			}
		}
	})
	return nil
}

func (p *Peer) greet(e any) {
	id, ok := arrived(e)
	if !ok {
		return
	}
	at := ""
	for _, c := range p.host.Network().ConnsToPeer(id) {
		// The other end of an inbound connection is no address to dial.
		if c.Stat().Direction == network.DirOutbound {
			at = c.RemoteMultiaddr().String()
		}
	}
	p.table.met(id, at)
	if p.cfg.Arrived != nil {
		p.cfg.Arrived(id.String())
	}
}

func arrived(e any) (libpeer.ID, bool) {
	done, ok := e.(event.EvtPeerIdentificationCompleted)
	return done.Peer, ok && slices.Contains(done.Protocols, ProtocolID)
}
