package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arborist/document"
	"arborist/proof"
)

// Append puts records into a log of this node's own and signs its new head.
// What it returns is durable, and nothing of a call that fails is ever signed.
//
// The log decides what each record does at its URI: a listing of the document
// that is current there appends nothing, of another one supersedes it, and
// otherwise it adds; title, source and time alone change nothing. A withdraw
// appends nothing unless its document, or any where it names none, is current.
// So the same call again is a call without effect. Where nothing was appended,
// nothing is signed and the head stays what it was.
//
// Old, where it is given, is the key that the corpus replaced last: it signs
// beside the present one, so that who knows only the old key can go on.
//
// It fails with [ErrNotFound], [ErrNotOwn], [ErrKey], [ErrFrozen], [ErrBehind],
// [ErrKept] or an error of the keeper (see [Store.KeepHeads]; where that fails
// at the end the records are listed, and the same call again keeps their head),
// or [ErrRecord] where a record is not valid.
func (s *Store) Append(ctx context.Context, origin string, signer *proof.Signer, recs []proof.Record, old ...*proof.Signer) (proof.Checkpoint, error) {
	if err := s.Reconcile(ctx, origin); err != nil && !errors.Is(err, ErrNotFound) {
		return proof.Checkpoint{}, fmt.Errorf("append: %w", err)
	}
	var head proof.Checkpoint
	err := s.update(ctx, func(tx *sql.Tx) error {
		l, err := findLog(ctx, tx, origin)
		if err != nil {
			return err
		}
		if err := mayAppend(l, signer); err != nil {
			return err
		}
		if err := checkReplaced(ctx, tx, l, old); err != nil {
			return err
		}
		if err := takeBack(ctx, tx, l, l.head.Size); err != nil {
			return err
		}
		a, err := s.newAppender(ctx, tx, l)
		if err != nil {
			return err
		}
		for i, r := range recs {
			if err := a.put(r); err != nil {
				return fmt.Errorf("record %d, %.200q: %w", i, r.URI, err)
			}
		}
		head, err = a.sign(append(old[:len(old):len(old)], signer))
		return err
	})
	if err != nil {
		return proof.Checkpoint{}, fmt.Errorf("append to corpus %.200q: %w", origin, err)
	}
	// What was appended is durable: whatever becomes of ctx, its head is kept.
	return head, s.Reconcile(context.WithoutCancel(ctx), origin)
}

func mayAppend(l *log, signer *proof.Signer) error {
	latest, _, err := l.latest()
	switch {
	case err != nil:
		return err
	case !l.own:
		return ErrNotOwn
	case signer.Verifier().String() != l.key:
		return fmt.Errorf("%w: %s, not %s", ErrKey, l.key, signer.Verifier())
	case l.frozen != 0:
		return &FrozenError{Origin: l.origin, Evidence: l.frozen}
	case latest.Size > l.head.Size:
		return fmt.Errorf("%w: %d records here, its key has signed %d",
			ErrBehind, l.head.Size, latest.Size)
	}
	return nil
}

// checkReplaced checks that what signs beside the present key is the key that
// it replaced.
func checkReplaced(ctx context.Context, tx *sql.Tx, l *log, old []*proof.Signer) error {
	if len(old) == 0 {
		return nil
	}
	chain, err := readRotations(ctx, tx, l, true)
	if err != nil {
		return err
	}
	if n := len(chain); len(old) > 1 || n == 0 || *chain[n-1].Old != *old[0].Verifier() {
		return fmt.Errorf("%w: %s is not the key that it replaced last", ErrKey, old[0].Verifier())
	}
	return nil
}

// put appends r in the form that the log takes it in, if it changes anything.
func (a *appender) put(r proof.Record) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	key := uriKey(r.URI)
	was, err := a.standing(key)
	if err != nil {
		return err
	}
	if r.Op != proof.OpWithdraw && r.ID == (document.ID{}) {
		r.ID = r.Header.ID()
	}
	r, changes := next(r, was)
	if !changes {
		return nil
	}
	line, err := r.Line()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return a.add(line, r, key, was)
}

// sign signs the log as it stands now, where it has grown.
func (a *appender) sign(signers []*proof.Signer) (proof.Checkpoint, error) {
	if a.edge.size == a.log.head.Size {
		return a.log.head, nil
	}
	root, err := a.edge.root()
	if err != nil {
		return proof.Checkpoint{}, err
	}
	head := proof.Checkpoint{Origin: a.log.origin, Size: a.edge.size, Root: root}
	note, err := proof.SignCheckpoint(head, signers...)
	if err != nil {
		return proof.Checkpoint{}, err
	}
	if err := a.flush(); err != nil {
		return proof.Checkpoint{}, err
	}
	return head, a.commit(head, note)
}
