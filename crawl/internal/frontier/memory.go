package frontier

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// Memory is a crawl held in memory. It keeps no pages: with it, a page that
// was handed on is somebody else's. It is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	entries []Entry // by ID-1
	states  []State
	known   map[string]int64  // URL to ID
	levels  map[level][]int64 // IDs, ascending; may hold settled and moved ones
}

// A level is what waits at one depth of one origin.
type level struct {
	origin string
	depth  int
}

// NewMemory returns a crawl in which nothing but its seeds is known.
func NewMemory(seeds ...string) *Memory {
	m := &Memory{known: map[string]int64{}, levels: map[level][]int64{}}
	m.add(Seeds(seeds))
	return m
}

// Add adds links without an outcome.
func (m *Memory) Add(_ context.Context, links []Link) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(links)
	return nil
}

func (m *Memory) add(links []Link) {
	for _, l := range links {
		id, known := m.known[l.URL]
		if known {
			if e := &m.entries[id-1]; m.states[id-1] == Waiting && l.Depth < e.Depth {
				e.Depth, e.Chain, e.Trail = l.Depth, l.Chain, l.Trail
				m.wait(id, l)
			}
			continue
		}
		id = int64(len(m.entries)) + 1
		m.known[l.URL] = id
		m.entries = append(m.entries, Entry{ID: id, URL: l.URL, Depth: l.Depth, Chain: l.Chain, Trail: l.Trail})
		m.states = append(m.states, Waiting)
		m.wait(id, l)
	}
}

func (m *Memory) wait(id int64, l Link) {
	key := level{Origin(l.URL), l.Depth}
	ids := m.levels[key]
	at, _ := slices.BinarySearch(ids, id)
	m.levels[key] = slices.Insert(ids, at, id)
}

// Origins returns the origins at which an entry is waiting, sorted.
func (m *Memory) Origins(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string]bool{}
	for l := range m.levels {
		if !found[l.origin] && m.waits(l) {
			found[l.origin] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// waits reports whether an entry is waiting at a level, and forgets what is
// settled there. m.mu is held.
func (m *Memory) waits(l level) bool {
	ids := slices.DeleteFunc(m.levels[l], func(id int64) bool { return m.states[id-1] != Waiting || m.entries[id-1].Depth != l.depth })
	if len(ids) == 0 {
		delete(m.levels, l)
		return false
	}
	m.levels[l] = ids
	return true
}

// Next returns the lowest depth at which an entry of the origin is waiting, and
// false where none is.
func (m *Memory) Next(_ context.Context, origin string) (depth int, ok bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for l := range m.levels {
		if l.origin == origin && (!ok || l.depth < depth) && m.waits(l) {
			depth, ok = l.depth, true
		}
	}
	return depth, ok, nil
}

// Waiting returns up to n waiting entries of one origin and depth whose ID is
// over after, in ascending order.
func (m *Memory) Waiting(_ context.Context, origin string, depth int, after int64, n int) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := m.levels[level{origin, depth}]
	at, _ := slices.BinarySearch(ids, after+1)
	var out []Entry
	for _, id := range ids[at:] {
		if len(out) == n {
			break
		}
		if e := m.entries[id-1]; m.states[id-1] == Waiting && e.Depth == depth {
			out = append(out, e)
		}
	}
	return out, nil
}

// Settle notes outcomes. An entry that is settled already stays as it is.
func (m *Memory) Settle(_ context.Context, outcomes []Outcome) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range outcomes {
		at := o.Entry.ID - 1
		if at < 0 || at >= int64(len(m.entries)) || m.states[at] != Waiting {
			continue
		}
		m.states[at] = o.State
		m.add(o.Links)
	}
	return nil
}
