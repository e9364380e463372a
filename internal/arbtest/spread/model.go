package spread

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// A Config is one network. Sizes are what docs/protocol.md makes of them: see
// docs/scale.md.
type Config struct {
	Nodes, Corpora int
	Follows        float64       // corpora that a node follows, on average; some corpora have many more followers than others
	Mesh           int           // followers that each of them connects to; as many connect to it
	Note           int           // bytes of an announced head
	Ask            int           // bytes of a sync that finds what it needs: key, head, tiles
	Change         int           // bytes of records and documents that a new head brings
	Up             float64       // bytes a second that a node can send
	Latency        time.Duration // typical, one way
	PublisherAlone bool          // everybody fetches from the publisher: what it would cost without followers that serve
	Seed           uint64
}

// Network is one with messages as docs/protocol.md has them and the lines of homes.
func Network(nodes, corpora, change int) Config {
	return Config{
		Nodes: nodes, Corpora: corpora, Follows: 5, Mesh: 3, Note: 420, Ask: 9 << 10, Change: change,
		Up: 1.25e6, Latency: 40 * time.Millisecond, Seed: 1,
	}
}

// What a node does, as peer and daemon have it.
const (
	lookEvery = 250 * time.Millisecond // a publisher looks for new heads of its own
	askTurns  = 2                      // round trips until a source has shown that it has nothing new
	syncTurns = 10                     // and until all is here
	findTurns = 10                     // beside that, to ask everybody who is connected who has it
	firstWait = time.Second            // until a source is asked again; twice as long each time
	mostWait  = time.Minute
	meshFew   = 6  // neighbours in the gossip about a corpus, of its choice
	meshMost  = 12 // and with those who chose it
)

// A Result says what a new head of each corpus brought about.
type Result struct {
	Heads, Followings int // new heads, and followers that had to get one
	Messages          int // announcements sent
	Spread
	GossipBytes    int64
	FetchedBytes   int64
	PublisherBytes int64 // of FetchedBytes, sent by publishers
}

// A Spread is how many followers have a new head, and after which time.
type Spread struct {
	Reached         int
	Half, Most, All time.Duration // half, 95 %, the last of those that were reached
}

// SpreadOf sums up the times after which followers had the head.
func SpreadOf(times []time.Duration) (s Spread) {
	times = slices.Sorted(slices.Values(times))
	if s.Reached = len(times); s.Reached > 0 {
		last := s.Reached - 1
		s.Half, s.Most, s.All = times[last/2], times[last*95/100], times[last]
	}
	return s
}

// Latency is log-normal around the typical one: a few ways are long.
func Latency(typical time.Duration, r *rand.Rand) time.Duration {
	return time.Duration(float64(typical) * math.Exp(0.6*r.NormFloat64()))
}

// A follower is a node that follows one corpus.
type follower struct {
	node  int
	near  []int // connected ones that follow it too, by place
	mesh  []int // of them, those that it passes heads on to
	heard bool
	has   bool
}

type event struct {
	at time.Duration
	no int // breaks ties, so that a run can be repeated
	do func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].no < e[j].no
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

// A model is one run.
type model struct {
	cfg    Config
	rand   *rand.Rand
	now    time.Duration
	queue  events
	number int
	free   []time.Duration // by node: when what it sends now is out
	times  []time.Duration
	result Result
}

func (m *model) after(d time.Duration, do func()) {
	m.number++
	heap.Push(&m.queue, event{m.now + d, m.number, do})
}

func (m *model) latency() time.Duration { return Latency(m.cfg.Latency, m.rand) }

// turns is the time of so many round trips.
func (m *model) turns(n int) (d time.Duration) {
	for range 2 * n {
		d += m.latency()
	}
	return d
}

// send takes a node's line for so many bytes, behind what it sends already,
// and returns when they have left.
func (m *model) send(from, bytes int) time.Duration {
	m.free[from] = max(m.free[from], m.now) + time.Duration(float64(bytes)/m.cfg.Up*float64(time.Second))
	return m.free[from] - m.now
}

