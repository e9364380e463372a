package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arborist/merkle"
	"arborist/proof"
)

// A Handover is what makes a follower take a new key of a corpus. Who gives it
// has verified that the publisher's own key certifies the last key of the
// chain: a stolen corpus key can sign rotations, but no key statement.
type Handover struct {
	Rotations []byte // rotations file, up to the key that Note is signed with
	Statement []byte // key statement of that key
	Note      []byte // a head under that key, not below the last one known
	// Paths holds consistency proofs to that head, by the size that they start
	// from: the size of the last head known, and of each rotation, where those
	// are above the stored log and below the head.
	Paths map[uint64][]merkle.Hash
	// Roots holds the roots that the log of that head has at these sizes, as far
	// as they are known: with the paths they show where it is another log.
	Roots map[uint64]merkle.Hash
}

// AcceptRotations moves the pinned key of a corpus to the last key of a chain of rotations, where the chain passes the pinned key or ends in it
// (then it is kept as history) and the log that the new head signs continues
// the one known here and had each rotation's root at its size. The new head is
// then the last one known. What this node serves stays in the old key's terms
// until its records reach the new head.
//
// A corpus of one's own is moved where it was restored from a backup that is
// older than its key: its own two keys have signed the chain.
//
// It fails with [ErrNotFound], [ErrFrozen], [ErrKey] where the chain
// does not pass the pinned key, [ErrRollback] for an older head, [ErrMismatch]
// where a rotation or the head does not fit the log, [ErrEquivocation] where it
// holds another rotation of a key than is known, or where what does not fit is
// proven to be of another history: the corpus is frozen then. Errors of form are those of package proof.
func (s *Store) AcceptRotations(ctx context.Context, origin string, h Handover) error {
	var refusal error
	err := s.update(ctx, func(tx *sql.Tx) error {
		l, err := findLog(ctx, tx, origin)
		if err != nil {
			return err
		}
		refusal, err = s.handedOver(ctx, tx, l, h)
		return err
	})
	if err == nil && refusal != nil {
		err = errors.Join(refusal, s.fileEvidence(ctx))
	}
	if err != nil {
		return fmt.Errorf("accept rotations of corpus %.200q: %w", origin, err)
	}
	return nil
}

func (s *Store) handedOver(ctx context.Context, tx *sql.Tx, l *log, h Handover) (refusal, err error) {
	chain, refusal := proof.ParseRotations(h.Rotations)
	switch {
	case refusal != nil:
		return refusal, nil
	case chain[0].Head.Origin != l.origin:
		return fmt.Errorf("%w: the rotations are of %s", ErrKey, chain[0].Head.Origin), nil
	case len(h.Statement) == 0 || len(h.Statement) > maxStatement:
		return fmt.Errorf("%w: a key statement of %d bytes", ErrKey, len(h.Statement)), nil
	case l.frozen != 0:
		return &FrozenError{Origin: l.origin, Evidence: l.frozen}, nil
	}
	known, err := readRotations(ctx, tx, l, true)
	if err != nil {
		return nil, err
	}
	last := chain[len(chain)-1].New
	head, refusal := proof.OpenCheckpoint(h.Note, last)
	if refusal != nil {
		return refusal, nil
	}
	if refusal, err := contradiction(ctx, tx, l, known, chain); refusal != nil || err != nil {
		return refusal, err
	}
	fresh, refusal := leadsOn(l, known, chain)
	if refusal != nil {
		return refusal, nil
	}
	if refusal, err := fits(ctx, tx, l, head, fresh, h.Paths); refusal != nil || err != nil {
		if err != nil {
			return nil, err
		}
		e, err := handoverEvidence(ctx, tx, l, head, fresh, append(known[:len(known):len(known)], fresh...), h)
		if e == nil || err != nil {
			return refusal, err
		}
		return freezeHandover(ctx, tx, l, *e, known, fresh)
	}
	pending := l.head.Size > 0 && head.Size > l.head.Size && last.String() != l.key
	for i, r := range fresh {
		if err := keepRotation(ctx, tx, l, len(known)+i, r, pending); err != nil {
			return nil, err
		}
	}
	return nil, s.handOver(ctx, tx, l, h, head, last, pending)
}

