package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"

	"arborist/shard"
)

// A Peer is a node of the network: it serves the shared corpora that it was
// given and follows those of others. It is safe for concurrent use.
type Peer struct {
	id      identity
	host    host.Host
	gater   *gater
	shared  *shard.Shared
	cfg     Config
	handler http.Handler
	server  *streamServer
	traffic *traffic
	log     *slog.Logger

	ctx   context.Context // ends with Close
	stop  context.CancelCauseFunc
	calls sync.WaitGroup // Join, Corpora, Sync and the like in progress, and announce

	mu      sync.Mutex
	closed  bool
	syncing map[string]bool // origins
}

// New starts a node over the shared store, which stays the caller's and must
// outlive it. It listens and serves when New returns; it dials nobody.
func New(cfg Config, shared *shard.Shared) (*Peer, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	id, err := loadIdentity(cfg.KeyFile)
	if err != nil {
		return nil, err
	}
	g, err := newGater(cfg.Access)
	if err != nil {
		return nil, fmt.Errorf("set access: %w", err)
	}
	relays, err := cfg.Reach.relays()
	if err != nil {
		return nil, err
	}
	g.relayed = cfg.Reach.on()
	for _, r := range relays {
		g.want(r)
	}
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	h, err := newHost(id, g, cfg)
	if err != nil {
		return nil, err
	}
	p := &Peer{
		id: id, host: h, gater: g, shared: shared, cfg: cfg, log: log,
		handler: newHandler(shared, &id, cfg.Serve, log),
		syncing: make(map[string]bool), traffic: newTraffic(),
	}
	p.ctx, p.stop = context.WithCancelCause(context.Background())
	p.server = serveStreams(h, p.handler, p.traffic)
	if cfg.Arrived != nil {
		if err := p.announce(); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	if err := listenOn(h, cfg.Listen); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close ends every call in progress, whose synced documents stay, and every
// connection. Calls end with [ErrClosed].
func (p *Peer) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop(ErrClosed)
	p.calls.Wait()
	return errors.Join(p.server.close(), p.host.Close())
}

// enter starts a call that Close ends.
func (p *Peer) enter(ctx context.Context) (context.Context, func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, ErrClosed
	}
	p.calls.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(p.ctx, func() { cancel(ErrClosed) })
	return ctx, func() {
		unhook()
		cancel(nil)
		p.calls.Done()
	}, nil
}

// ID returns the node's peer ID.
func (p *Peer) ID() string { return p.id.id.String() }

// Handler returns the handler that peers reach over streams, for plain HTTP.
func (p *Peer) Handler() http.Handler { return p.handler }

// Addrs returns the full multiaddrs under which others can join this node.
// They end in /p2p/ and the peer ID; there are none where it does not listen.
func (p *Peer) Addrs() []string {
	addrs, err := p.host.Network().InterfaceListenAddresses()
	if err != nil {
		p.log.Warn("cannot list network addresses", "error", err)
		return nil
	}
	// Relays are listened at too, which says nothing before they are known.
	addrs = slices.DeleteFunc(addrs, isRelayed)
	for _, a := range p.host.Addrs() {
		if isRelayed(a) {
			addrs = append(addrs, a)
		}
	}
	full := make([]string, len(addrs))
	for i, a := range addrs {
		full[i] = a.String() + "/p2p/" + p.ID()
	}
	return full
}

// An Info describes a connected peer.
type Info struct {
	ID        string
	Addrs     []string // remote ends of its connections, multiaddrs
	Direction string   // "in" or "out": who opened the first connection
	Latency   time.Duration
	// Relayed: all of its connections go through relays.
	Relayed bool
	// BytesIn and BytesOut came from it and went to it as corpora since the
	// node started.
	BytesIn, BytesOut int64
}

// Peers lists the connected peers by ID. A latency of 0 is one that has not
// been measured: the peer joined us, and we have not asked it for anything.
func (p *Peer) Peers() []Info {
	byID := make(map[libpeer.ID]*Info)
	conns := p.host.Network().Conns()
	slices.SortStableFunc(conns, func(a, b network.Conn) int {
		return a.Stat().Opened.Compare(b.Stat().Opened)
	})
	for _, c := range conns {
		id := c.RemotePeer()
		info := byID[id]
		if info == nil {
			direction := "in"
			if c.Stat().Direction == network.DirOutbound {
				direction = "out"
			}
			count := p.traffic.of(id)
			info = &Info{
				ID: id.String(), Direction: direction, Latency: p.host.Peerstore().LatencyEWMA(id), Relayed: p.relayed(id),
				BytesIn: count.in.Load(), BytesOut: count.out.Load(),
			}
			byID[id] = info
		}
		info.Addrs = append(info.Addrs, c.RemoteMultiaddr().String())
	}
	peers := make([]Info, 0, len(byID))
	for _, info := range byID {
		peers = append(peers, *info)
	}
	slices.SortFunc(peers, func(a, b Info) int { return cmp.Compare(a.ID, b.ID) })
	return peers
}
