package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"arborist/merkle"
	"arborist/proof"
)

// rotationTable holds the rotations of a corpus's key, by their place in the
// chain, each with the key that it retired. One at place -1 contradicts one of
// them and has frozen the corpus. A pending one is believed but not served yet,
// nor is statement, the key statement of its new key: the stored records do not
// reach what the new key has signed.
const rotationTable = `CREATE TABLE rotation (
		corpus    INTEGER NOT NULL,
		seq       INTEGER NOT NULL,
		old       TEXT NOT NULL,
		note      BLOB NOT NULL,
		pending   INTEGER NOT NULL,
		statement BLOB,
		PRIMARY KEY (corpus, seq)
	) STRICT, WITHOUT ROWID`

// Rotate changes the key of a corpus of this node: both keys sign a rotation
// at the present head and the head itself, which may be empty, and from then on
// next is the corpus's key. All of it is durable on return, or none. The key
// statement of the old key is dropped: the publisher makes one for the new key
// ([Store.Certify]). The same call again changes nothing.
//
// It fails with [ErrNotFound], [ErrNotOwn], [ErrKey], [ErrFrozen], [ErrBehind]
// or, where a key would come twice or the chain is full, [proof.ErrRotation].
func (s *Store) Rotate(ctx context.Context, origin string, old, next *proof.Signer) (r proof.Rotation, err error) {
	if err := s.Reconcile(ctx, origin); err != nil && !errors.Is(err, ErrNotFound) {
		return r, fmt.Errorf("rotate key: %w", err)
	}
	err = s.update(ctx, func(tx *sql.Tx) error {
		l, err := findLog(ctx, tx, origin)
		if err != nil {
			return err
		}
		chain, err := readRotations(ctx, tx, l, true)
		if err != nil {
			return err
		}
		if n := len(chain); n > 0 && l.own && *chain[n-1].Old == *old.Verifier() && *chain[n-1].New == *next.Verifier() {
			r = chain[n-1]
			return nil
		}
		if err := mayAppend(l, old); err != nil {
			return err
		}
		if err := takeBack(ctx, tx, l, l.head.Size); err != nil {
			return err
		}
		r, err = s.rotate(ctx, tx, l, chain, old, next)
		return err
	})
	if err != nil {
		return proof.Rotation{}, fmt.Errorf("rotate key of corpus %.200q: %w", origin, err)
	}
	return r, nil
}

func (s *Store) rotate(ctx context.Context, tx *sql.Tx, l *log, chain []proof.Rotation, old, next *proof.Signer) (r proof.Rotation, err error) {
	if r, err = proof.MakeRotation(l.head, old, next); err != nil {
		return r, err
	}
	if err := proof.CheckRotations(append(chain, r)); err != nil {
		return r, err
	}
	if err := keepRotation(ctx, tx, l, len(chain), r, false); err != nil {
		return r, err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE corpus SET key = ?, statement = NULL WHERE id = ?", r.New.String(), l.id); err != nil {
		return r, err
	}
	if l.note == nil {
		return r, nil
	}
	note, err := proof.SignCheckpoint(l.head, old, next)
	if err != nil {
		return r, err
	}
	was := l.note
	if l, err = findLog(ctx, tx, l.origin); err != nil { // with its keys as they are now
		return r, err
	}
	if note, err = s.keepLines(l, note, was); err != nil {
		return r, err
	}
	return r, putNote(ctx, tx, l, note)
}

// Rotations returns the rotations file of a corpus ([proof.ParseRotations]),
// as far as the served head goes. It fails with [ErrNotFound] where the corpus
// is not here or has kept its first key.
func (s *Store) Rotations(ctx context.Context, origin string) (file []byte, err error) {
	return s.rotations(ctx, origin, false)
}

// KnownRotations is Rotations with those that are known and not served yet: for
// whoever verifies here.
func (s *Store) KnownRotations(ctx context.Context, origin string) (file []byte, err error) {
	return s.rotations(ctx, origin, true)
}

func (s *Store) rotations(ctx context.Context, origin string, pending bool) (file []byte, err error) {
	err = s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		chain, err := readRotations(ctx, tx, l, pending)
		if err == nil && len(chain) == 0 {
			err = fmt.Errorf("%w: it has kept its first key", ErrNotFound)
		}
		file = proof.AppendRotations(nil, chain)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read rotations of corpus %.200q: %w", origin, err)
	}
	return file, nil
}

