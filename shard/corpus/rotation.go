package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

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

// keys returns the keys of a log: the pinned one, then those that it has
// replaced.
func (l *log) keys() (all []*proof.Verifier, err error) {
	for _, vkey := range append([]string{l.key}, l.olderKeys()...) {
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
