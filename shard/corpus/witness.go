package corpus

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arborist/merkle"
	"arborist/proof"
)

// witnessTable has a row for each corpus that this node has ever been a witness
// of: whether it still is, and the text of the last checkpoint it cosigned.
const witnessTable = `CREATE TABLE witness (
		corpus   INTEGER PRIMARY KEY,
		active   INTEGER NOT NULL,
		cosigned BLOB
	) STRICT`

// ErrNoCosigner: this node shall be a witness and has no witness key.
var ErrNoCosigner = errors.New("corpus: no witness key is set")

// witnesses says whose cosignatures are kept. It is not changed once it is set.
type witnesses struct {
	known []*proof.Cosigner
	own   *proof.CosignSigner // of this node; nil: it cosigns nothing
}

// all returns the known witnesses, this node among them.
func (w *witnesses) all() []*proof.Cosigner {
	if w.own == nil {
		return w.known
	}
	return append([]*proof.Cosigner{w.own.Cosigner()}, w.known...)
}

// SetWitnesses says whose cosignatures are kept from now on, and who this node
// is as a witness; own may be nil. The witness key of this node is always
// known. Lines of witnesses that are not known any more go when their note is
// written the next time. It is meant to be called once, before other calls.
func (s *Store) SetWitnesses(known []*proof.Cosigner, own *proof.CosignSigner) {
	s.witnesses.Store(&witnesses{known: append([]*proof.Cosigner(nil), known...), own: own})
}