// readRotations returns the chain of a log, with or without what is known but
// not served yet.
func readRotations(ctx context.Context, tx *sql.Tx, l *log, pending bool) (chain []proof.Rotation, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT note FROM rotation WHERE corpus = ? AND seq >= 0 AND pending <= ? ORDER BY seq", l.id, pending)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var note []byte
		if err := rows.Scan(&note); err != nil {
			return nil, err
		}
		r, err := proof.ParseRotation(note)
		if err != nil {
			return nil, fmt.Errorf("%w: rotation %d of %s: %w", ErrCorrupt, len(chain)+1, l.origin, err)
		}
		chain = append(chain, r)
	}
	return chain, rows.Err()
}

func keepRotation(ctx context.Context, tx *sql.Tx, l *log, seq int, r proof.Rotation, pending bool) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO rotation (corpus, seq, old, note, pending) VALUES (?, ?, ?, ?, ?)",
		l.id, seq, r.Old.String(), r.Note(), pending)
	return err
}

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
// where a rotation does not fit the log, [ErrEquivocation] where it holds
// another rotation of a key than is known: the corpus is frozen then. Errors of
// form are those of package proof.
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
		return refusal, err
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

// contradiction freezes the corpus where the chain has another rotation of a
// key than is known. Both are kept: the holder of the old key has signed both,
// and the publisher has certified where both lead.
func contradiction(ctx context.Context, tx *sql.Tx, l *log, known, chain []proof.Rotation) (refusal, err error) {
	for _, k := range known {
		for _, r := range chain {
			if *k.Old != *r.Old || string(k.Text()) == string(r.Text()) {
				continue
			}
			if err := keepRotation(ctx, tx, l, rivalRotation, r, false); err != nil {
				return nil, err
			}
			if _, err := tx.ExecContext(ctx, "UPDATE corpus SET frozen = ? WHERE id = ?", rotationFork, l.id); err != nil {
				return nil, err
			}
			return fmt.Errorf("%w: %w", ErrEquivocation, &FrozenError{Origin: l.origin, Evidence: rotationFork}), nil
		}
	}
	return nil, nil
}

const (
	// rotationFork stands for the number of the evidence where a corpus is
	// frozen for two rotations of one key.
	rotationFork = -1
	// rivalRotation is the place of the second of them in the chain: outside it.
	rivalRotation = -1
)

// readFork returns the two rotations of one key that have frozen a log.
func readFork(ctx context.Context, tx *sql.Tx, l *log) (e proof.Evidence, err error) {
	var note []byte
	err = tx.QueryRowContext(ctx, "SELECT note FROM rotation WHERE corpus = ? AND seq = ?", l.id, rivalRotation).Scan(&note)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return e, err
	}
	chain, err := readRotations(ctx, tx, l, true)
	if err != nil {
		return e, err
	}
	rival, err := proof.ParseRotation(note)
	for _, r := range chain {
		if err != nil || *r.Old != *rival.Old || string(r.Text()) == string(rival.Text()) {
			continue
		}
		e = proof.Evidence{Kind: proof.RotationFork, Older: r.Note(), Newer: rival.Note()}
		if rival.Head.Size < r.Head.Size {
			e.Older, e.Newer = e.Newer, e.Older
		}
		return e, nil
	}
	return e, fmt.Errorf("%w: %s is frozen for two rotations of one key, which are not there", ErrCorrupt, l.origin)
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

// keys returns the keys of a log: the pinned one, then those that it has
// replaced.
func (l *log) keys() (all []*proof.Verifier, err error) {
	for _, vkey := range append([]string{l.key}, strings.Fields(l.older)...) {
		v, err := proof.ParseVerifier(vkey)
		if err != nil {
			return nil, fmt.Errorf("%w: key of %s: %w", ErrCorrupt, l.origin, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// open opens a note of this log that was stored: the pinned key has signed it
// or, before it was pinned, a key that it has replaced.
func (l *log) open(note []byte) (head proof.Checkpoint, err error) {
	keys, err := l.keys()
	if err != nil {
		return head, err
	}
	for _, v := range keys {
		if head, err = proof.OpenCheckpoint(note, v); !errors.Is(err, proof.ErrUnknownKey) {
			break
		}
	}
	return head, err
}