// Run models one new head of every corpus, all at the same moment, until
// nothing is under way. It is of the protocol's messages, not of nodes.
func Run(cfg Config) Result {
	m := &model{cfg: cfg, rand: rand.New(rand.NewPCG(cfg.Seed, 1)), free: make([]time.Duration, cfg.Nodes)}
	corpora := Draw(cfg)
	linked := links(corpora)
	for _, c := range corpora {
		all := m.followers(c, linked)
		m.result.Heads++
		m.result.Followings += len(all) - 1
		all[0].has, all[0].heard = true, true
		m.after(time.Duration(m.rand.Int64N(int64(lookEvery))), func() { m.announce(all, 0, -1) })
	}
	for len(m.queue) > 0 {
		e := heap.Pop(&m.queue).(event)
		m.now = e.at
		e.do()
	}
	m.result.Spread = SpreadOf(m.times)
	return m.result
}

// links returns which nodes are connected, for whatever corpus.
func links(corpora []Corpus) map[int][]int {
	linked := make(map[int][]int)
	for _, c := range corpora {
		for i, to := range c.Links {
			for _, j := range to {
				a, b := c.Nodes[i], c.Nodes[j]
				linked[a], linked[b] = append(linked[a], b), append(linked[b], a)
			}
		}
	}
	return linked
}

// followers returns those of a corpus, the publisher first, each with neighbours as
// GossipSub chooses them.
func (m *model) followers(c Corpus, linked map[int][]int) []*follower {
	place := make(map[int]int, len(c.Nodes))
	for i, n := range c.Nodes {
		place[n] = i
	}
	all := make([]*follower, len(c.Nodes))
	for i, n := range c.Nodes {
		all[i] = &follower{node: n}
		for _, other := range linked[n] {
			if j, follows := place[other]; follows && !slices.Contains(all[i].near, j) {
				all[i].near = append(all[i].near, j)
			}
		}
	}
	for i, f := range all {
		for _, k := range m.rand.Perm(len(f.near)) {
			j := f.near[k]
			if len(f.mesh) < meshFew && len(all[j].mesh) < meshMost && !slices.Contains(f.mesh, j) {
				f.mesh, all[j].mesh = append(f.mesh, j), append(all[j].mesh, i)
			}
		}
	}
	return all
}

// announce passes a head on to all neighbours but the one it came from.
func (m *model) announce(all []*follower, from, but int) {
	for _, to := range all[from].mesh {
		if to == but {
			continue
		}
		m.result.Messages++
		m.result.GossipBytes += int64(m.cfg.Note)
		out := m.send(all[from].node, m.cfg.Note)
		m.after(out+m.latency(), func() { m.hear(all, to, from) })
	}
}

func (m *model) hear(all []*follower, i, from int) {
	if f := all[i]; !f.heard {
		f.heard = true
		m.announce(all, i, from)
		m.fetch(all, i, from, 0)
	}
}

// fetch asks the neighbour that told of the head, again and again while it has
// nothing new yet; each third time it asks all that are connected.
func (m *model) fetch(all []*follower, i, from, try int) {
	source, turns := from, askTurns
	if try%3 == 2 {
		turns += findTurns
		for _, j := range all[i].near {
			if all[j].has {
				source = j
			}
		}
	}
	if m.cfg.PublisherAlone {
		source = 0
	}
	m.after(m.turns(turns), func() {
		if !all[source].has {
			m.after(min(firstWait<<min(try, 10), mostWait), func() { m.fetch(all, i, from, try+1) })
			return
		}
		bytes := m.cfg.Ask + m.cfg.Change
		m.result.FetchedBytes += int64(bytes)
		if source == 0 {
			m.result.PublisherBytes += int64(bytes)
		}
		m.after(m.send(all[source].node, bytes)+m.turns(syncTurns-askTurns), func() {
			all[i].has = true
			m.times = append(m.times, m.now)
		})
	})
}
