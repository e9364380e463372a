package peer

import (
	"context"
	"errors"
	"fmt"

	"arborist/shard/corpus"
)

// Unsync ends the following of a corpus, by its name or origin: what it listed
// leaves the search, then its log goes, and peers get nothing of it any more.
// The texts stay stored; what protects the reader (pinned key, greatest head
// known, evidence) stays too, so that a later sync takes it up with the same
// trust and fetches no text again. It returns the origin and how many listings
// ended. Again, and after a call that was cut, it does what is left to do.
//
// It fails with [ErrOwn] for an own corpus and [ErrSyncing] during a sync.
func (p *Peer) Unsync(ctx context.Context, name string) (origin string, ended int, err error) {
	ctx, leave, err := p.enter(ctx)
	if err != nil {
		return "", 0, err
	}
	defer leave()
	store := p.shared.Corpora()
	info, err := store.Lookup(ctx, name)
	if err != nil {
		return "", 0, fmt.Errorf("unsync %s: %w", name, err)
	}
	if info.Own {
		return "", 0, fmt.Errorf("unsync %s: %w", name, ErrOwn)
	}
	id, err := ParseCorpusID(info.Origin)
	if err != nil {
		return "", 0, err
	}
	release, err := p.hold(id)
	if err != nil {
		return info.Origin, 0, fmt.Errorf("unsync %s: %w", id, err)
	}
	defer release()
	// Before the log goes: it says what there is left to do.
	if ended, err = p.shared.WithdrawAll(ctx, info.Origin); err == nil {
		err = store.Forget(ctx, info.Origin)
	}
	if errors.Is(err, corpus.ErrOwn) {
		err = ErrOwn
	}
	return info.Origin, ended, err
}
