package peer

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
)

// An Info describes a peer.
type Info struct {
	ID        string
	Connected bool
	// Addrs are the remote ends of its connections, multiaddrs; of a peer that
	// is not connected, where it was reached.
	Addrs     []string
	Direction string // "in" or "out": who opened the first connection
	Latency   time.Duration
	// Relayed: all of its connections go through relays.
	Relayed bool
	// Joined: the owner named it; it is connected to again when it is gone.
	Joined bool
	// Seen is when it was connected, the last time.
	Seen time.Time
	// BytesIn and BytesOut came from it and went to it as corpora since the
	// node started.
	BytesIn, BytesOut int64
	// Corpora are origins that it said it serves.
	Corpora []string
	// LimitsHit counts its requests and streams beyond the limits since the
	// node started.
	LimitsHit int
	// Score is 0 for a peer without faults and falls to -100, where it is kept
	// away until AwayUntil. Half of it comes back each hour.
	Score     int
	AwayUntil time.Time // zero: it is not kept away
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
				Direction: direction, Latency: p.host.Peerstore().LatencyEWMA(id), Relayed: p.relayed(id),
				BytesIn: count.in.Load(), BytesOut: count.out.Load(),
			}
			p.table.describe(id, info)
			info.Connected, info.Addrs = true, nil
			byID[id] = info
		}
		if addr := c.RemoteMultiaddr().String(); !slices.Contains(info.Addrs, addr) { // both sides can dial at once
			info.Addrs = append(info.Addrs, addr)
		}
	}
	return sortedInfos(byID)
}

// Known lists the peers that are connected and those that are remembered.
func (p *Peer) Known() []Info {
	known := p.table.Known()
	for _, info := range p.Peers() {
		i := slices.IndexFunc(known, func(k Info) bool { return k.ID == info.ID })
		if i < 0 {
			known = append(known, info)
		} else {
			known[i] = info
		}
	}
	slices.SortFunc(known, func(a, b Info) int { return cmp.Compare(a.ID, b.ID) })
	return known
}

// Known lists the peers that are remembered, as if none were connected.
func (t *Table) Known() []Info {
	t.mu.Lock()
	ids := make([]libpeer.ID, 0, len(t.peers))
	for id := range t.peers {
		ids = append(ids, id)
	}
	t.mu.Unlock()
	byID := make(map[libpeer.ID]*Info)
	for _, id := range ids {
		byID[id] = new(Info)
		t.describe(id, byID[id])
	}
	return sortedInfos(byID)
}

// describe tells what the table knows of a peer.
func (t *Table) describe(id libpeer.ID, info *Info) {
	info.ID = id.String()
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.peers[id]
	if r == nil {
		return
	}
	now := t.now()
	info.Addrs, info.Corpora = slices.Clone(r.addrs), slices.Clone(r.serves)
	info.Joined, info.Seen, info.LimitsHit = r.joined, r.seen, r.limits
	info.Score = -int(math.Ceil(min(r.at(now), awayAt)))
	if r.until.After(now) {
		info.Score, info.AwayUntil = -awayAt, r.until
	}
}

func sortedInfos(byID map[libpeer.ID]*Info) []Info {
	infos := make([]Info, 0, len(byID))
	for _, info := range byID {
		infos = append(infos, *info)
	}
	slices.SortFunc(infos, func(a, b Info) int { return cmp.Compare(a.ID, b.ID) })
	return infos
}
