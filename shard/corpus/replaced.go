package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"arborist/merkle"
	"arborist/proof"
)

// weighReplaced weighs a note that the key of the log has not signed, where a
// key that it has replaced has. It is refused whatever it says: refusal is the
// reason why the note does not open. What it shows is kept: a head of the time
// before is stale, like any smaller head; one of another history shows that
// whoever holds the old key has signed two. That freezes nothing: a key is
// replaced so that who has stolen it can do no more harm.
func weighReplaced(ctx context.Context, tx *sql.Tx, l *log, note []byte, unknown error) (head proof.Checkpoint, refusal, err error) {
	keys, err := l.keys()
	if err != nil {
		return head, nil, err
	}
	var bad error
	for _, v := range slices.Backward(keys[1:]) { // the pinned one has not signed
		if head, bad = proof.OpenCheckpoint(note, v); !errors.Is(bad, proof.ErrUnknownKey) {
			break
		}
	}
	switch {
	case bad != nil:
		return head, unknown, nil
	case l.frozen != 0:
		return head, &FrozenError{Origin: l.origin, Evidence: l.frozen}, nil
	}
	all, err := replacedEvidence(ctx, tx, l, head, note)
	if err != nil {
		return head, nil, err
	}
	for _, e := range all {
		if verifyEvidence(ctx, tx, l, e) != nil {
			continue // what does not show itself is not kept
		}
		if err := keepSome(ctx, tx, l, e); err != nil {
			return head, nil, err
		}
		if !e.Root.IsZero() {
			return head, fmt.Errorf("%w: a head of %d records: %w", ErrReplaced, head.Size, unknown), nil
		}
		break
	}
	return head, fmt.Errorf("%w: a head of %d records by a key that was replaced: %w", ErrRollback, head.Size, unknown), nil
}

// replacedEvidence returns what a head of a replaced key may be evidence of,
// the most telling first; none where it is a head that is known.
func replacedEvidence(ctx context.Context, tx *sql.Tx, l *log, head proof.Checkpoint, note []byte) (all []proof.Evidence, err error) {
	latest, latestNote, err := l.latest()
	if err != nil || latest.Size == 0 || head.Size > MaxSize {
		return nil, err
	}
	e := proof.Evidence{Kind: proof.ReplacedKey, Older: note, Newer: latestNote}
	switch {
	case head.Size > latest.Size:
		e.Older, e.Newer = e.Newer, e.Older
		return []proof.Evidence{e}, nil
	case head.Size == latest.Size && head.Root == latest.Root:
		return nil, nil
	case head.Size == latest.Size:
		e.Root = latest.Root
		return []proof.Evidence{e}, nil
	case head.Size > l.head.Size || head.Size == 0:
		return asRollback(e), nil // whether it is of the same history is not known
	}
	// The records are here: with those of the stored head they show it.
	t := newTiles(ctx, tx, l.id, l.head.Size)
	root, err := merkle.RootAt(t, head.Size)
	if err != nil {
		return nil, err
	}
	path, err := merkle.Consistency(t, head.Size, l.head.Size)
	if err != nil {
		return nil, err
	}
	switch {
	case root != head.Root:
		// The stored head may be by the same key: then that has signed both.
		e.Newer, e.Root, e.Path = l.note, root, path
		both := e
		both.Kind = proof.Equivocation
		return []proof.Evidence{e, both}, nil
	case head.Size == l.head.Size:
		return nil, nil
	case latest == l.head:
		e.Path = path
	}
	return asRollback(e), nil
}

// asRollback returns what a head that may be of the known history is kept for:
// it is stale, or its key has signed it after its time.
func asRollback(e proof.Evidence) []proof.Evidence {
	stale := e
	stale.Kind = proof.Rollback
	return []proof.Evidence{stale, e}
}

// ReportReplaced shows the store that a head above the last one, signed by a
// replaced key of the corpus alone, is of another history: path is the
// consistency proof from root, which is not the last head's root, at the last
// head's size. It returns nil where that is proven, and kept then. It fails with
// [ErrNotFound], or with [ErrMismatch] where it is not proven.
func (s *Store) ReportReplaced(ctx context.Context, origin string, note []byte, root merkle.Hash, path []merkle.Hash) error {
	err := s.update(ctx, func(tx *sql.Tx) error {
		l, err := findLog(ctx, tx, origin)
		if err != nil {
			return err
		}
		_, latestNote, err := l.latest()
		if err != nil {
			return err
		}
		e := proof.Evidence{Kind: proof.ReplacedKey, Older: latestNote, Newer: note, Root: root, Path: path}
		if l.frozen != 0 || root.IsZero() {
			return ErrMismatch
		}
		if err := verifyEvidence(ctx, tx, l, e); err != nil {
			return fmt.Errorf("%w: %w", ErrMismatch, err)
		}
		return keepSome(ctx, tx, l, e)
	})
	if err == nil {
		err = s.fileEvidence(ctx)
	}
	if err != nil {
		return fmt.Errorf("report head of a replaced key of corpus %.200q: %w", origin, err)
	}
	return nil
}

// olderKeys returns the keys that a log has replaced. Where it was frozen over a
// handover its own key is the last of those that the kept rotations replace.
func (l *log) olderKeys() []string {
	older := strings.Fields(l.older)
	if i := slices.Index(older, l.key); i >= 0 {
		return older[:i]
	}
	return older
}
