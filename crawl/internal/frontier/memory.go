package frontier

import (
	"context"
	"slices"
	"sync"
)

// Memory is a crawl held in memory. It keeps no pages: with it, a page that
// was handed on is somebody else's. It is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	entries []Entry // by ID-1
	states  []State
	known   map[string]int64 // URL to ID
	levels  map[int][]int64  // IDs by depth, ascending; may hold settled and moved ones
}

// NewMemory returns a crawl in which nothing but the seed is known.
func NewMemory(seed string) *Memory {
	m := &Memory{known: map[string]int64{}, levels: map[int][]int64{}}
	m.add([]Link{{URL: seed}})
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
				m.wait(id, l.Depth)
			}
			continue
		}
		id = int64(len(m.entries)) + 1
		m.known[l.URL] = id
		m.entries = append(m.entries, Entry{ID: id, URL: l.URL, Depth: l.Depth, Chain: l.Chain, Trail: l.Trail})
		m.states = append(m.states, Waiting)
		m.wait(id, l.Depth)
	}
}

func (m *Memory) wait(id int64, depth int) {
	level := m.levels[depth]
	at, _ := slices.BinarySearch(level, id)
	m.levels[depth] = slices.Insert(level, at, id)
}

// Next returns the lowest depth, at least from, at which an entry is waiting,
// and false where none is.
func (m *Memory) Next(_ context.Context, from int) (depth int, ok bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for d, ids := range m.levels {
		if d < from || ok && d >= depth {
			continue
		}
		if slices.ContainsFunc(ids, func(id int64) bool { return m.states[id-1] == Waiting && m.entries[id-1].Depth == d }) {
			depth, ok = d, true
		}
	}
	return depth, ok, nil
}

// Waiting returns up to n waiting entries of one depth whose ID is over after,
// in ascending order.
func (m *Memory) Waiting(_ context.Context, depth int, after int64, n int) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	level := m.levels[depth]
	at, _ := slices.BinarySearch(level, after+1)
	var out []Entry
	for _, id := range level[at:] {
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
