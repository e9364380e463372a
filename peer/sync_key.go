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
	paths, err := s.paths(info, chain, head)
	if err != nil {
		return err
	}
	err = s.store.AcceptRotations(s.ctx, s.corpus.String(), corpus.Handover{
		Rotations: file, Statement: statement, Note: note, Paths: paths,
	})
	if err != nil {
		return s.blame(at, err)
	}
	return nil
}

// paths returns the consistency proofs that the store needs to fit the new head
// and the rotations into the log: from the last head known and from each head
// at which the key was changed that is above what is stored.
func (s *syncer) paths(info corpus.Info, chain []proof.Rotation, head proof.Checkpoint) (map[uint64][]merkle.Hash, error) {
	last, _, err := s.store.Head(s.ctx, s.corpus.String())
	if err != nil && !errors.Is(err, corpus.ErrNotFound) {
		return nil, err
	}
	sizes := []uint64{info.Size, last.Size}
	for _, r := range chain {
		sizes = append(sizes, r.Head.Size)
	}
	var t *tree
	paths := make(map[uint64][]merkle.Hash)
	for _, size := range sizes {
		if size == 0 || size < info.Size || size >= head.Size || paths[size] != nil {
			continue
		}
		if t == nil {
			if t, err = openTree(s.ctx, s.src, s.corpus, head.Size, head.Root); err != nil {
				return nil, err
			}
		}
		if paths[size], err = merkle.Consistency(t, size, head.Size); err != nil {
			return nil, err
		}
	}
	return paths, nil
}
