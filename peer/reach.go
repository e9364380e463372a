package peer

import (
	"context"
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/host/autorelay"
	circuit "github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/relay"
)

// maxRelays is how many relays a node names.
const maxRelays = 8

// A ReachConfig says how peers behind address translation and firewalls are
// reached. The zero value uses nothing of it.
type ReachConfig struct {
	// HolePunching lets a relay bring two nodes together, which then open a
	// direct connection from both sides at once, and asks peers which of our
	// addresses they can reach. Others learn our addresses that way, and a peer
	// can make this node dial public addresses of its choice.
	HolePunching bool
	// Relays are full multiaddrs of nodes through which this one can be
	// reached. They imply HolePunching.
	Relays []string
	// RelayService lets other nodes be reached through this one: at most
	// relaySlots of them, with 128 KiB and 2 minutes for each connection.
	RelayService bool
}

const (
	// relaySlots is how many nodes can be reached through this one.
	relaySlots = 64
	// relayCircuits is how many connections each of them gets at a time.
	relayCircuits = 8
	// relayRetry is when a relay that had no slot is asked again.
	relayRetry = time.Minute
)

// on reports whether relayed connections can come about.
func (r ReachConfig) on() bool {
	return r.HolePunching || r.RelayService || len(r.Relays) > 0
}

// options are libp2p's; named tells it the relays.
func (r ReachConfig) options(named autorelay.PeerSource) ([]libp2p.Option, error) {
	if !r.on() {
		return []libp2p.Option{
			// libp2p would otherwise ask peers that offer AutoNAT to dial us back.
			libp2p.ForceReachabilityPrivate(),
			libp2p.DisableRelay(),
			libp2p.DisableIdentifyAddressDiscovery(),
		}, nil
	}
	opts := []libp2p.Option{
		libp2p.EnableRelay(), // the side that connects through one
		libp2p.EnableHolePunching(),
		libp2p.EnableAutoNATv2(),
	}
	relays, err := r.relays()
	if err != nil {
		return nil, err
	}
	if n := len(relays); n > 0 {
		opts = append(opts, libp2p.EnableAutoRelayWithPeerSource(named, autorelay.WithBootDelay(0), autorelay.WithBackoff(relayRetry),
			autorelay.WithMinCandidates(n), autorelay.WithMaxCandidates(n), autorelay.WithNumRelays(n)))
	}
	if !r.RelayService {
		// Our own reachability is not guessed from what strangers say: a node
		// with relays uses them.
		return append(opts, libp2p.ForceReachabilityPrivate()), nil
	}
	limits := circuit.DefaultResources()
	limits.MaxReservations, limits.MaxCircuits = relaySlots, relayCircuits
	return append(opts, libp2p.EnableRelayService(circuit.WithResources(limits)), libp2p.ForceReachabilityPublic()), nil
}

// nameRelays is asked by libp2p for relays as soon as there is a host. They are
// met once this node listens: a connection made before comes from another port
// of QUIC than the one that it listens at, so that no relay could tell it its
// public address, and no hole could be punched for as long as that lasts.
func (p *Peer) nameRelays(ctx context.Context, n int) <-chan libpeer.AddrInfo {
	named := make(chan libpeer.AddrInfo, n)
	defer close(named)
	select {
	case <-p.listening:
	case <-ctx.Done():
		return named
	}
	for _, r := range p.relays[:min(n, len(p.relays))] {
		named <- r
	}
	return named
}

func (r ReachConfig) relays() ([]libpeer.AddrInfo, error) {
	if len(r.Relays) > maxRelays {
		return nil, fmt.Errorf("use relays: %d are too many, at most %d", len(r.Relays), maxRelays)
	}
	relays, err := addrInfos("use relay", r.Relays)
	for i := range relays {
		relays[i].Addrs = withQUIC(relays[i].Addrs)
	}
	return relays, err
}

// addrInfos parses full multiaddrs; several of one peer become one.
func addrInfos(what string, addrs []string) ([]libpeer.AddrInfo, error) {
	var infos []libpeer.AddrInfo
	at := make(map[libpeer.ID]int)
	for _, s := range addrs {
		info, err := libpeer.AddrInfoFromString(s)
		if err != nil || len(info.Addrs) == 0 {
			return nil, fmt.Errorf("%s %q: %w: want a full multiaddr, for example /ip4/192.0.2.1/tcp/4707/p2p/12D3Koo…", what, s, ErrAddress)
		}
		if _, err := publicKey(info.ID); err != nil {
			return nil, fmt.Errorf("%s %q: %w", what, s, err)
		}
		i, known := at[info.ID]
		if !known {
			at[info.ID] = len(infos)
			infos = append(infos, *info)
			continue
		}
		infos[i].Addrs = append(infos[i].Addrs, info.Addrs...)
	}
	return infos, nil
}
