package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"arborist/shard"
	"arborist/shard/corpus"
)

// A Progress says how far a sync has come.
type Progress struct {
	Stage     string // "connect", "verify" while the head is checked, "fetch", then "index"
	Documents int    // records that have come; in the stage "index", documents that are not found yet
	Total     int    // records that are new, 0 while it is not known
	Bytes     int64  // of document text received
}

// A SyncResult counts what a sync brought.
type SyncResult struct {
	Origin    string // of the corpus
	Documents int    // stored now, not here before
	Chunks    int    // of those
	Bytes     int64  // of document text received
	Verified  int    // documents that were hashed on arrival
	Resumed   int    // records whose documents an earlier sync, or another corpus, had brought
	Size      uint64 // records of the log after the sync
	Sources   []SourceUse
	Durable   time.Duration // until everything was verified and durable
	Took      time.Duration // until searches found it too
}

// A SyncRequest says what to sync.
type SyncRequest struct {
	// From holds at most 16 sources; none: see [Peer.SyncFound]. Each is the ID of a connected peer, the full
	// multiaddr of one, an http(s) URL, or "file:" and the whole path of a folder.
	From []string
	// Corpus is an origin, or a name that exactly one of the corpora of the
	// first source that can be reached has.
	Corpus string
	// MaxRate is the most bytes a second that are taken from all sources
	// together. 0: that of the configuration.
	MaxRate int64
	// Progress, which may be nil, is called from one goroutine at a time.
	Progress func(Progress)
}

// Sync is [Peer.SyncFrom] with one source.
func (p *Peer) Sync(ctx context.Context, from, corpusName string, progress func(Progress)) (SyncResult, error) {
	return p.SyncFrom(ctx, SyncRequest{From: []string{from}, Corpus: corpusName, Progress: progress})
}

// SyncFrom follows a corpus and brings it up to the newest head that one of the
// sources serves.
//
// Everything is verified before it is stored: key against peer ID, head
// against key, records against head, documents against records. Documents that
// are here are not fetched, and of a large one of which an older version is here only
// what is new in it. The new head is accepted last, when all that it
// lists is here and durable. What was stored goes into the search index after
// that: until then it is durable, served to others and not found by searches,
// which say so. On return, with an error too unless ctx has ended, it is found.
//
// An own corpus is synced only where the source has more of it than is here: it
// brings back what a restore from an old backup has lost.
//
// A source that cannot be reached, fails or lies is given up, and the others go
// on. The sync fails with the last of them. A fault of a source is a
// [*SourceError].
//
// A sync that ends early, by an error, the end of ctx or a kill, leaves
// verified documents and goes on there the next time; its result counts what
// was brought.
func (p *Peer) SyncFrom(ctx context.Context, req SyncRequest) (SyncResult, error) {
	ctx, leave, err := p.enter(ctx)
	if err != nil {
		return SyncResult{}, err
	}
	defer leave()
	if len(req.From) == 0 {
		return p.syncFound(ctx, req)
	}
	if len(req.From) > maxSources {
		return SyncResult{}, fmt.Errorf("sync %s: %w: %d sources, want at most %d", req.Corpus, ErrAddress, len(req.From), maxSources)
	}
	if req.Progress == nil {
		req.Progress = func(Progress) {}
	}
	req.Progress(Progress{Stage: "connect"})
	pool, id, err := p.openPool(ctx, req)
	if err != nil {
		return SyncResult{}, fmt.Errorf("sync %s: %w", req.Corpus, err)
	}
	defer pool.close()
	release, err := p.hold(ctx, id, ErrSyncing)
	if err != nil {
		return SyncResult{}, fmt.Errorf("sync %s: %w", id, err)
	}
	defer release()
	s := &syncer{
		ctx: ctx, pool: pool, corpus: id, shared: p.shared, store: p.shared.Corpora(),
		streams: p.cfg.streams(), progress: req.Progress, result: SyncResult{Origin: id.String()},
	}
	began := time.Now()
	err = s.run()
	s.result.Durable = time.Since(began)
	if ctx.Err() == nil {
		err = cmp.Or(err, s.index(ctx)) // what came is stored where it failed, too
	}
	s.result.Took = time.Since(began)
	s.result.Sources = pool.uses()
	if err != nil {
		return s.result, fmt.Errorf("sync %s: %w", id, err)
	}
	p.servedIt(s)
	if err := s.keepFilter(); err != nil {
		p.log.Warn("the filter of a corpus is not kept", "corpus", id, "error", err)
	}
	return s.result, nil
}

