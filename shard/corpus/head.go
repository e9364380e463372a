package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arborist/merkle"
	"arborist/proof"
)

// weigh compares a note with what is known of its log, before anything else
// is done with it. It returns the head that the note signs, where that is the
// known one or may follow it; otherwise refusal says why not. What the note
// proves against its publisher is written down within tx, so a refusal has to
// be committed as well.
func weigh(ctx context.Context, tx *sql.Tx, l *log, note []byte) (head proof.Checkpoint, refusal, err error) {
	v, err := proof.ParseVerifier(l.key)
	if err != nil {
		return head, nil, fmt.Errorf("%w: key of %s: %w", ErrCorrupt, l.origin, err)
	}
	head, refusal = proof.OpenCheckpoint(note, v)
	if errors.Is(refusal, proof.ErrUnknownKey) && l.older != "" {
		return weighReplaced(ctx, tx, l, note, refusal)
	}
	if refusal != nil {
		return head, refusal, nil
	}
	if l.frozen != 0 {
		return head, &FrozenError{Origin: l.origin, Evidence: l.frozen}, nil
	}
	if head.Size > MaxSize {
		return head, fmt.Errorf("%w: it claims %d records, a log has at most %d", ErrMismatch, head.Size, uint64(MaxSize)), nil
	}
	if head.Size <= l.head.Size {
		refusal, err = weighStored(ctx, tx, l, head, note)
		return head, refusal, err
	}
	latest, latestNote, err := l.latest()
	if err != nil {
		return head, nil, err
	}
	switch {
	case head.Size > latest.Size || head == latest:
		return head, nil, nil
	case l.own && head.Size < latest.Size:
		return head, nil, nil // it brings back a part of what is missing
	case head.Size == latest.Size:
		refusal, err = freeze(ctx, tx, l, proof.Evidence{Older: latestNote, Newer: note, Root: head.Root})
	default:
		refusal, err = rollback(ctx, tx, l, head, note)
	}
	return head, refusal, err
}

// weighStored weighs a head that the stored records reach: what its root must
// be is known, so a head of another history shows itself at once.
func weighStored(ctx context.Context, tx *sql.Tx, l *log, head proof.Checkpoint, note []byte) (refusal, err error) {
	t := newTiles(ctx, tx, l.id, l.head.Size)
	root, err := merkle.RootAt(t, head.Size)
	if err != nil {
		return nil, err
	}
	switch {
	case root != head.Root:
		path, err := merkle.Consistency(t, head.Size, l.head.Size)
		if err != nil {
			return nil, err
		}
		return freeze(ctx, tx, l, proof.Evidence{Older: note, Newer: l.note, Root: root, Path: path})
	case head.Size < l.head.Size:
		return rollback(ctx, tx, l, head, note)
	default:
		return nil, nil
	}
}

func rollback(ctx context.Context, tx *sql.Tx, l *log, head proof.Checkpoint, note []byte) (refusal, err error) {
	latest, latestNote, err := l.latest()
	if err != nil {
		return nil, err
	}
	e := proof.Evidence{Kind: proof.Rollback, Older: note, Newer: latestNote}
	if latest == l.head && head.Size > 0 {
		// The records are here, so the notes can show that they are of one history.
		if e.Path, err = merkle.Consistency(newTiles(ctx, tx, l.id, l.head.Size), head.Size, l.head.Size); err != nil {
			return nil, err
		}
	}
	err = keepSome(ctx, tx, l, e)
	return fmt.Errorf("%w: it has %d records, %d are known to be signed: ask another peer", ErrRollback, head.Size, latest.Size), err
}

