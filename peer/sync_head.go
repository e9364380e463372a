package peer

import (
	"errors"
	"fmt"

	"arborist/merkle"
	"arborist/proof"
	"arborist/shard/corpus"
)

// head fetches and verifies key and head of the corpus, pins the key, and has
// the store weigh the head against all that it knows. The head is on disk as
// the last one known before anything that it lists is used.
func (s *syncer) head() (note []byte, head proof.Checkpoint, err error) {
	key := resource{kind: kindKey, corpus: s.corpus}
	statement, err := s.src.get(s.ctx, key, maxStatement)
	if err != nil {
		return nil, head, err
	}
	v, err := openStatement(statement, s.corpus)
	if err != nil {
		return nil, head, s.src.fail(s.ctx, key, err)
	}
	at := resource{kind: kindCheckpoint, corpus: s.corpus}
	if note, err = s.src.get(s.ctx, at, maxCheckpoint); err != nil {
		return nil, head, err
	}
	if head, err = proof.OpenCheckpoint(note, v); err != nil {
		return nil, head, s.src.fail(s.ctx, at, blameNote(err))
	}
	before, _ := s.store.Lookup(s.ctx, s.corpus.String()) // zero where it is new here
	info, err := s.follow(v, statement, note, head)
	switch {
	case err != nil:
		return nil, head, err
	case info.Own && head.Size <= info.Size && info.Seen > info.Size && info.Key == before.Key:
		return nil, head, fmt.Errorf("%w: it has %d records, %d are known to be signed", ErrRollback, head.Size, info.Seen)
	case info.Own && head.Size <= info.Size && info.Key == before.Key:
		return nil, head, ErrOwn // nothing to bring back
	}
	if err := s.store.Certify(s.ctx, s.corpus.String(), statement); err != nil {
		return nil, head, err
	}
	s.known = info
	if info.Frozen {
		return nil, head, fmt.Errorf("%w: arborist status tells more", ErrFrozen)
	}
	return note, head, s.remember(at, note, head)
}

// remember has the store accept the head as the last one known. A head that is
// longer than the last one comes with the proof that it continues it.
func (s *syncer) remember(at resource, note []byte, head proof.Checkpoint) error {
	origin := s.corpus.String()
	last, _, err := s.store.Head(s.ctx, origin)
	if err != nil && !errors.Is(err, corpus.ErrNotFound) {
		return err
	}
	if head.Size <= last.Size {
		// Refused here, before anything else is asked of such a source.
		_, err := s.store.RememberHead(s.ctx, origin, note, nil)
		part := s.known.Own && head.Size > s.known.Size // of what our own log has lost
		if head.Size < last.Size && !part && (err == nil || errors.Is(err, corpus.ErrMismatch)) {
			// The head of what is stored, while a later one is known.
			err = fmt.Errorf("%w: it has %d records, %d are known to be signed", corpus.ErrRollback, head.Size, last.Size)
		}
		if err != nil {
			return s.blame(at, err)
		}
	}
	if head.Size > s.known.Size {
		if s.tree, err = openTree(s.ctx, s.src, s.corpus, head.Size, head.Root); err != nil {
			return err
		}
	}
	base := last
	if s.known.Own {
		// What our own key has signed above our log was remembered without proof.
		base = proof.Checkpoint{Origin: origin, Size: s.known.Size, Root: s.known.Root}
	}
	if head.Size <= base.Size {
		return nil
	}
	var path []merkle.Hash
	if base.Size > 0 {
		root, err := merkle.RootAt(s.tree, base.Size)
		if err != nil {
			return err
		}
		if path, err = merkle.Consistency(s.tree, base.Size, head.Size); err != nil {
			return err
		}
		if root != base.Root {
			// Every hash of the tree was checked against the signed root, so
			// this is the publisher's doing and not the source's.
			err := s.store.ReportFork(s.ctx, origin, note, root, path)
			if err == nil {
				err = corpus.ErrEquivocation
			}
			return s.blame(at, err)
		}
	}
	if head.Size <= last.Size {
		return nil
	}
	_, err = s.store.RememberHead(s.ctx, origin, note, path)
	return s.blame(at, err)
}

// blameNote says what is wrong with a note in the words of this package.
func blameNote(err error) error {
	switch {
	case errors.Is(err, proof.ErrTruncated):
		return fmt.Errorf("%w: %w", ErrTruncated, err)
	case errors.Is(err, proof.ErrTooLarge):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	case errors.Is(err, proof.ErrFormat):
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	default:
		return fmt.Errorf("%w: %w", ErrTampered, err)
	}
}

// blame says why the store refuses what came from the source, in the words of
// this package. Errors of the store itself stay what they are.
func (s *syncer) blame(at resource, err error) error {
	for _, word := range []struct{ theirs, ours error }{
		{corpus.ErrEquivocation, ErrEquivocation},
		{corpus.ErrFrozen, ErrFrozen},
		{corpus.ErrRollback, ErrRollback},
		{corpus.ErrRecord, ErrMalformed},
		{corpus.ErrMismatch, ErrTampered},
		{corpus.ErrReplaced, ErrKey},
		{corpus.ErrKey, ErrKey},
	} {
		if errors.Is(err, word.theirs) {
			return s.src.fail(s.ctx, at, fmt.Errorf("%w: %w", word.ours, err))
		}
	}
	return err
}
