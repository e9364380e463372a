package peer

import (
	"context"
	"fmt"
	"strings"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"
)

// Join connects to the peer at a full multiaddr, one that ends in /p2p/ and
// the peer ID, and returns that ID. From then on the peer can be named by it.
func (p *Peer) Join(ctx context.Context, addr string) (id string, err error) {
	ctx, leave, err := p.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	info, err := libpeer.AddrInfoFromString(addr)
	if err != nil || len(info.Addrs) == 0 {
		return "", fmt.Errorf("join %q: %w: want a full multiaddr, for example /ip4/192.0.2.1/tcp/4707/p2p/12D3Koo…", addr, ErrAddress)
	}
	if err := p.connect(ctx, *info); err != nil {
		return "", fmt.Errorf("join %s: %w", addr, err)
	}
	return info.ID.String(), nil
}

// connect connects to a peer that the owner named and measures the latency.
func (p *Peer) connect(ctx context.Context, info libpeer.AddrInfo) error {
	if info.ID == p.id.id {
		return ErrSelf
	}
	if _, err := publicKey(info.ID); err != nil {
		return err
	}
	p.gater.want(info)
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if err := p.host.Connect(ctx, info); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := p.speaks(ctx, info.ID); err != nil {
		return err
	}
	<-ping.Ping(ctx, p.host, info.ID) // records the latency; a peer without ping is none the worse
	return nil
}

// speaks checks that a connected peer speaks our protocol. What identify has
// told is enough where it says yes; where it does not, it may only be late or
// of an earlier connection, so the peer is asked.
func (p *Peer) speaks(ctx context.Context, id libpeer.ID) error {
	if known, err := p.host.Peerstore().SupportsProtocols(id, ProtocolID); err == nil && len(known) > 0 && !p.relayed(id) {
		return nil
	}
	// On a relayed connection this waits for a direct one to come about.
	s, err := p.host.NewStream(ctx, id, ProtocolID)
	switch {
	case err != nil && p.relayed(id):
		return fmt.Errorf("%w: %s", ErrRelayed, id)
	case err != nil:
		return fmt.Errorf("%w: %s: %w", ErrNoService, id, err)
	}
	return s.Reset()
}

// relayed reports whether all connections to a peer go through relays.
func (p *Peer) relayed(id libpeer.ID) bool {
	return p.host.Network().Connectedness(id) == network.Limited
}

// reach connects to a peer known by its ID, unless it is connected.
func (p *Peer) reach(ctx context.Context, id libpeer.ID) error {
	if p.host.Network().Connectedness(id) == network.Connected {
		return nil
	}
	info := p.host.Peerstore().PeerInfo(id)
	if id != p.id.id && (len(info.Addrs) == 0 || !p.gater.InterceptPeerDial(id)) {
		return ErrNotConnected
	}
	return p.connect(ctx, info)
}

// open returns the source that from names: a connected peer's ID, a full
// multiaddr, which is joined, or an http(s) URL.
func (p *Peer) open(ctx context.Context, from string) (*source, error) {
	switch {
	case strings.HasPrefix(from, "http://"), strings.HasPrefix(from, "https://"):
		return openURL(from, p.cfg)
	case strings.HasPrefix(from, "/"):
		info, err := libpeer.AddrInfoFromString(from)
		if err != nil {
			return nil, fmt.Errorf("%w: %q is not a full multiaddr, for example /ip4/192.0.2.1/tcp/4707/p2p/12D3Koo…", ErrAddress, from)
		}
		if err := p.connect(ctx, *info); err != nil {
			return nil, fmt.Errorf("connect to %s: %w", from, err)
		}
		return p.openPeer(info.ID), nil
	default:
		id, err := parsePeerID(from)
		if err != nil {
			return nil, fmt.Errorf("%w: %q is not a peer ID, a full multiaddr or an http(s) URL", ErrAddress, from)
		}
		if err := p.reach(ctx, id); err != nil {
			return nil, fmt.Errorf("connect to %s: %w", from, err)
		}
		return p.openPeer(id), nil
	}
}

func (p *Peer) openPeer(id libpeer.ID) *source {
	return &source{
		name: id.String(),
		base: "http://" + id.String() + PathPrefix,
		http: newHTTPClient(p.cfg.streams(), dialStreams(p.host, id, p.traffic)),
		zstd: !p.cfg.NoCompression,
	}
}
