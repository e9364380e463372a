package peer

import (
	"fmt"
	"slices"

	"github.com/libp2p/go-libp2p/core/event"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
)

// announce tells Config.Arrived of every new connection with a peer that
// speaks our protocol, until the peer is closed.
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
				if id, ok := arrived(e); ok {
					p.cfg.Arrived(id.String())
				}
			case <-p.ctx.Done():
				return
			}
		}
	})
	return nil
}

func arrived(e any) (libpeer.ID, bool) {
	done, ok := e.(event.EvtPeerIdentificationCompleted)
	return done.Peer, ok && slices.Contains(done.Protocols, ProtocolID)
}