// handOver pins the last key and makes the new head the last one known.
func (s *Store) handOver(ctx context.Context, tx *sql.Tx, l *log, h Handover, head proof.Checkpoint, last *proof.Verifier, pending bool) error {
	_, err := tx.ExecContext(ctx, "UPDATE corpus SET key = ? WHERE id = ?", last.String(), l.id)
	if err != nil {
		return err
	}
	if pending {
		_, err = tx.ExecContext(ctx, "UPDATE rotation SET statement = ? WHERE corpus = ?2 AND seq = (SELECT max(seq) FROM rotation WHERE corpus = ?2)", h.Statement, l.id)
	} else {
		_, err = tx.ExecContext(ctx, "UPDATE corpus SET statement = ? WHERE id = ?", h.Statement, l.id)
	}
	if err != nil {
		return err
	}
	if l, err = findLog(ctx, tx, l.origin); err != nil { // with its keys as they are now
		return err
	}
	switch {
	case head.Size == 0:
		return nil // a signed head of no records is not stored
	case head.Size != l.head.Size:
		return s.remember(ctx, tx, l, h.Note)
	}
	// The line of the old key and the cosignatures may stay: they are of the
	// same head. The line of the new key has to come.
	note, err := s.keepLines(l, h.Note, l.note)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE corpus SET note = ?, seen = NULL WHERE id = ?", note, l.id)
	return err
}

// leadsOn returns the rotations that are new here: those that lead on from
// the pinned key or, where none is known, those that lead to it.
func leadsOn(l *log, known, chain []proof.Rotation) (fresh []proof.Rotation, refusal error) {
	last := chain[len(chain)-1].New
	for i, r := range chain {
		if r.Old.String() != l.key {
			continue
		}
		if len(known) == 0 {
			return chain, nil // with what came before the pinned key
		}
		fresh = chain[i:]
		return fresh, proof.CheckRotations(append(known[:len(known):len(known)], fresh...))
	}
	switch {
	case last.String() != l.key:
		return nil, fmt.Errorf("%w: %s was pinned first, and no rotation leads from it to %s", ErrKey, l.key, last)
	case len(known) > 0:
		return nil, nil
	default:
		return chain, nil
	}
}

// fits checks the new head against the log that is known, and the rotations
// against the log that the new head signs.
func fits(ctx context.Context, tx *sql.Tx, l *log, head proof.Checkpoint, fresh []proof.Rotation, paths map[uint64][]merkle.Hash) (refusal, err error) {
	latest, _, err := l.latest()
	if err != nil {
		return nil, err
	}
	if head.Size < latest.Size {
		return fmt.Errorf("%w: it has %d records, %d are known to be signed: ask another peer", ErrRollback, head.Size, latest.Size), nil
	}
	if head.Size > MaxSize {
		return fmt.Errorf("%w: it claims %d records, a log has at most %d", ErrMismatch, head.Size, uint64(MaxSize)), nil
	}
	if head.Size == l.head.Size && head.Root != l.head.Root {
		return fmt.Errorf("%w: at size %d: the stored log has another root there", ErrMismatch, head.Size), nil
	}
	points := []proof.Checkpoint{latest}
	for _, r := range fresh {
		points = append(points, r.Head)
	}
	for _, p := range points {
		switch {
		case p.Size == 0:
			continue
		case p.Size > head.Size:
			refusal = fmt.Errorf("the key was changed at %d records, the head has %d", p.Size, head.Size)
		case p.Size <= l.head.Size:
			root, err := merkle.RootAt(newTiles(ctx, tx, l.id, l.head.Size), p.Size)
			if err != nil {
				return nil, err
			}
			if root != p.Root {
				refusal = errors.New("the stored log has another root there")
			}
		case p.Size == head.Size:
			if p.Root != head.Root {
				refusal = errors.New("the head has another root there")
			}
		default:
			refusal = merkle.VerifyConsistency(p.Size, head.Size, p.Root, head.Root, paths[p.Size])
		}
		if refusal != nil {
			return fmt.Errorf("%w: at size %d: %w", ErrMismatch, p.Size, refusal), nil
		}
	}
	// The head continues the last one known, and that, or a later, the stored.
	if latest.Size > l.head.Size || l.head.Size == 0 || head.Size == l.head.Size {
		return nil, nil
	}
	if err := merkle.VerifyConsistency(l.head.Size, head.Size, l.head.Root, head.Root, paths[l.head.Size]); err != nil {
		return fmt.Errorf("%w: from the stored head at size %d: %w", ErrMismatch, l.head.Size, err), nil
	}
	return nil, nil
}
