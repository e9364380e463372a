package peer

import (
	"context"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/holepunch"
	ma "github.com/multiformats/go-multiaddr"
)

// punchReady bounds the wait of a node that has just met its first relay: libp2p
// looks every 5 seconds whether a public address of this node is known, and
// takes part in hole punching from then on.
const punchReady = 6 * time.Second

// approach prepares a dial that goes through relays, so that a direct connection
// can follow it. The far side tries to punch a hole once for each relayed
// connection, as soon as that is there: by then a relay must have told this node
// its public address, and what is left of an earlier try must be closed.
func (p *Peer) approach(ctx context.Context, info libpeer.AddrInfo) {
	relays := relaysOf(info.Addrs)
	if len(relays) == 0 || !p.cfg.Reach.on() || p.host.Network().Connectedness(info.ID) == network.Connected {
		return
	}
	for _, c := range p.host.Network().ConnsToPeer(info.ID) {
		if time.Since(c.Stat().Opened) >= dialTime {
			c.Close()
		}
	}
	met, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	for _, r := range relays {
		if err := p.host.Connect(met, r); err != nil {
			p.log.Debug("relay not reached", "peer", r.ID, "error", err)
		}
	}
	if len(p.cfg.Listen) > 0 { // no hole leads to a node that listens nowhere
		p.awaitPunching(ctx)
	}
}

func (p *Peer) awaitPunching(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, punchReady)
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for !slices.Contains(p.host.Mux().Protocols(), holepunch.Protocol) {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// relaysOf returns the relays that addresses go through.
func relaysOf(addrs []ma.Multiaddr) (relays []libpeer.AddrInfo) {
	for _, a := range addrs {
		if r, ok := relayOf(a); ok {
			r.Addrs = withQUIC(r.Addrs)
			relays = append(relays, r)
		}
	}
	return relays
}

// withQUIC adds QUIC at the same port to addresses of TCP, where a node listens
// unless it is told otherwise. Holes are punched for QUIC alone: it dials from
// the port that it listens at, so what a relay sees of it is where others can
// come in.
func withQUIC(addrs []ma.Multiaddr) []ma.Multiaddr {
	for _, a := range addrs {
		host, last := ma.SplitLast(a)
		if last == nil || last.Protocol().Code != ma.P_TCP {
			continue
		}
		quic, err := ma.NewMultiaddr("/udp/" + last.Value() + "/quic-v1")
		if err == nil {
			addrs = append(addrs, host.Encapsulate(quic))
		}
	}
	return addrs
}
