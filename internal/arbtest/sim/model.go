package main

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"time"
)

// A Config is one simulated network. Sizes are what docs/protocol.md makes of
// them: see docs/scale.md.
type Config struct {
	Nodes, Corpora int
	Follows        float64       // corpora that a node follows, on average; some corpora have many more followers than others
	Mesh           int           // neighbours of a follower in the gossip about a corpus
	Note           int           // bytes of an announced head
	Ask            int           // bytes of a sync that finds what it needs: key, head, tiles, requests
	Change         int           // bytes of records and documents that a new head brings
	Up             float64       // bytes a second that a node can send
	Latency        time.Duration // typical, one way
	Retry          time.Duration // until a source that has nothing new yet is asked again
	PublisherAlone bool          // everybody fetches from the publisher: what it would cost without followers that serve
	Seed           uint64
}

// A Result says what a new head of each corpus brought about.
type Result struct {
	Heads, Followings    int // new heads, and followers that had to get one
	Reached              int // of them
	Messages             int // announcements sent
	Half, Most, All      time.Duration
	GossipBytes          int64
	FetchedBytes         int64
	PublisherBytes       int64 // of FetchedBytes, sent by publishers
	BusiestPublisherTime time.Duration
}

// A node is one of the network.
type node struct {
	free time.Duration // when what it sends now is out
}

// A follower is a node that follows one corpus.
type follower struct {
	node   int
	mesh   []int // other followers, by index
	heard  bool
	asking bool
	has    bool
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

// A sim is one run.
type sim struct {
	cfg    Config
	rand   *rand.Rand
	now    time.Duration
	queue  events
	number int
	nodes  []node
	times  []time.Duration
	result Result
}

func (s *sim) after(d time.Duration, do func()) {
	s.number++
	heap.Push(&s.queue, event{s.now + d, s.number, do})
}

// latency is log-normal around the typical one: a few ways are long.
func (s *sim) latency() time.Duration {
	return time.Duration(float64(s.cfg.Latency) * math.Exp(0.6*s.rand.NormFloat64()))
}

// send takes a node's line for so many bytes, behind what it sends already,
// and returns when they have left.
func (s *sim) send(from, bytes int) time.Duration {
	n := &s.nodes[from]
	n.free = max(n.free, s.now) + time.Duration(float64(bytes)/s.cfg.Up*float64(time.Second))
	return n.free - s.now
}

// Run simulates one new head of every corpus, all at the same moment, until
// nothing is under way.
func Run(cfg Config) Result {
	s := &sim{cfg: cfg, rand: rand.New(rand.NewPCG(cfg.Seed, 1)), nodes: make([]node, cfg.Nodes)}
	for c := range cfg.Corpora {
		s.corpus(c)
	}
	for len(s.queue) > 0 {
		e := heap.Pop(&s.queue).(event)
		s.now = e.at
		e.do()
	}
	return s.finish()
}

// corpus draws the followers of a corpus and has its publisher, the first of
// them, make a new head.
func (s *sim) corpus(number int) {
	// Followers by Zipf's law with exponent 1, Follows for each node in all.
	harmonic := math.Log(float64(s.cfg.Corpora)) + 0.5772
	share := s.cfg.Follows * float64(s.cfg.Nodes) / harmonic / float64(number+1)
	count := min(max(int(share), 1), s.cfg.Nodes-1) + 1
	all := make([]*follower, count)
	for i, n := range s.rand.Perm(s.cfg.Nodes)[:count] {
		all[i] = &follower{node: n}
	}
	for i := range all {
		for range s.cfg.Mesh {
			if j := s.rand.IntN(count); j != i {
				all[i].mesh = append(all[i].mesh, j)
				all[j].mesh = append(all[j].mesh, i)
			}
		}
	}
	s.result.Heads++
	s.result.Followings += count - 1
	all[0].has, all[0].heard = true, true
	s.announce(all, 0, -1)
}

// announce passes a head on to all neighbours but the one it came from.
func (s *sim) announce(all []*follower, from, but int) {
	for _, to := range all[from].mesh {
		if to == but {
			continue
		}
		s.result.Messages++
		s.result.GossipBytes += int64(s.cfg.Note)
		out := s.send(all[from].node, s.cfg.Note)
		s.after(out+s.latency(), func() { s.hear(all, to, from) })
	}
}

func (s *sim) hear(all []*follower, i, from int) {
	f := all[i]
	if !f.heard {
		f.heard = true
		s.announce(all, i, from)
	}
	if !f.has && !f.asking {
		f.asking = true
		s.fetch(all, i, from)
	}
}

// fetch asks the neighbour that told of the head, and where it has nothing new
// yet another one, a little later.
func (s *sim) fetch(all []*follower, i, from int) {
	if s.cfg.PublisherAlone {
		from = 0
	}
	s.after(s.latency(), func() {
		source := all[from]
		if !source.has {
			next := all[i].mesh[s.rand.IntN(len(all[i].mesh))]
			s.after(s.cfg.Retry, func() { s.fetch(all, i, next) })
			return
		}
		bytes := s.cfg.Ask + s.cfg.Change
		s.result.FetchedBytes += int64(bytes)
		if from == 0 {
			s.result.PublisherBytes += int64(bytes)
			s.result.BusiestPublisherTime = max(s.result.BusiestPublisherTime, s.nodes[source.node].free)
		}
		out := s.send(source.node, bytes)
		// Key, head, tiles and records, one after the other.
		s.after(out+4*s.latency(), func() {
			all[i].has = true
			s.times = append(s.times, s.now)
		})
	})
}
