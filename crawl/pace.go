package crawl

import (
	"context"
	"sync"
	"time"
)

// A pace spaces the requests to each host. Hosts never wait for each other.
//
// Requests start at least the host's delay apart, counted from start to start,
// and none starts before a pause that the host was given has passed. A host
// that pushes back is slowed down: its spacing doubles, and halves again with
// each run of calm requests until it is back at its delay.
type pace struct {
	delay time.Duration // between requests to a host that does not ask for another

	mu    sync.Mutex // guards all below
	hosts map[string]*hostPace
}

type hostPace struct {
	last    time.Time     // start of the latest request, maybe in the future
	delay   time.Duration // spacing as agreed
	extra   time.Duration // spacing after push-back, 0 or more than delay
	calm    int           // requests in a row without push-back
	blocked time.Time     // no request before this
}

const (
	slowest     = 30 * time.Second       // the longest spacing that push-back leads to
	firstExtra  = 500 * time.Millisecond // the spacing after the first push-back
	calmToHalve = 10
)

func newPace(delay time.Duration) *pace {
	return &pace{delay: delay, hosts: map[string]*hostPace{}}
}

func (p *pace) host(name string) *hostPace {
	h := p.hosts[name]
	if h == nil {
		h = &hostPace{delay: p.delay}
		p.hosts[name] = h
	}
	return h
}

// wait returns when a request to the host may start, and takes that turn.
func (p *pace) wait(ctx context.Context, host string) error {
	for {
		at := p.turn(host)
		if err := sleepUntil(ctx, at); err != nil {
			return err
		}
		// The host may have been given a pause while this turn waited; then
		// the turn is void, and the next one keeps the new spacing.
		p.mu.Lock()
		void := p.host(host).blocked.After(at)
		p.mu.Unlock()
		if !void {
			return nil
		}
	}
}

// turn gives the next free start of a request to the host.
func (p *pace) turn(host string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, at := p.host(host), time.Now()
	if next := h.last.Add(max(h.delay, h.extra)); !h.last.IsZero() && next.After(at) {
		at = next
	}
	if h.blocked.After(at) {
		at = h.blocked
	}
	h.last = at
	return at
}

// started notes that a turn began later than it was given, so that the next
// keeps its distance.
func (p *pace) started(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h, now := p.host(host), time.Now(); now.After(h.last) {
		h.last = now
	}
}

// slowed reports whether the host pushes back: it is to have one request at a
// time.
func (p *pace) slowed(host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hosts[host]
	return h != nil && (h.extra > 0 || h.blocked.After(time.Now()))
}

// setDelay changes the spacing of a host from its next request on.
func (p *pace) setDelay(host string, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.host(host).delay = delay
}

// pushBack slows a host down and gives it a pause.
func (p *pace) pushBack(host string, pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, now := p.host(host), time.Now()
	// Requests that were under way together are pushed back together: that
	// is one push.
	if !h.blocked.After(now) {
		h.extra = min(max(2*max(h.extra, h.delay), firstExtra), max(slowest, h.delay))
	}
	if until := now.Add(pause); until.After(h.blocked) {
		h.blocked = until
	}
	h.calm = 0
}

// calm notes a request that the host answered gladly.
func (p *pace) calm(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.host(host)
	if h.extra == 0 {
		return
	}
	if h.calm++; h.calm < calmToHalve {
		return
	}
	h.calm = 0
	if h.extra /= 2; h.extra <= h.delay || h.extra < firstExtra/2 {
		h.extra = 0
	}
}

func sleepUntil(ctx context.Context, at time.Time) error {
	d := time.Until(at)
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
