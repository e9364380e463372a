package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arborist/merkle"
	"arborist/proof"
)

// ErrKept: the head that is kept apart for an own corpus cannot be used.
var ErrKept = errors.New("corpus: the kept head cannot be used")

// A HeadKeeper keeps the greatest head that this node has signed for each own
// corpus, outside the file of corpora: a file that was restored from an old
// backup has forgotten what it signed, its keeper has not. Calls for one store
// are made one at a time.
type HeadKeeper interface {
	// Kept returns the note that was kept last for an origin, verbatim, or nil
	// where none ever was.
	Kept(origin string) (note []byte, err error)
	// Keep replaces the note kept for an origin, whole or not at all, and
	// returns when that is durable.
	Keep(origin string, note []byte) error
}

// KeepHeads makes k the keeper of the store. It is called once, before anything
// is appended.
//
// A head is kept after it is committed and before [Store.Append] returns. A
// crash between the two leaves a kept head that is too small, which the next
// [Store.Reconcile] or Append makes good; the other order could leave one that
// was never in any log, and a corpus that waits for ever for records that
// nobody has.
func (s *Store) KeepHeads(k HeadKeeper) { s.keeper = k }

// Reconcile compares an own corpus with its kept head. A kept head above the
// log is remembered as [Store.RememberHead] does, so that nothing is signed
// until the records are back; one that contradicts it freezes the corpus; one
// below it, or none, is replaced by the head of the log.
//
// It returns an error where that cannot be done, [ErrKept] where what is kept
// is not a head of this corpus, and nil for a corpus that is behind: see
// [Info.Seen]. For a corpus of another node it does nothing.
func (s *Store) Reconcile(ctx context.Context, origin string) error {
	if s.keeper == nil {
		return nil
	}
	s.keeping.Lock()
	defer s.keeping.Unlock()
	if err := s.reconcile(ctx, origin); err != nil {
		return fmt.Errorf("compare corpus %.200q with its kept head: %w", origin, err)
	}
	return nil
}

func (s *Store) reconcile(ctx context.Context, origin string) error {
	var l *log
	var note []byte
	var kept proof.Checkpoint
	var root merkle.Hash // of the log at the size of kept, where it reaches there
	err := s.withLog(ctx, origin, func(tx *sql.Tx, found *log) (err error) {
		if l = found; !l.own {
			return nil
		}
		if note, err = s.keeper.Kept(origin); note == nil || err != nil {
			return err
		}
		// Its signature matters where it says more than the log, or something else.
		if kept, err = proof.ReadCheckpoint(note); err != nil {
			return fmt.Errorf("%w: %w", ErrKept, err)
		}
		if kept.Origin != l.origin {
			return fmt.Errorf("%w: it is of %.200q", ErrKept, kept.Origin)
		}
		if kept.Size <= l.head.Size {
			root, err = merkle.RootAt(newTiles(ctx, tx, l.id, l.head.Size), kept.Size)
		}
		return err
	})
	switch {
	case err != nil || !l.own || l.frozen != 0:
		return err
	case note != nil && (kept.Size > l.head.Size || kept.Root != root):
		return s.recall(ctx, l, kept, note)
	case l.head.Size > kept.Size:
		return s.keeper.Keep(origin, l.note)
	default:
		return nil
	}
}

// recall shows the store a kept head that its log does not have.
func (s *Store) recall(ctx context.Context, l *log, kept proof.Checkpoint, note []byte) error {
	latest, _, err := l.latest()
	if err != nil || kept == latest || l.head.Size < kept.Size && kept.Size < latest.Size {
		return err // it is known to be behind already
	}
	_, err = s.RememberHead(ctx, l.origin, note, nil)
	switch {
	case errors.Is(err, ErrEquivocation):
		return nil // the evidence is kept, and the corpus says that it is frozen
	case errors.Is(err, proof.ErrUnknownKey), errors.Is(err, proof.ErrSignature), errors.Is(err, proof.ErrFormat):
		return fmt.Errorf("%w: %w", ErrKept, err)
	}
	return err
}

// MayAppend says whether [Store.Append] would let this signer append now, with
// the errors of Append. Whoever stores documents before their records asks first.
func (s *Store) MayAppend(ctx context.Context, origin string, signer *proof.Signer) error {
	if err := s.Reconcile(ctx, origin); err != nil {
		return err
	}
	err := s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		if err := mayAppend(l, signer); err != nil {
			return err
		}
		return s.audit(ctx, tx, l)
	})
	if err != nil {
		return fmt.Errorf("append to corpus %.200q: %w", origin, err)
	}
	return nil
}