// servedIt remembers the peers that a sync had something from: they are asked
// first, and connected to again where the corpus is followed.
func (p *Peer) servedIt(s *syncer) {
	for _, use := range s.result.Sources {
		id, err := parsePeerID(use.Source)
		if err == nil && use.Err == nil && (use.Bytes > 0 || use.Source == s.src.name) {
			p.table.serving(id, s.corpus.String())
		}
	}
}

// A holding is one call that works on a followed corpus.
type holding struct {
	doing     error // what is said to others meanwhile: ErrSyncing or ErrUnsyncing
	calledOff <-chan struct{}
	ended     chan struct{}
}

// hold makes sure that one call at a time works on a followed corpus, and has the
// others fail with what that one is doing. One that was called off is waited for: it
// only makes durable what has come.
func (p *Peer) hold(ctx context.Context, id CorpusID, doing error) (release func(), err error) {
	mine := &holding{doing, ctx.Done(), make(chan struct{})}
	for {
		p.mu.Lock()
		other := p.held[id.String()]
		if other == nil {
			p.held[id.String()] = mine
		}
		p.mu.Unlock()
		if other == nil {
			break
		}
		select {
		case <-other.calledOff:
		default:
			return nil, other.doing
		}
		select {
		case <-other.ended:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.held, id.String())
		close(mine.ended)
	}, nil
}

// A syncer is one sync under way.
type syncer struct {
	ctx      context.Context
	pool     *pool
	src      *source // that the head is from
	corpus   CorpusID
	shared   *shard.Shared
	store    *corpus.Store
	streams  int
	progress func(Progress)

	known  corpus.Info // the corpus as it was here before
	tree   *tree       // under the new head
	result SyncResult
	failed error // what ended the fetching
}

func (s *syncer) run() error {
	s.progress(Progress{Stage: "verify"})
	note, head, err := s.lead()
	s.result.Size = s.known.Size
	if errors.Is(err, ErrOwn) && s.completeRotations() {
		return nil // that was what it had to bring back
	}
	if err != nil || head.Size == s.known.Size {
		return err
	}
	head, err = s.store.ExtendFrom(s.ctx, s.corpus.String(), note, s.lines)
	switch {
	case s.failed != nil:
		// The store wraps it in its own words, which add nothing.
		return s.failed
	case err != nil:
		return s.blame(resource{kind: kindCheckpoint, corpus: s.corpus}, err)
	}
	s.result.Size = head.Size
	s.completeRotations()
	return nil
}

// index brings what is stored into the search index.
func (s *syncer) index(ctx context.Context) error {
	return s.shared.Index(ctx, func(left int) { s.progress(Progress{Stage: "index", Documents: left}) })
}

// lines yields the records of the new head from an index on, each after its
// document is in the shards and durable. The store keeps what it has taken
// from an earlier sync, so from is where that one was cut.
func (s *syncer) lines(from uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		s.result.Resumed = int(from - s.known.Size)
		ctx, cancel := context.WithCancel(s.ctx)
		f := newFetcher(ctx, s, from)
		durable := make(chan [][]byte)
		st := &storer{syncer: s, ctx: ctx, fetcher: f, durable: durable, done: int(from - s.known.Size)}
		var work sync.WaitGroup
		work.Go(f.run)
		var failed error
		work.Go(func() {
			defer close(durable)
			failed = st.run()
			cancel() // the fetcher brings what nobody takes
		})
		wanted := true // the log has its own reason where it takes no more
		for lines := range durable {
			for _, line := range lines {
				if wanted = wanted && yield(line, nil); !wanted {
					cancel()
				}
			}
		}
		work.Wait()
		if failed != nil && wanted {
			s.failed = failed
			yield(nil, failed)
		}
	}
}
