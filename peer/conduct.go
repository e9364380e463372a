package peer

import (
	"errors"
	"math"
	"time"

	libpeer "github.com/libp2p/go-libp2p/core/peer"
)

// How a peer's faults add up. Half of the sum is forgiven every hour. At
// awayAt the peer is kept away: at first for a minute, each time for twice as
// long, a day at most. The owner's own join forgives everything.
const (
	awayAt     = 100
	awayFirst  = time.Minute
	awayMost   = 24 * time.Hour
	forgiveIn  = time.Hour
	faultBytes = 50  // bytes that are not what was signed, or in no form
	faultSlow  = 2   // it ends early or is slow, which honest peers can be too
	faultFlood = 0.1 // a request or stream beyond the limits
)

// A conduct is how one peer behaved. It is guarded by Table.mu.
type conduct struct {
	faults float64   // at last
	last   time.Time // when faults was right
	times  int       // it was kept away, since the owner joined it
	until  time.Time // it is kept away until then
	limits int       // requests and streams beyond the limits, since the start
}

// weight says what a fault of a source costs. Heads that contradict each other
// or that are old are the publisher's doing or a follower's that lags.
func weight(err error) float64 {
	for _, bad := range []error{ErrTampered, ErrMalformed, ErrTooLarge, ErrKey} {
		if errors.Is(err, bad) {
			return faultBytes
		}
	}
	for _, slow := range []error{ErrTruncated, ErrTooSlow} {
		if errors.Is(err, slow) {
			return faultSlow
		}
	}
	return 0
}

// at returns the sum of the faults at a time.
func (c *conduct) at(now time.Time) float64 {
	if c.last.IsZero() || !now.After(c.last) {
		return c.faults
	}
	return c.faults * math.Exp2(-float64(now.Sub(c.last))/float64(forgiveIn))
}

// add notes a fault, and reports whether the peer is to be kept away from now.
func (c *conduct) add(now time.Time, fault float64) (away bool) {
	c.faults, c.last = c.at(now)+fault, now
	if c.faults < awayAt || c.until.After(now) {
		return false
	}
	wait := awayMost
	if c.times < 11 { // 2¹¹ minutes are more than a day
		wait = min(awayFirst<<c.times, awayMost)
	}
	c.times, c.until, c.faults = c.times+1, now.Add(wait), 0
	return true
}

// fault notes a fault of a peer, and reports whether it is to be kept away
// from now on.
func (t *Table) fault(id libpeer.ID, fault float64) (away bool) {
	if fault == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.of(id)
	if fault == faultFlood {
		r.limits++
	}
	away = r.add(t.now(), fault)
	t.note()
	return away
}

// pardon forgives a peer everything: its owner names it.
func (t *Table) pardon(id libpeer.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.peers[id]; r != nil {
		r.conduct = conduct{limits: r.limits}
		t.note()
	}
}

// away reports whether a peer is kept away.
func (t *Table) away(id libpeer.ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.peers[id]
	return r != nil && r.until.After(t.now())
}

// flooded notes that a guest asks too often: a peer, or a network address.
func (p *Peer) flooded(guest string) {
	if id, err := parsePeerID(guest); err == nil {
		p.blame(id, faultFlood)
	}
}

// blame notes what a peer did wrong, and ends its connections where it is too
// much.
func (p *Peer) blame(id libpeer.ID, fault float64) {
	if p.table.fault(id, fault) {
		p.log.Warn("peer is kept away for a while: too many faults", "peer", id)
		go p.host.Network().ClosePeer(id)
	}
}
