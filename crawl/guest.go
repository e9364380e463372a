package crawl

import (
	"context"
	"time"
)

// A guest is one crawl at the hosts that it asks; see [pace].
type guest struct {
	pace   *pace
	polite bool                                  // one request at a time to each host
	delay  time.Duration                         // spacing at a host that asks for no other
	waits  func(host string, wait time.Duration) // see [Config.Waits]; nil: nobody is told
	left   bool                                  // guarded by pace.mu
}

// at gives what is known of a host, at which the guest is from now on. A guest
// that left stays away: a request of its own may still be under way for others.
// pace.mu is held.
func (g *guest) at(host string) *hostPace {
	h := g.pace.host(host)
	if _, here := h.guests[g]; !here && !g.left {
		h.guests[g] = g.delay
	}
	return h
}

// keepTo changes the spacing that the guest keeps to at a host, from the next
// request on.
func (g *guest) keepTo(host string, delay time.Duration) {
	g.pace.mu.Lock()
	defer g.pace.mu.Unlock()
	h := g.at(host)
	if !g.left {
		h.guests[g] = delay
	}
	h.ring()
}

// leave ends the stay at every host. What the hosts asked for goes on to hold,
// for whoever comes next.
func (g *guest) leave() {
	g.pace.mu.Lock()
	defer g.pace.mu.Unlock()
	g.left = true
	for _, h := range g.pace.hosts {
		if _, here := h.guests[g]; here {
			delete(h.guests, g)
			h.ring()
		}
	}
}

// A turn is the leave to make one request. End must be called.
type turn struct {
	pace *pace
	host *hostPace
}

// turn returns when a request to the host may start. Its error is ctx's.
func (g *guest) turn(ctx context.Context, host string) (turn, error) {
	g.pace.mu.Lock()
	h := g.at(host)
	g.pace.mu.Unlock()
	select {
	case h.door <- struct{}{}:
		defer func() { <-h.door }()
	case <-ctx.Done():
		return turn{}, ctx.Err()
	}
	for told := false; ctx.Err() == nil; {
		at, begun := g.pace.begin(h)
		if begun {
			return turn{g.pace, h}, nil
		}
		wait := longestPause // for the end of another request, which rings
		if !at.IsZero() {
			wait = time.Until(at)
			if wait > longWait && !told && g.waits != nil {
				told = true
				g.waits(host, wait)
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-h.bell:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return turn{}, ctx.Err()
}

// begin begins a turn where one may begin now, and says otherwise when one may, if
// the bell is not rung before; the zero time: when another request has ended.
func (p *pace) begin(h *hostPace) (at time.Time, begun bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, at := time.Now(), h.blocked
	if next := h.last.Add(h.spacing()); !h.last.IsZero() && next.After(at) {
		at = next
	}
	switch {
	case at.After(now):
		return at, false
	case h.underWay > 0 && h.oneByOne():
		return time.Time{}, false // its end rings
	}
	h.underWay++
	h.last = now
	return now, true
}

// started notes that the request starts later than its turn was given, so that
// the next one keeps its distance.
func (t turn) started() {
	t.pace.mu.Lock()
	defer t.pace.mu.Unlock()
	t.host.last = time.Now()
}

// end says that the request has its answer.
func (t turn) end() {
	t.pace.mu.Lock()
	defer t.pace.mu.Unlock()
	t.host.underWay--
	t.host.ring()
}