// RememberHead takes note of a head without its records: the duty of a reader
// that keeps of a corpus nothing but its last checkpoint. A head above the
// last one needs path, the consistency proof between the two; the first needs
// none. From then on [Store.Extend] asks for that head or a later one.
//
// For an own corpus it is how a publisher that was restored from an old backup
// finds out: it shows the store each head of its own that its followers have,
// and after one above its own log (no proof needed, its key has signed it) no
// more is signed until the lost records are back ([Store.Extend]).
//
// It fails with [ErrNotFound], [ErrRollback], [ErrEquivocation], [ErrFrozen],
// with [ErrMismatch] where the proof does not hold, and with the errors of
// [proof.OpenCheckpoint].
func (s *Store) RememberHead(ctx context.Context, origin string, note []byte, path []merkle.Hash) (proof.Checkpoint, error) {
	head, err := s.judge(ctx, origin, note, func(ctx context.Context, tx *sql.Tx, l *log, head proof.Checkpoint) (refusal, err error) {
		latest, _, err := l.latest()
		if err != nil {
			return nil, err
		}
		if head.Size == latest.Size {
			return nil, s.merge(ctx, tx, l, head, note)
		}
		if head.Size < latest.Size {
			return nil, nil // of an own log that is further behind
		}
		if !l.own && latest.Size > 0 {
			if err := merkle.VerifyConsistency(latest.Size, head.Size, latest.Root, head.Root, path); err != nil {
				return fmt.Errorf("%w: from the head at size %d: %w", ErrMismatch, latest.Size, err), nil
			}
		}
		return nil, s.remember(ctx, tx, l, note)
	})
	if err != nil {
		return proof.Checkpoint{}, fmt.Errorf("remember head of corpus %.200q: %w", origin, err)
	}
	return head, nil
}

// remember stores a note as the greatest head known, without lines that
// anybody could have added.
func (s *Store) remember(ctx context.Context, tx *sql.Tx, l *log, note []byte) error {
	note, err := s.keepLines(l, note, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE corpus SET seen = ? WHERE id = ?", note, l.id)
	return err
}

// ReportFork shows the store that a head above the last one belongs to another
// history: path is the consistency proof from root, which is not the last
// head's root, at the last head's size. For an own corpus, where a head may have
// been remembered without proof, the last head is that of what is stored.
// Whoever serves that other history can be asked for it. It returns nil where
// the fork is proven; the corpus is frozen then. It fails with [ErrMismatch]
// where it is not proven.
func (s *Store) ReportFork(ctx context.Context, origin string, note []byte, root merkle.Hash, path []merkle.Hash) error {
	_, err := s.judge(ctx, origin, note, func(ctx context.Context, tx *sql.Tx, l *log, head proof.Checkpoint) (refusal, err error) {
		known, knownNote, err := l.latest()
		if err != nil {
			return nil, err
		}
		if l.own {
			known, knownNote = l.head, l.note
		}
		if root == known.Root || head.Size <= known.Size {
			return fmt.Errorf("%w: it is the history that is known", ErrMismatch), nil
		}
		if err := merkle.VerifyConsistency(known.Size, head.Size, root, head.Root, path); err != nil {
			return fmt.Errorf("%w: %w", ErrMismatch, err), nil
		}
		_, err = freeze(ctx, tx, l, proof.Evidence{Older: knownNote, Newer: note, Root: root, Path: path})
		return nil, err
	})
	if err == nil {
		err = s.fileEvidence(ctx)
	}
	if err != nil {
		return fmt.Errorf("report fork of corpus %.200q: %w", origin, err)
	}
	return nil
}

// judge weighs a note and, where it is not refused, gives its head to accept,
// all in one transaction, which is committed whatever the verdict.
func (s *Store) judge(ctx context.Context, origin string, note []byte,
	accept func(context.Context, *sql.Tx, *log, proof.Checkpoint) (refusal, err error),
) (head proof.Checkpoint, err error) {
	var refusal error
	err = s.update(ctx, func(tx *sql.Tx) error {
		l, err := findLog(ctx, tx, origin)
		if err != nil {
			return err
		}
		head, refusal, err = weigh(ctx, tx, l, note)
		if err != nil || refusal != nil {
			return err
		}
		refusal, err = accept(ctx, tx, l, head)
		return err
	})
	if err == nil && refusal != nil {
		err = errors.Join(refusal, s.fileEvidence(ctx))
	}
	return head, err
}