// Witness makes this node a witness of a corpus that it follows, or ends that:
// each head that [Store.Extend] accepts from now on, and the stored one at once,
// gets the cosignature of this node. It is stored with the head and so served
// to everybody. An own corpus is refused with [ErrOwn]: a publisher's word for
// its own log would add nothing to its signature. It fails with [ErrNotFound],
// [ErrFrozen] or [ErrNoCosigner].
func (s *Store) Witness(ctx context.Context, origin string, on bool) error {
	err := s.update(ctx, func(tx *sql.Tx) error {
		l, err := findLog(ctx, tx, origin)
		switch {
		case err != nil:
			return err
		case on && l.own:
			return ErrOwn
		case on && l.frozen != 0:
			return &FrozenError{Origin: l.origin, Evidence: l.frozen}
		case on && s.witnesses.Load().own == nil:
			return ErrNoCosigner
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO witness (corpus, active) VALUES (?, ?)
			ON CONFLICT (corpus) DO UPDATE SET active = excluded.active`, l.id, on)
		if l.witness = on; err != nil {
			return err
		}
		return s.cosignStored(ctx, tx, l)
	})
	if err != nil {
		return fmt.Errorf("witness corpus %.200q: %w", origin, err)
	}
	return nil
}

// CosignHeads cosigns each stored head that this node should have cosigned and
// has not: those of a time when its witness key could not be read.
func (s *Store) CosignHeads(ctx context.Context) error {
	err := s.update(ctx, func(tx *sql.Tx) error {
		logs, err := allLogs(ctx, tx)
		if err != nil {
			return err
		}
		for _, l := range logs {
			if err := s.cosignStored(ctx, tx, l); err != nil {
				return fmt.Errorf("corpus %s: %w", l.origin, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cosign heads: %w", err)
	}
	return nil
}

// AddCosignatures adds the cosignatures of known witnesses in note, which is of
// the checkpoint of the stored head, to the stored head. Everything else in the
// note is dropped. It returns how many lines are new, one that replaces an
// earlier one of the same witness among them. It fails with [ErrNotFound],
// [ErrFrozen], with [ErrMismatch] where the note is of another checkpoint, and
// like [proof.ReadCheckpoint].
func (s *Store) AddCosignatures(ctx context.Context, origin string, note []byte) (added int, err error) {
	err = s.update(ctx, func(tx *sql.Tx) error {
		l, err := findLog(ctx, tx, origin)
		if err != nil {
			return err
		}
		head, err := proof.ReadCheckpoint(note)
		switch {
		case err != nil:
			return err
		case l.frozen != 0:
			return &FrozenError{Origin: l.origin, Evidence: l.frozen}
		case l.note == nil || head != l.head:
			return fmt.Errorf("%w: its checkpoint is of %d records, the stored head of %d", ErrMismatch, head.Size, l.head.Size)
		}
		kept, err := s.keepLines(l, l.note, note)
		if err != nil {
			return err
		}
		added = newLines(l.note, kept)
		return putNote(ctx, tx, l, kept)
	})
	if err != nil {
		return 0, fmt.Errorf("add cosignatures to corpus %.200q: %w", origin, err)
	}
	return added, nil
}

// newLines counts the lines of note that old has not.
func newLines(old, note []byte) (n int) {
	had := make(map[string]bool)
	for line := range bytes.Lines(old) {
		had[string(line)] = true
	}
	for line := range bytes.Lines(note) {
		if !had[string(line)] {
			n++
		}
	}
	return n
}

// Cosignatures returns the cosignatures of known witnesses on the stored head.
// It fails with [ErrNotFound] while there is no head.
func (s *Store) Cosignatures(ctx context.Context, origin string) ([]proof.Cosignature, error) {
	note, err := s.Note(ctx, origin)
	if err != nil {
		return nil, err
	}
	found, err := proof.Cosignatures(note, s.witnesses.Load().all())
	if err != nil {
		return nil, fmt.Errorf("%w: head of corpus %s: %w", ErrCorrupt, origin, err)
	}
	return found, nil
}

// keepLines returns a note of this log with the lines of its keys and of known
// witnesses alone, those of other, a note of the same checkpoint, among them.
func (s *Store) keepLines(l *log, note, other []byte) ([]byte, error) {
	keys, err := l.keys()
	if err != nil {
		return nil, err
	}
	return proof.MergeSignatures(note, other, keys, s.witnesses.Load().all())
}

// merge adds the cosignatures in note to the same head as it is known: the
// stored one, which a witness that has not cosigned it does now, or the one
// that was remembered above it.
func (s *Store) merge(ctx context.Context, tx *sql.Tx, l *log, head proof.Checkpoint, note []byte) error {
	if head != l.head {
		kept, err := s.keepLines(l, l.seen, note)
		if err != nil || bytes.Equal(kept, l.seen) {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE corpus SET seen = ? WHERE id = ?", kept, l.id)
		return err
	}
	if l.note == nil {
		return nil // a signed head of no records is not stored
	}
	kept, err := s.keepLines(l, l.note, note)
	if err != nil {
		return err
	}
	if err := putNote(ctx, tx, l, kept); err != nil {
		return err
	}
	l.note = kept
	return s.cosignStored(ctx, tx, l)
}

// cosignStored cosigns the stored head, unless a greater one is known: a
// cosignature says that it is the greatest that the witness has seen.
func (s *Store) cosignStored(ctx context.Context, tx *sql.Tx, l *log) error {
	if l.note == nil || l.seen != nil {
		return nil
	}
	note, err := s.cosign(ctx, tx, l, l.head, l.note)
	if err != nil {
		return err
	}
	return putNote(ctx, tx, l, note)
}

func putNote(ctx context.Context, tx *sql.Tx, l *log, note []byte) error {
	if bytes.Equal(note, l.note) {
		return nil
	}
	_, err := tx.ExecContext(ctx, "UPDATE corpus SET note = ? WHERE id = ?", note, l.id)
	return err
}

// accepted returns the note of a new head as it is stored.
func (s *Store) accepted(a *appender, head proof.Checkpoint, note []byte) ([]byte, error) {
	latest, latestNote, err := a.log.latest()
	if err != nil {
		return nil, err
	}
	if latest != head {
		latestNote = nil
	}
	kept, err := s.keepLines(a.log, note, latestNote)
	if err != nil {
		return nil, err
	}
	return s.cosign(a.ctx, a.tx, a.log, head, kept)
}

// cosign adds the cosignature of this node to the note of head, where it is a
// witness of the corpus and the note has none. The caller makes head the stored
// one in the same transaction, or it is already.
//
// The rules of C2SP tlog-witness hold by what the caller has checked: the key
// has signed the head, and the log that it is the root of continues every head
// known. Here, once more, the last head that was cosigned is compared with the
// tree itself: two cosigned heads that contradict each other would be worse than
// no witness.
func (s *Store) cosign(ctx context.Context, tx *sql.Tx, l *log, head proof.Checkpoint, note []byte) ([]byte, error) {
	own := s.witnesses.Load().own
	if own == nil || !l.witness || l.own || l.frozen != 0 {
		return note, nil
	}
	if have, err := proof.Cosignatures(note, []*proof.Cosigner{own.Cosigner()}); err != nil || len(have) > 0 {
		return note, err
	}
	if err := continues(ctx, tx, l, head); err != nil {
		return nil, err
	}
	note, err := own.Cosign(note, s.now())
	if err != nil {
		return nil, err
	}
	_, err = tx.ExecContext(ctx, "UPDATE witness SET cosigned = ? WHERE corpus = ?", head.Text(), l.id)
	return note, err
}

// checkCosigned checks that the last head that was cosigned is one of the log, as far
// as that is stored, and none above the last one known.
func checkCosigned(ctx context.Context, tx *sql.Tx, l *log) error {
	if l.cosigned == nil || l.frozen != 0 {
		return nil
	}
	latest, _, err := l.latest()
	if err != nil {
		return err
	}
	last, err := proof.ParseCheckpoint(l.cosigned)
	if err == nil && last.Size > l.head.Size && last.Size <= latest.Size {
		return nil // its records are not here
	}
	return continues(ctx, tx, l, l.head)
}

// continues checks that head, which the stored tree reaches, has the last head
// cosigned before it.
func continues(ctx context.Context, tx *sql.Tx, l *log, head proof.Checkpoint) error {
	if l.cosigned == nil {
		return nil
	}
	last, err := proof.ParseCheckpoint(l.cosigned)
	if err != nil {
		return fmt.Errorf("%w: last head of %s that was cosigned: %w", ErrCorrupt, l.origin, err)
	}
	if last.Size > head.Size {
		return fmt.Errorf("%w: a head of %d records was cosigned before, this one has %d", ErrCorrupt, last.Size, head.Size)
	}
	root, err := merkle.RootAt(newTiles(ctx, tx, l.id, head.Size), last.Size)
	if err != nil {
		return err
	}
	if root != last.Root {
		return fmt.Errorf("%w: the log does not continue the head of %d records that was cosigned before", ErrCorrupt, last.Size)
	}
	return nil
}
