package peer

import (
	"context"
	"errors"
	"fmt"

	"arborist/shard"
	"arborist/shard/corpus"
)

// Unsync ends the following of a corpus, by its name or origin: its log goes, so
// that peers get nothing of it any more, and what it listed leaves the search. The texts stay stored; what protects the reader (pinned key, greatest head
// known, evidence) stays too, so that a later sync takes it up with the same
// trust and fetches no text again. It returns the origin and how many listings
// ended. Again, and after a call that was cut, it does what is left to do. A sync
// after a call that was cut brings all of it back: what is listed without a log is
// as a first sync that was cut leaves it.
//
// It fails with [ErrOwn] for an own corpus, [ErrSyncing] during a sync, and
// [ErrUnsyncing] during another Unsync or Purge.
func (p *Peer) Unsync(ctx context.Context, name string) (origin string, ended int, err error) {
	ctx, leave, err := p.enter(ctx)
	if err != nil {
		return "", 0, err
	}
	defer leave()
	origin, release, err := p.holdFollowed(ctx, name)
	if err != nil {
		return origin, 0, fmt.Errorf("unsync %s: %w", name, err)
	}
	defer release()
	// The log first: a sync finds nothing to do where that is whole.
	if err = p.shared.Corpora().Forget(ctx, origin); err == nil {
		ended, err = p.shared.WithdrawAll(ctx, origin)
	}
	if errors.Is(err, corpus.ErrOwn) {
		err = ErrOwn
	}
	return origin, ended, err
}

// holdFollowed keeps syncs, and other calls that end one, away from a corpus that is, or was, followed.
func (p *Peer) holdFollowed(ctx context.Context, name string) (origin string, release func(), err error) {
	info, err := p.shared.Corpora().Lookup(ctx, name)
	if err != nil {
		return "", nil, err
	}
	if info.Own {
		return info.Origin, nil, ErrOwn
	}
	id, err := ParseCorpusID(info.Origin)
	if err != nil {
		return info.Origin, nil, err
	}
	release, err = p.hold(ctx, id, ErrUnsyncing)
	return info.Origin, release, err
}

// Purge drops the documents that came with a corpus alone, which Unsync has ended,
// as [shard.Shared.Purge] says. With dry it says what that would be, of a corpus
// that is followed too. It fails as Unsync does.
func (p *Peer) Purge(ctx context.Context, name string, dry bool, progress func(done, total int)) (origin string, did shard.Purged, err error) {
	ctx, leave, err := p.enter(ctx)
	if err != nil {
		return "", did, err
	}
	defer leave()
	origin, release, err := p.holdFollowed(ctx, name)
	if err != nil {
		return origin, did, fmt.Errorf("purge %s: %w", name, err)
	}
	defer release()
	did, err = p.shared.Purge(ctx, origin, dry, progress)
	return origin, did, err
}
