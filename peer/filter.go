package peer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"arborist/document/filter"
	"arborist/merkle"
	"arborist/proof"
	"arborist/shard/corpus"
)

// keepFilter brings the filter of a corpus that was synced up to date, for those
// who ask this node. The sync is good without it.
func (s *syncer) keepFilter() error {
	origin := s.corpus.String()
	info, err := s.store.Lookup(s.ctx, origin)
	if err != nil || info.Own {
		return err
	}
	kept, _, err := s.store.Filter(s.ctx, origin)
	if err != nil && !errors.Is(err, corpus.ErrNotFound) || err == nil && kept.Head.Size == info.Size {
		return err
	}
	v, err := proof.ParseVerifier(info.Key)
	if err != nil {
		return err
	}
	given, note, err := s.src.filterNote(s.ctx, s.corpus, v)
	switch {
	case errors.Is(err, ErrMissing):
		return nil
	case err != nil:
		return err
	case given.Head.Size <= kept.Head.Size || given.Head.Size > info.Size:
		return nil
	}
	raw, err := s.src.fuse(s.ctx, s.corpus, given.Sum)
	if err != nil {
		return err
	}
	return s.store.KeepFilter(s.ctx, origin, note, raw)
}

// filterNote asks for the note about the filter of a corpus and opens it with the
// corpus's key. One by another key, as it is for a moment after the key was
// changed, is [ErrMissing].
func (s *source) filterNote(ctx context.Context, id CorpusID, v *proof.Verifier) (proof.FilterHead, []byte, error) {
	at := resource{kind: kindFilter, corpus: id}
	note, err := s.get(ctx, at, maxFilterNote)
	if err != nil {
		return proof.FilterHead{}, nil, err
	}
	head, err := proof.OpenFilter(note, v)
	if errors.Is(err, proof.ErrUnknownKey) {
		return head, nil, fmt.Errorf("%w: its filter is by another key", ErrMissing)
	}
	if err != nil {
		return head, nil, s.fail(ctx, at, blameNote(err))
	}
	return head, note, nil
}

// fuse asks for the bytes of a filter and holds them against their sum.
func (s *source) fuse(ctx context.Context, id CorpusID, sum merkle.Hash) ([]byte, error) {
	at := resource{kind: kindFuse, corpus: id, sum: sum}
	raw, err := s.getWithin(ctx, at, int64(filter.MaxBytes), uint64(filter.MaxBytes))
	if err == nil && proof.SumFilter(raw) != sum {
		err = s.fail(ctx, at, ErrTampered)
	}
	return raw, err
}

// knownFilters is how many bytes of filters of corpora that are not followed are
// remembered.
const knownFilters = 32 << 20

// filters remembers filters by their sums.
type filters struct {
	mu    sync.Mutex
	bySum map[merkle.Hash]*filter.Filter // guarded by mu
	bytes int                            // of all in it; guarded by mu
}

// get returns a filter of a corpus that a source serves.
func (f *filters) get(ctx context.Context, src *source, id CorpusID, sum merkle.Hash) (*filter.Filter, error) {
	f.mu.Lock()
	known := f.bySum[sum]
	f.mu.Unlock()
	if known != nil {
		return known, nil
	}
	raw, err := src.fuse(ctx, id, sum)
	if err != nil {
		return nil, err
	}
	parsed, err := filter.Parse(raw)
	if err != nil {
		return nil, src.fail(ctx, resource{kind: kindFuse, corpus: id, sum: sum}, fmt.Errorf("%w: %w", ErrMalformed, err))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bytes+len(raw) > knownFilters { // those that are still of use come back
		f.bySum, f.bytes = nil, 0
	}
	if f.bySum == nil {
		f.bySum = make(map[merkle.Hash]*filter.Filter)
	}
	f.bySum[sum] = parsed
	f.bytes += len(raw)
	return parsed, nil
}
