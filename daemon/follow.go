package daemon

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"arborist/peer"
	"arborist/shard/corpus"
)

const (
	// followQueue is how many announcements wait. One that finds it full is
	// made up for by the next round of the guard.
	followQueue = 256
	// followSyncs is how many corpora are brought up to date at a time.
	followSyncs = 2
	// followFirst and followMost are the waits before a peer that has
	// announced a head, and cannot serve it yet, is asked again: the first one,
	// and the longest of those that are each twice as long as the one before.
	followFirst, followMost = time.Second, time.Minute
	// followTries is how often. Then the next announcement begins anew.
	followTries = 12
)

// A news is a head of a corpus that a peer is said to have, or that its key was
// changed.
type news struct {
	origin, peer string
	size         uint64
	replaced     string // the key that was; empty: nothing is said of it
}

// here reports whether the news is none any more.
func (n news) here(c corpus.Info) bool {
	return c.Size >= n.size && (n.replaced == "" || c.Key != n.replaced)
}

// A syncPeer brings a corpus up to date from one peer, or from whoever is found.
type syncPeer interface {
	Sync(ctx context.Context, from, corpus string, progress func(peer.Progress)) (peer.SyncResult, error)
	SyncFound(ctx context.Context, origin string, progress func(peer.Progress)) (peer.SyncResult, error)
}

// A follower syncs corpora whose owner has said so as soon as a new head of
// theirs is heard of. A head travels faster than what it lists: a peer that
// passes it on may not have it yet, so it is asked again for a while.
type follower struct {
	net      syncPeer
	store    headStore
	follows  func(origin string) bool
	writable func() error
	log      *slog.Logger

	heard chan news

	mu   sync.Mutex
	busy map[string]*news // what is being synced, and the largest head heard of
}

func newFollower(store headStore, follows func(string) bool, writable func() error, log *slog.Logger) *follower {
	return &follower{store: store, follows: follows, writable: writable, log: log, heard: make(chan news, followQueue), busy: make(map[string]*news)}
}

// announced notes that a peer has a head. It never blocks.
func (f *follower) announced(origin, peer string, size uint64) {
	f.hear(news{origin: origin, peer: peer, size: size})
}

// rekeyed notes that a peer knows of a key that follows the pinned one. It never
// blocks.
func (f *follower) rekeyed(origin, peer, key string) {
	f.hear(news{origin: origin, peer: peer, replaced: key})
}

func (f *follower) hear(n news) {
	select {
	case f.heard <- n:
	default:
	}
}

// run syncs until ctx ends, and returns when nothing is synced any more.
func (f *follower) run(ctx context.Context) {
	var syncs sync.WaitGroup
	defer syncs.Wait()
	free := make(chan struct{}, followSyncs)
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-f.heard:
			if !f.follows(n.origin) || f.joins(n) {
				continue
			}
			syncs.Go(func() {
				f.catchUp(ctx, n.origin, free)
				f.mu.Lock()
				delete(f.busy, n.origin)
				f.mu.Unlock()
			})
		}
	}
}

// joins adds news to a sync that is under way, or notes that one is now.
func (f *follower) joins(n news) (underWay bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.busy[n.origin]
	if b == nil {
		f.busy[n.origin] = &n
		return false
	}
	if n.size > b.size || n.replaced != "" {
		*b = news{n.origin, n.peer, max(n.size, b.size), cmp.Or(n.replaced, b.replaced)}
	}
	return true
}

func (f *follower) latest(origin string) news {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *f.busy[origin]
}

// catchUp syncs a corpus until it has the largest head that was heard of, or
// nobody serves it for a long time. It holds a place of free while it syncs, and
// none while it waits: a head that nobody serves keeps no other corpus back.
func (f *follower) catchUp(ctx context.Context, origin string, free chan struct{}) {
	wait := followFirst
	for try := range followTries {
		n := f.latest(origin)
		info, err := f.store.Lookup(ctx, origin)
		if err != nil || info.Frozen || info.Own || n.here(info) {
			return
		}
		if err := f.writable(); err != nil {
			f.log.Warn("a followed corpus stays behind", "corpus", origin, "error", err)
			return
		}
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return
		}
		if try%3 < 2 {
			_, err = f.net.Sync(ctx, n.peer, origin, nil)
		} else { // it may be gone: others may have it
			_, err = f.net.SyncFound(ctx, origin, nil)
		}
		<-free
		if err == nil {
			info, err = f.store.Lookup(ctx, origin)
			if err == nil && f.latest(origin).here(info) {
				f.log.Info("a followed corpus is up to date", "corpus", origin, "records", info.Size)
				return
			}
		}
		f.log.Debug("a followed corpus is not up to date yet", "corpus", origin, "peer", n.peer, "error", err)
		select {
		case <-time.After(wait):
			wait = min(2*wait, followMost)
		case <-ctx.Done():
			return
		}
	}
}
