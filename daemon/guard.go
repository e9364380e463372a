package daemon

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"arborist/peer"
	"arborist/proof"
	"arborist/shard/corpus"
)

const (
	// guardVisits is how many peers are asked at a time.
	guardVisits = 4
	// guardQueue is how many arrivals wait. One that finds it full is asked with
	// the next round.
	guardQueue = 64
	// guardPause is how soon a peer that connects again is asked again.
	guardPause = time.Minute
	// guardCorpora is how many corpora one peer is asked for, our own first.
	guardCorpora = 128
	// guardVisit is how long one peer may take, with all that it has to prove.
	guardVisit = time.Minute
	// headsWait and proofsWait are how long the first append of a process waits
	// for the heads of peers, and then for proofs where one is larger.
	headsWait  = 3 * time.Second
	proofsWait = 2 * time.Second
)

// A headPeer asks peers for heads: [peer.Peer].
type headPeer interface {
	Peers() []peer.Info
	Heads(ctx context.Context, origin string) ([]peer.PeerHead, error)
	HeadsOf(ctx context.Context, peer string, origins []string) ([]peer.PeerHead, error)
	Weigh(ctx context.Context, h peer.PeerHead) (proof.Checkpoint, error)
}

// A headStore knows the corpora: [corpus.Store].
type headStore interface {
	List(ctx context.Context) ([]corpus.Info, error)
	Lookup(ctx context.Context, origin string) (corpus.Info, error)
	AddCosignatures(ctx context.Context, origin string, note []byte) (added int, err error)
}

// A guard shows the store the heads that peers have of its corpora: each peer
// when it connects, all of them from time to time, and before the first append
// to an own corpus. So a publisher that was restored from an old backup learns
// from its followers what it has signed since, before it signs something else
// in its place; and a follower learns early of a publisher that tells two
// stories. What becomes of a head is the store's doing ([peer.Peer.Weigh]).
type guard struct {
	net   headPeer
	store headStore
	every time.Duration // between rounds, on average
	log   *slog.Logger
	// grown, if not nil, is told of a followed corpus of which a peer has more.
	grown func(origin, peer string, size uint64)
	// agreed, if not nil, is told of a corpus of which a peer has just what is here.
	agreed func(info corpus.Info)

	arrivals chan string

	mu    sync.Mutex
	asked map[string]bool        // own origins that some peer was asked for; guarded by mu
	ahead map[string]string      // own origins to a peer that has more of them; guarded by mu
	lost  map[string]corpus.Info // own origins whose key was changed, as they stood here then; guarded by mu
	last  map[string]time.Time   // when a peer was asked for everything; guarded by mu
}

func newGuard(store headStore, every time.Duration, log *slog.Logger) *guard {
	return &guard{
		store: store, every: every, log: log, arrivals: make(chan string, guardQueue),
		asked: make(map[string]bool), ahead: make(map[string]string), lost: make(map[string]corpus.Info), last: make(map[string]time.Time),
	}
}

// arrived has a peer asked soon. It never blocks.
func (g *guard) arrived(id string) {
	select {
	case g.arrivals <- id:
	default:
	}
}

// again has a peer asked soon, also where it was asked a moment ago: the owner
// has named it, for example to gather the cosignature that it has made since.
func (g *guard) again(id string) {
	g.mu.Lock()
	delete(g.last, id)
	g.mu.Unlock()
	g.arrived(id)
}

// run asks until ctx ends, and returns when nothing is asked any more.
func (g *guard) run(ctx context.Context) {
	var visits sync.WaitGroup
	defer visits.Wait()
	free := make(chan struct{}, guardVisits)
	visit := func(id string) {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return
		}
		visits.Go(func() {
			defer func() { <-free }()
			g.visit(ctx, id)
		})
	}
	round := time.NewTimer(g.pause())
	defer round.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-g.arrivals:
			if g.due(id) {
				visit(id)
			}
		case <-round.C:
			g.forget()
			for _, p := range g.net.Peers() {
				if g.due(p.ID) {
					visit(p.ID)
				}
			}
			round.Reset(g.pause())
		}
	}
}

// pause is the time to the next round: nodes that were started together do not
// ask together.
func (g *guard) pause() time.Duration {
	return g.every*3/4 + rand.N(g.every/2+1)
}

// due reports whether a peer has not just been asked, and notes that it is now.
func (g *guard) due(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at, ok := g.last[id]; ok && time.Since(at) < guardPause {
		return false
	}
	if len(g.last) >= 4*guardQueue {
		clear(g.last) // only many short-lived peers get there
	}
	g.last[id] = time.Now()
	return true
}

