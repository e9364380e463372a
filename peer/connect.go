package peer

import (
	"context"
	"fmt"
	"strings"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"
)

// Join connects to the peer at a full multiaddr, one that ends in /p2p/ and
// the peer ID, and returns that ID. From then on the peer can be named by it,
// also after a restart where there is a [Table]; what it did wrong is forgiven.
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
	p.forgive(info.ID)
	if err := p.connect(ctx, *info); err != nil {
		return "", fmt.Errorf("join %s: %w", addr, err)
	}
	if err := p.table.join(info.ID, info.Addrs[0].String()); err != nil {
		return "", fmt.Errorf("join %s: it is connected, and not remembered: %w", addr, err)
	}
	return info.ID.String(), nil
}

// forgive has a peer dialled at once that its owner names now, whatever it did
// and however often it was not there.
func (p *Peer) forgive(id libpeer.ID) {
	p.table.pardon(id)
	if net, ok := p.host.Network().(*swarm.Swarm); ok {
		net.Backoff().Clear(id)
	}
}

// Leave closes the connections to a peer, named by its ID or a full multiaddr,
// and ends what Join began: nothing dials it any more until the owner names it
// again. It can still come by itself; [ListDeny] is against that.
func (p *Peer) Leave(peer string) (id string, err error) {
	who, err := namedPeer(peer)
	if err != nil {
		return "", fmt.Errorf("leave %q: %w", peer, err)
	}
	known, err := p.table.leave(who)
	if err != nil {
		return "", fmt.Errorf("leave %s: %w", who, err)
	}
	p.gater.unwant(who)
	if !known && p.host.Network().Connectedness(who) == network.NotConnected {
		return "", fmt.Errorf("leave %s: %w", who, ErrNotConnected)
	}
	return who.String(), p.host.Network().ClosePeer(who)
}

// namedPeer parses a peer ID or a full multiaddr.
func namedPeer(s string) (libpeer.ID, error) {
	if id, err := parsePeerID(s); err == nil {
		return id, nil
	}
	info, err := libpeer.AddrInfoFromString(s)
	if err != nil {
		return "", fmt.Errorf("%w: want a peer ID or a full multiaddr", ErrAddress)
	}
	return info.ID, nil
}

// connect connects to a peer that the owner named and measures the latency.
func (p *Peer) connect(ctx context.Context, info libpeer.AddrInfo) error {
	if info.ID == p.id.id {
		return ErrSelf
	}
	if _, err := publicKey(info.ID); err != nil {
		return err
	}
	if p.gater.leavesOut(info) {
		return ErrDenied
	}
	p.gater.want(info)
	p.approach(ctx, info)
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if err := p.dial(ctx, info); err != nil {
		return err
	}
	err := p.meet(ctx, info.ID)
	if err != nil && ctx.Err() == nil && p.host.Network().Connectedness(info.ID) == network.NotConnected {
		// What was there was the end of an earlier connection, as to a daemon
		// that was started again.
		if err = p.dial(ctx, info); err == nil {
			err = p.meet(ctx, info.ID)
		}
	}
	return err
}

func (p *Peer) dial(ctx context.Context, info libpeer.AddrInfo) error {
	if err := p.host.Connect(ctx, info); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, shortDial(err))
	}
	return nil
}

// meet checks that a peer speaks our protocol and measures the latency.
func (p *Peer) meet(ctx context.Context, id libpeer.ID) error {
	if err := p.speaks(ctx, id); err != nil {
		return err
	}
	return p.measure(ctx, id)
}

// measure has libp2p record the latency. A peer without ping is none the worse;
// but one that denies us closes the connection only after it has come about.
func (p *Peer) measure(ctx context.Context, id libpeer.ID) error {
	if pong := <-ping.Ping(ctx, p.host, id); pong.Error == nil {
		return nil
	}
	s, err := p.host.NewStream(network.WithNoDial(ctx, "it has just been dialled"), id, ProtocolID)
	if err != nil {
		return fmt.Errorf("%w: it closed the connection at once, as one does that denies this node: %w", ErrUnavailable, err)
	}
	return s.Reset()
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

// reach connects to a peer known by its ID, unless it is connected. Where it was
// reached before is enough, also after a restart: the owner asks for it again.
// What others say of its addresses is not.
func (p *Peer) reach(ctx context.Context, id libpeer.ID) error {
	if p.host.Network().Connectedness(id) == network.Connected {
		return nil
	}
	info := libpeer.AddrInfo{ID: id, Addrs: p.table.addrs(id)}
	if p.gater.InterceptPeerDial(id) {
		info.Addrs = append(p.host.Peerstore().Addrs(id), info.Addrs...)
	}
	if id != p.id.id && len(info.Addrs) == 0 {
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
	case strings.HasPrefix(from, folderPrefix):
		return openFolder(from)
	case strings.HasPrefix(from, "/"):
		info, err := libpeer.AddrInfoFromString(from)
		if err != nil {
			return nil, fmt.Errorf("%w: %q is neither a folder that is there nor a full multiaddr, for example /ip4/192.0.2.1/tcp/4707/p2p/12D3Koo…", ErrAddress, from)
		}
		p.forgive(info.ID)
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
		name:    id.String(),
		base:    "http://" + id.String() + PathPrefix,
		http:    newHTTPClient(p.cfg.streams(), dialStreams(p.host, id, p.traffic)),
		zstd:    !p.cfg.NoCompression,
		faulted: func(err error) { p.blame(id, weight(err)) },
	}
}
