package peer

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
)

// How peers are connected to again: first after redialFirst, then after
// twice as long each time, up to redialMost. Nodes that lost the same peer do
// not all come back at once: each wait is between 3/4 and 5/4 of that.
const (
	redialFirst = 2 * time.Second
	redialMost  = 10 * time.Minute
	redialEvery = time.Second // between looks at who is missing
)

// A redialer decides when a missing peer is dialled. It belongs to one
// goroutine.
type redialer struct {
	tries map[libpeer.ID]int
	next  map[libpeer.ID]time.Time
}

func newRedialer() *redialer {
	return &redialer{tries: make(map[libpeer.ID]int), next: make(map[libpeer.ID]time.Time)}
}

// due reports whether a peer that is missing is to be dialled now.
func (r *redialer) due(id libpeer.ID, now time.Time) bool {
	at, waiting := r.next[id]
	if !waiting {
		r.next[id] = now.Add(spread(redialFirst))
		return false
	}
	if now.Before(at) {
		return false
	}
	r.tries[id]++
	r.next[id] = now.Add(spread(min(redialFirst<<min(r.tries[id], 20), redialMost)))
	return true
}

// found forgets the waits of a peer that is connected, or not joined any more.
func (r *redialer) found(id libpeer.ID) {
	delete(r.tries, id)
	delete(r.next, id)
}

func spread(d time.Duration) time.Duration { return d*3/4 + rand.N(d/2) }

// keepConnected dials the peers that the owner joined, and servers of what it
// follows, whenever they are missing, and writes the table, until the peer is closed.
func (p *Peer) keepConnected() {
	look := time.NewTicker(redialEvery)
	defer look.Stop()
	r := newRedialer()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-look.C:
		}
		if err := p.table.flush(false); err != nil {
			p.log.Warn("known peers are not written", "error", err)
		}
		if p.cfg.Reconnect {
			p.redial(r, time.Now())
		}
	}
}

func (p *Peer) redial(r *redialer, now time.Time) {
	known := p.table.reached()
	for id := range r.next {
		if !slices.Contains(known, id) {
			r.found(id)
		}
	}
	for _, id := range known {
		if p.host.Network().Connectedness(id) == network.Connected {
			r.found(id)
			continue
		}
		if p.table.away(id) || !r.due(id, now) {
			continue
		}
		if p.table.joinedBy(id) || p.lacks(id) {
			p.calls.Go(func() { p.dialAgain(id) })
		}
	}
}

// lacks reports whether a peer serves something that the owner wants to follow and
// that nobody serves who is connected: without it, no new head would be heard of.
func (p *Peer) lacks(id libpeer.ID) bool {
	return p.cfg.Follows != nil && slices.ContainsFunc(p.table.servedBy(id), func(origin string) bool {
		return p.cfg.Follows(origin) && !slices.ContainsFunc(p.table.servers(origin), func(other libpeer.ID) bool {
			return p.host.Network().Connectedness(other) == network.Connected
		})
	})
}

func (p *Peer) dialAgain(id libpeer.ID) {
	ctx, cancel := context.WithTimeout(p.ctx, dialTime)
	defer cancel()
	if err := p.connect(ctx, libpeer.AddrInfo{ID: id, Addrs: p.table.addrs(id)}); err != nil {
		p.log.Debug("known peer not reached", "peer", id, "error", err)
	}
}
