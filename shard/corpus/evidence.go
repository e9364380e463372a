package corpus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"arborist/merkle"
	"arborist/proof"
)

// maxRollbacks is how many stale heads are kept per corpus, the latest: a
// stale cache can serve any number of them, and each proves little. So many are
// kept of heads by replaced keys too: a thief can sign any number.
const maxRollbacks = 16

// evidenceKinds gives each kind that has a row its number there.
func evidenceKinds() []proof.EvidenceKind {
	return []proof.EvidenceKind{proof.Rollback, proof.Equivocation, proof.RotationHead, proof.ReplacedKey}
}

// Evidence is what is kept of two heads of one corpus that should not both have
// been shown to us. An equivocation has been verified, and the corpus is frozen
// by it, as it is by a rotation that contradicts a head, and by two rotations
// of one key. A rollback is a head that was served when a newer one was known. A
// head that only a replaced key has signed freezes a corpus that has not moved to
// the new key yet and holds the history of the old one; else it does no harm.
type Evidence struct {
	proof.Evidence
	ID     int64 // below 0 for two rotations of one key
	Origin string
	At     time.Time // when it was found, whole seconds; zero for two rotations of one key
}

// Evidence returns what is kept against the publisher of a corpus, oldest
// first.
func (s *Store) Evidence(ctx context.Context, origin string) ([]Evidence, error) {
	var found []Evidence
	err := s.withLog(ctx, origin, func(tx *sql.Tx, l *log) (err error) {
		found, err = allEvidence(ctx, tx, l)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read evidence of corpus %.200q: %w", origin, err)
	}
	return found, nil
}

// readEvidence returns the evidence with this number, or all where it is 0.
func readEvidence(ctx context.Context, tx *sql.Tx, l *log, id int64) (found []Evidence, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, kind, older, newer, root, path, at FROM evidence
		WHERE corpus = ? AND ?2 IN (0, id) ORDER BY id`, l.id, id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		e := Evidence{Origin: l.origin}
		var root, path []byte
		var kind, at int64
		if err := rows.Scan(&e.ID, &kind, &e.Older, &e.Newer, &root, &path, &at); err != nil {
			return nil, err
		}
		kinds := evidenceKinds()
		if kind < 0 || kind >= int64(len(kinds)) {
			return nil, fmt.Errorf("%w: evidence %d of %s is of the kind %d", ErrCorrupt, e.ID, l.origin, kind)
		}
		e.Kind = kinds[kind]
		copy(e.Root[:], root)
		for ; len(path) >= merkle.HashSize; path = path[merkle.HashSize:] {
			e.Path = append(e.Path, merkle.Hash(path))
		}
		e.At = time.Unix(at, 0).UTC()
		found = append(found, e)
	}
	return found, rows.Err()
}

// allEvidence returns everything that is kept against a log's publisher, with
// two rotations of one key at the end.
func allEvidence(ctx context.Context, tx *sql.Tx, l *log) ([]Evidence, error) {
	found, err := readEvidence(ctx, tx, l, 0)
	if err != nil || l.frozen != rotationFork {
		return found, err
	}
	fork, err := readFork(ctx, tx, l)
	if err != nil {
		return nil, err
	}
	return append(found, Evidence{Evidence: fork, ID: rotationFork, Origin: l.origin}), nil
}

// freeze keeps a proven equivocation and freezes the corpus. It returns the
// error to refuse the head with.
func freeze(ctx context.Context, tx *sql.Tx, l *log, e proof.Evidence) (refusal, err error) {
	if e.Kind == "" {
		e.Kind = proof.Equivocation
	}
	switch err := verifyEvidence(ctx, tx, l, e); {
	case errors.Is(err, proof.ErrRotation):
		// A note of a replaced key from after its time: no word of the publisher's.
		return fmt.Errorf("%w: %w", ErrMismatch, err), nil
	case err != nil:
		// Freezing on anything less than proof would let a liar stop a corpus.
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	id, err := keep(ctx, tx, l, e)
	if err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE corpus SET frozen = ? WHERE id = ?", id, l.id); err != nil {
		return nil, err
	}
	return fmt.Errorf("%w: %w", ErrEquivocation, &FrozenError{Origin: l.origin, Evidence: id}), nil
}

// verifyEvidence verifies evidence with the key of a log and those that it has
// replaced.
func verifyEvidence(ctx context.Context, tx *sql.Tx, l *log, e proof.Evidence) error {
	v, err := proof.ParseVerifier(l.key)
	if err != nil {
		return err
	}
	chain, err := readRotations(ctx, tx, l, true)
	if err != nil {
		return err
	}
	_, err = e.Verify(v, chain...)
	return err
}

// keepSome keeps evidence of which there can be any number, and forgets the
// oldest of its kind over the cap, but not what the corpus is frozen by.
func keepSome(ctx context.Context, tx *sql.Tx, l *log, e proof.Evidence) error {
	if _, err := keep(ctx, tx, l, e); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM evidence WHERE corpus = ?1 AND kind = ?2 AND id <> ?4 AND id NOT IN
		(SELECT id FROM evidence WHERE corpus = ?1 AND kind = ?2 ORDER BY id DESC LIMIT ?3)`,
		l.id, slices.Index(evidenceKinds(), e.Kind), maxRollbacks, l.frozen)
	return err
}

// keep writes evidence down once for every pair of heads: the same heads under
// other signature lines, which anybody can add, are nothing new.
func keep(ctx context.Context, tx *sql.Tx, l *log, e proof.Evidence) (id int64, err error) {
	h := sha256.New()
	for _, note := range [][]byte{e.Older, e.Newer} {
		text, _, ok := bytes.Cut(note, []byte("\n\n")) // what is signed
		if !ok {
			return 0, fmt.Errorf("%w: evidence that is no note", ErrCorrupt)
		}
		h.Write(append(text, '\n'))
	}
	var path []byte
	for _, p := range e.Path {
		path = append(path, p[:]...)
	}
	// A rollback can turn out to be more, and then its lines count too.
	err = tx.QueryRowContext(ctx, `INSERT INTO evidence (corpus, heads, kind, older, newer, root, path, at)
		VALUES (?, ?, ?, ?, ?, ?, coalesce(?, x''), ?)
		ON CONFLICT (corpus, heads) DO UPDATE SET
			older = iif(kind = 0 AND excluded.kind > 0, excluded.older, older),
			newer = iif(kind = 0 AND excluded.kind > 0, excluded.newer, newer),
			root = iif(kind = 0 AND excluded.kind > 0, excluded.root, root),
			path = iif(kind = 0 AND excluded.kind > 0, excluded.path, path),
			kind = iif(kind = 0, excluded.kind, kind)
		RETURNING id`,
		l.id, h.Sum(nil), slices.Index(evidenceKinds(), e.Kind), e.Older, e.Newer, e.Root[:], path, time.Now().Unix()).Scan(&id)
	return id, err
}
