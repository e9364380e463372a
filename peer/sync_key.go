package peer

import (
	"errors"
	"fmt"
	"slices"

	"arborist/merkle"
	"arborist/proof"
	"arborist/shard/corpus"
)

// follow pins the key of a corpus that is new here. Where another key is pinned
// it takes the new one only with both: the key statement, which the publisher's
// own key has signed, and rotations from the pinned key, which that key has
// signed. So neither of the two keys, stolen, moves anybody alone.
func (s *syncer) follow(v *proof.Verifier, statement, note []byte, head proof.Checkpoint) (corpus.Info, error) {
	origin := s.corpus.String()
	info, err := s.store.Follow(s.ctx, v)
	moved := errors.Is(err, corpus.ErrKey)
	if moved {
		info, err = s.store.Lookup(s.ctx, origin)
	}
	if err != nil || info.Own && !moved || info.Frozen {
		return info, err // an own corpus moves where it is older than its key
	}
	key := resource{kind: kindKey, corpus: s.corpus}
	if moved && slices.Contains(info.Older, v.String()) {
		if err := s.replaced(note); err != nil {
			return info, err
		}
		return info, s.src.fail(s.ctx, key, fmt.Errorf("%w: it is of the time before the corpus changed its key", ErrRollback))
	}
	if !moved && (info.Size > 0 || len(info.Older) > 0) {
		return info, nil
	}
	err = s.rotate(info, v, statement, note, head)
	switch {
	case errors.Is(err, ErrMissing) && !moved:
		return info, nil // it has kept its first key
	case errors.Is(err, ErrMissing):
		return info, s.src.fail(s.ctx, key, fmt.Errorf(
			"%w: %s was pinned first, and the source has no rotation that leads from it to %s", ErrKey, info.Key, v))
	case err != nil:
		return info, err
	}
	return s.store.Lookup(s.ctx, origin)
}

// rotate fetches the rotations of the corpus and has the store take them: what
// leads to the key, certified by statement, that has signed the head.
func (s *syncer) rotate(info corpus.Info, v *proof.Verifier, statement, note []byte, head proof.Checkpoint) error {
	at := resource{kind: kindRotations, corpus: s.corpus}
	file, err := s.src.get(s.ctx, at, maxRotations)
	if err != nil {
		return err
	}
	chain, err := proof.ParseRotations(file)
	if err != nil {
		return s.src.fail(s.ctx, at, blameNote(err))
	}
	if last := chain[len(chain)-1].New; last.String() != v.String() {
		return s.src.fail(s.ctx, at, fmt.Errorf("%w: they lead to %s, certified is %s", ErrKey, last, v))
	}
	paths, roots, err := s.paths(info, chain, head)
	if err != nil {
		return err
	}
	err = s.store.AcceptRotations(s.ctx, s.corpus.String(), corpus.Handover{
		Rotations: file, Statement: statement, Note: note, Paths: paths, Roots: roots,
	})
	if err != nil {
		return s.blame(at, err)
	}
	return nil
}

// paths returns the consistency proofs that the store needs to fit the new head
// and the rotations into the log: from the last head known and from each head
// at which the key was changed that is above what is stored. The roots there
// show, where a proof does not hold, that it is another log.
func (s *syncer) paths(info corpus.Info, chain []proof.Rotation, head proof.Checkpoint) (map[uint64][]merkle.Hash, map[uint64]merkle.Hash, error) {
	last, _, err := s.store.Head(s.ctx, s.corpus.String())
	if err != nil && !errors.Is(err, corpus.ErrNotFound) {
		return nil, nil, err
	}
	sizes := []uint64{info.Size, last.Size}
	for _, r := range chain {
		sizes = append(sizes, r.Head.Size)
	}
	var t *tree
	paths, roots := make(map[uint64][]merkle.Hash), make(map[uint64]merkle.Hash)
	for _, size := range sizes {
		if size == 0 || size < info.Size || size >= head.Size || paths[size] != nil {
			continue
		}
		if t == nil {
			if t, err = openTree(s.ctx, s.src, s.corpus, head.Size, head.Root); err != nil {
				return nil, nil, err
			}
		}
		if paths[size], err = merkle.Consistency(t, size, head.Size); err != nil {
			return nil, nil, err
		}
		if roots[size], err = merkle.RootAt(t, size); err != nil {
			return nil, nil, err
		}
	}
	return paths, roots, nil
}

// completeRotations brings back changes of the key of an own corpus that a repair has
// lost, and reports whether it did. A source that has none, or others, is no worse.
func (s *syncer) completeRotations() bool {
	info, err := s.store.Lookup(s.ctx, s.corpus.String())
	if err != nil || !info.Own {
		return false
	}
	file, err := s.src.get(s.ctx, resource{kind: kindRotations, corpus: s.corpus}, maxRotations)
	if err != nil {
		return false
	}
	back, err := s.store.CompleteRotations(s.ctx, info.Origin, file)
	return err == nil && back > 0
}

// replaced has the store weigh a head that a key has signed which the corpus has
// replaced. It is never taken; what it shows is kept. One above the last head
// known shows with the source's tree whether it is of another history. It
// returns nil where the head is nothing but old.
func (s *syncer) replaced(note []byte) error {
	origin, at := s.corpus.String(), resource{kind: kindCheckpoint, corpus: s.corpus}
	_, err := s.store.RememberHead(s.ctx, origin, note, nil)
	if errors.Is(err, corpus.ErrReplaced) || errors.Is(err, corpus.ErrFrozen) {
		return s.blame(at, err)
	}
	last, _, err := s.store.Head(s.ctx, origin)
	if err != nil {
		return nil // nothing is known to compare it with
	}
	head, err := proof.ReadCheckpoint(note) // its signature was checked, or the report does it
	if err != nil || head.Size <= last.Size || last.Size == 0 {
		return nil
	}
	t, err := openTree(s.ctx, s.src, s.corpus, head.Size, head.Root)
	if err != nil {
		return nil // the source has no proof of what it says
	}
	root, err1 := merkle.RootAt(t, last.Size)
	path, err2 := merkle.Consistency(t, last.Size, head.Size)
	if err1 != nil || err2 != nil || root == last.Root || s.store.ReportReplaced(s.ctx, origin, note, root, path) != nil {
		return nil
	}
	return s.blame(at, fmt.Errorf("%w: a head of %d records", corpus.ErrReplaced, head.Size))
}