func (g *guard) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, at := range g.last {
		if time.Since(at) >= guardPause {
			delete(g.last, id)
		}
	}
}

// visit asks one peer for the heads of all corpora.
func (g *guard) visit(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, guardVisit)
	defer cancel()
	infos, err := g.store.List(ctx)
	if err != nil {
		g.log.Warn("cannot list corpora to ask peers for", "error", err)
		return
	}
	var origins []string
	for _, c := range infos { // our own come first
		if len(origins) < guardCorpora && !left(c) {
			origins = append(origins, c.Origin)
		}
	}
	heads, err := g.net.HeadsOf(ctx, id, origins)
	if err != nil {
		g.log.Debug("peer not asked for heads", "peer", id, "error", err)
		return
	}
	for _, h := range heads {
		g.weigh(ctx, h)
	}
}

// beforeAppend has the connected peers asked for an own corpus once, and
// waits a little for what they say; again where that was not enough. Where
// nobody is connected nothing is asked; the peers that connect later are.
func (g *guard) beforeAppend(ctx context.Context, origin string, again bool) {
	g.mu.Lock()
	asked := g.asked[origin] && !again
	g.mu.Unlock()
	if asked || len(g.net.Peers()) == 0 {
		return
	}
	asking, cancel := context.WithTimeout(ctx, headsWait)
	defer cancel()
	heads, err := g.net.Heads(asking, origin)
	if err != nil {
		return
	}
	ctx, cancel = context.WithTimeout(ctx, proofsWait)
	defer cancel()
	for _, h := range heads {
		g.weigh(ctx, h)
	}
	g.mu.Lock()
	g.asked[origin] = true
	g.mu.Unlock()
}

// weigh shows the store one head and says what came of it.
func (g *guard) weigh(ctx context.Context, h peer.PeerHead) {
	head, err := g.net.Weigh(ctx, h)
	switch {
	case errors.Is(err, peer.ErrOtherKey):
		g.lose(ctx, h, err)
		return
	case errors.Is(err, peer.ErrEquivocation):
		g.log.Error("two signed heads of a corpus contradict each other: it is frozen, both are kept", "corpus", h.Origin, "peer", h.Peer, "error", err)
		return
	case err != nil:
		g.log.Debug("head of a peer not taken", "corpus", h.Origin, "peer", h.Peer, "error", err)
		return
	}
	info, err := g.store.Lookup(ctx, h.Origin)
	if err != nil {
		return
	}
	if head.Size == info.Size && head.Root == info.Root && !info.Frozen {
		if g.agreed != nil {
			g.agreed(info)
		}
		// A publisher gathers the cosignatures of its witnesses in this way.
		if added, err := g.store.AddCosignatures(ctx, h.Origin, h.Note); err != nil || added > 0 {
			g.log.Debug("cosignatures taken from a peer", "corpus", h.Origin, "peer", h.Peer, "added", added, "error", err)
		}
	}
	if !info.Own && head.Size > info.Size && g.grown != nil {
		g.grown(h.Origin, h.Peer, head.Size)
	}
	if info.Own && head.Size > info.Size {
		g.mu.Lock()
		g.ahead[h.Origin] = h.Peer
		g.mu.Unlock()
		g.log.Error("a peer has more of an own corpus than is here: no document is added until it is back",
			"corpus", h.Origin, "peer", h.Peer, "here", info.Size, "signed", head.Size)
	}
}

// lose notes that an own corpus has changed its key since what is here: it was
// restored from an old backup, and its old key must sign nothing any more.
func (g *guard) lose(ctx context.Context, h peer.PeerHead, err error) {
	info, lookupErr := g.store.Lookup(ctx, h.Origin)
	if lookupErr != nil {
		return
	}
	g.mu.Lock()
	g.ahead[h.Origin], g.lost[h.Origin] = h.Peer, info
	g.mu.Unlock()
	g.log.Error("an own corpus has changed its key since this backup: nothing is added until it is back", "corpus", h.Origin, "peer", h.Peer, "error", err)
}

// outdated reports whether the key that an own corpus has here is known to have
// been changed.
func (g *guard) outdated(info corpus.Info) (holder string, yes bool) {
	if g == nil {
		return "", false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	was, ok := g.lost[info.Origin]
	return g.ahead[info.Origin], ok && was.Key == info.Key
}

// holder returns a peer that has what is missing here of an own corpus.
func (g *guard) holder(origin string) (peer string, ok bool) {
	if g == nil {
		return "", false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	peer, ok = g.ahead[origin]
	return peer, ok
}
