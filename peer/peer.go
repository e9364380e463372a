package peer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/host"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	"golang.org/x/time/rate"

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
	handler *handler
	server  *streamServer
	traffic *traffic
	table   *Table
	wide    *wide   // nil: takes no part in the directory
	gossip  *gossip // nil: does not gossip
	filters filters // of corpora that are not here
	log     *slog.Logger

	relays    []libpeer.AddrInfo // of cfg, by peer
	outside   []ma.Multiaddr     // see Config.Announce
	listening chan struct{}      // closed once it does

	download *rate.Limiter // of bytes from all sources, nil: none

	ctx   context.Context // ends with Close
	stop  context.CancelCauseFunc
	calls sync.WaitGroup // Join, Corpora, Sync and the like in progress, and announce

	mu     sync.Mutex
	closed bool
	held   map[string]*holding // by origin
}

// New starts a node over the shared store, which stays the caller's and must
// outlive it. It listens and serves when New returns. It dials nobody but those that
// cfg names or lets it look for: relays, joined peers, the directory, the local network.
func New(cfg Config, shared *shard.Shared) (*Peer, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	id, err := loadIdentity(cfg.KeyFile)
	if err != nil {
		return nil, err
	}
	p, err := newDialler(cfg, id)
	if err != nil {
		return nil, err
	}
	p.shared = shared
	p.handler = newHandler(shared, &p.id, cfg.Serve, p.log)
	p.handler.guests.flooded = p.flooded
	p.server = serveStreams(p.host, p.handler, p.traffic)
	if err := p.start(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// newDialler returns a peer that can ask others, and serves nothing.
func newDialler(cfg Config, id identity) (*Peer, error) {
	table := cfg.Table
	if table == nil {
		table = newTable("")
	}
	g, err := newGater(cfg.Access, table)
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
	elsewhere, err := outside(cfg.Announce)
	if err != nil {
		return nil, err
	}
	if len(cfg.Listen) == 0 {
		elsewhere = nil // nobody is there to be reached
	}
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	p := &Peer{
		id: id, gater: g, cfg: cfg, log: log, table: table, traffic: newTraffic(), held: make(map[string]*holding),
		relays: relays, outside: elsewhere, listening: make(chan struct{}), download: newLimit(cfg.MaxDownload),
	}
	if p.host, err = newHost(id, g, cfg, blocked{func(who libpeer.ID) { p.blame(who, faultFlood) }}, p.nameRelays, elsewhere); err != nil {
		return nil, err
	}
	p.ctx, p.stop = context.WithCancelCause(context.Background())
	return p, nil
}

// start listens, and then does what this node does by itself.
func (p *Peer) start() error {
	if err := p.announce(); err != nil {
		return err
	}
	if err := listenOn(p.host, p.cfg.Listen); err != nil {
		return err
	}
	close(p.listening)
	p.calls.Go(p.keepConnected)
	entry, err := p.cfg.Wide.entry()
	if err != nil {
		return err
	}
	if len(entry) > 0 {
		if p.wide, err = p.openWide(entry); err != nil {
			return err
		}
		p.calls.Go(p.wide.run)
	}
	if p.cfg.Gossip {
		if p.gossip, err = p.openGossip(); err != nil {
			return err
		}
		p.calls.Go(p.gossip.run)
	}
	if p.cfg.LAN {
		p.calls.Go(p.runLAN)
	}
	return nil
}

// Close ends every call in progress, whose synced documents stay, and every
// connection. Calls end with [ErrClosed].
func (p *Peer) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop(ErrClosed)
	p.calls.Wait()
	var errs []error
	if p.server != nil {
		errs = append(errs, p.server.close())
	}
	if p.wide != nil {
		errs = append(errs, p.wide.close())
	}
	return errors.Join(append(errs, p.host.Close(), p.table.flush(true))...)
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
	addrs = slices.Concat(p.outside, addrs)
	full := make([]string, len(addrs))
	for i, a := range addrs {
		full[i] = a.String() + "/p2p/" + p.ID()
	}
	return full
}
