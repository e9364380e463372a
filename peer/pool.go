package peer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// maxSources is how many sources one sync takes.
const maxSources = 16

// A pool is the sources of one sync. A source that fails is not used again,
// and what it was asked for is asked of another one: the sync fails only with
// its last source. It is safe for concurrent use.
type pool struct {
	mu      sync.Mutex
	members []*member // in the order in which the owner named them
}

// A member is one source of a pool.
type member struct {
	*source

	// All guarded by pool.mu.
	busy   int   // calls under way
	failed error // why it is not used any more
	bytes  int64 // of documents that came from it and were verified
}

// A SourceUse says what one source of a sync brought.
type SourceUse struct {
	Source string // peer ID, URL or folder
	Bytes  int64  // of verified document text
	Err    error  // why it was given up; nil: it was not
}

func (p *pool) close() {
	for _, m := range p.members {
		m.source.close()
	}
}

// uses lists the sources.
func (p *pool) uses() []SourceUse {
	p.mu.Lock()
	defer p.mu.Unlock()
	uses := make([]SourceUse, len(p.members))
	for i, m := range p.members {
		uses[i] = SourceUse{Source: m.name, Bytes: m.bytes, Err: m.failed}
	}
	return uses
}

// pick returns the source that will most likely be done first with another
// bundle, but none in tried; nil where no source is left.
func (p *pool) pick(tried map[*member]bool) *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	var best *member
	for _, m := range p.members {
		if m.failed == nil && !tried[m] && (best == nil || m.wait() < best.wait()) {
			best = m
		}
	}
	if best == nil {
		return nil
	}
	best.busy++
	// A source that others can stand in for gets less time: it must not hold up
	// what comes after it.
	best.hurry.Store(p.alive() > 1)
	return best
}

// wait compares how long sources will take for something more.
func (m *member) wait() float64 { return float64(m.busy+1) * m.pace.perByte() }

// A pace is how fast a source is. It is safe for concurrent use.
type pace struct {
	mu    sync.Mutex
	value float64 // nanoseconds a byte, lately; 0: nothing has come yet
}

// perByte returns nanoseconds a byte. What is not known is taken for fast, so
// that it becomes known.
func (p *pace) perByte() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.value, 1)
}

// saw records that n bytes took so long. Small replies say little.
func (p *pace) saw(n int64, took time.Duration) {
	if n < 16<<10 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := float64(took) / float64(n)
	if p.value == 0 {
		p.value = now
	}
	p.value += (now - p.value) / 4
}

// lone reports whether the pool never had but one source.
func (p *pool) lone() bool { return len(p.members) == 1 }

func (p *pool) alive() (n int) {
	for _, m := range p.members {
		if m.failed == nil {
			n++
		}
	}
	return n
}

func (p *pool) done(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.busy--
}

// brought counts verified bytes of a source.
func (p *pool) brought(s *source, n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.members {
		if m.source == s {
			m.bytes += int64(n)
		}
	}
}

// drop ends the use of a source. One that lacks something goes on serving what
// it has: it may only lag.
func (p *pool) drop(s *source, err error) {
	if !errors.Is(err, ErrMissing) {
		p.fault(s, err)
	}
}

// fault ends the use of a source.
func (p *pool) fault(s *source, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.members {
		if m.source == s && m.failed == nil {
			m.failed = err
		}
	}
}

// try calls fn with one source after the other until it succeeds. Faults of a
// source end its use; any other error ends the call.
func (p *pool) try(ctx context.Context, fn func(*source) error) error {
	tried := make(map[*member]bool)
	var last error
	for {
		m := p.pick(tried)
		if m == nil {
			return p.none(last)
		}
		err := fn(m.source)
		p.done(m)
		if err == nil || ctx.Err() != nil || !isFault(err) {
			return err
		}
		p.drop(m.source, err)
		tried[m], last = true, err
	}
}

// none is the error of a pool in which no source is left for something: that
// of the last one, or of all where they failed earlier.
func (p *pool) none(last error) error {
	if last != nil {
		return last
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range slices.Backward(p.members) {
		if m.failed != nil {
			return m.failed
		}
	}
	return fmt.Errorf("%w: no source is left", ErrUnavailable)
}

// isFault reports whether an error is a fault of a source, which another one
// may not have.
func isFault(err error) bool {
	var fault *SourceError
	return errors.As(err, &fault)
}
