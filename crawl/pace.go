package crawl

import (
	"sync"
	"time"

	"arborist/crawl/robots"
)

// A pace spaces the requests to each host, over all crawls that share it. Hosts
// never wait for each other.
//
// A crawl is a guest of a host from its first request to it until it leaves.
// Requests to a host start its spacing apart, counted from start to start: the
// longest that any of its guests keeps to. None starts before a pause that the
// host asked for has passed. While a guest is polite, or the host pushes back, one
// request at a time is under way, whoever makes it. Turns come in the order in
// which they are asked for.
//
// A host that pushes back is slowed down: its spacing doubles, and halves again
// with each run of calm requests until it is back at what its guests keep to.
type pace struct {
	mu    sync.Mutex // guards all below, but for the channels
	hosts map[string]*hostPace
}

type hostPace struct {
	door chan struct{} // held by who has the next turn
	bell chan struct{} // holds one ring: the next turn may come earlier than it seemed

	guests   map[*guest]time.Duration // the spacing that each keeps to
	underWay int                      // turns that have begun and not ended
	last     time.Time                // start of the latest request
	extra    time.Duration            // spacing after push-back, 0 or more than the guests'
	calm     int                      // requests in a row without push-back
	blocked  time.Time                // no request before this
}

const (
	slowest     = 30 * time.Second       // the longest spacing that push-back leads to
	firstExtra  = 500 * time.Millisecond // the spacing after the first push-back
	calmToHalve = 10

	// hostsKept is how many hosts are remembered before those are forgotten that
	// have no guest, were asked for nothing for as long as the longest Crawl-delay,
	// and want no pause.
	hostsKept    = 4096
	remembersFor = robots.MaxDelay
)

func newPace() *pace { return &pace{hosts: map[string]*hostPace{}} }

// host gives what is known of a host. p.mu is held.
func (p *pace) host(name string) *hostPace {
	h := p.hosts[name]
	if h == nil {
		if len(p.hosts) >= hostsKept {
			p.forget()
		}
		h = &hostPace{door: make(chan struct{}, 1), bell: make(chan struct{}, 1), guests: map[*guest]time.Duration{}}
		p.hosts[name] = h
	}
	return h
}

// forget makes room, see hostsKept. p.mu is held.
func (p *pace) forget() {
	now := time.Now()
	for name, h := range p.hosts {
		if len(h.guests) == 0 && h.underWay == 0 && now.After(h.last.Add(remembersFor)) && now.After(h.blocked) {
			delete(p.hosts, name)
		}
	}
}

// spacing gives the least time between two requests. The pace's lock is held.
func (h *hostPace) spacing() time.Duration { return max(h.agreed(), h.extra) }

// agreed gives the longest spacing that a guest keeps to.
func (h *hostPace) agreed() (longest time.Duration) {
	for _, d := range h.guests {
		longest = max(longest, d)
	}
	return longest
}

// oneByOne reports whether one request at a time is to be under way.
func (h *hostPace) oneByOne() bool {
	for g := range h.guests {
		if g.polite {
			return true
		}
	}
	return h.pushesBack()
}

func (h *hostPace) pushesBack() bool { return h.extra > 0 || h.blocked.After(time.Now()) }

func (h *hostPace) ring() {
	select {
	case h.bell <- struct{}{}:
	default:
	}
}

// slowed reports whether the host pushes back: it is to have one request at a
// time.
func (p *pace) slowed(host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hosts[host]
	return h != nil && h.pushesBack()
}

// pushBack slows a host down and gives it a pause.
func (p *pace) pushBack(host string, pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, now := p.host(host), time.Now()
	// Requests that were under way together are pushed back together: that
	// is one push.
	if !h.blocked.After(now) {
		h.extra = min(max(2*h.spacing(), firstExtra), max(slowest, h.agreed()))
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
	if h.extra /= 2; h.extra <= h.agreed() || h.extra < firstExtra/2 {
		h.extra = 0
	}
}
