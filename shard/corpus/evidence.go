package corpus

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"arborist/merkle"
	"arborist/proof"
)

// maxRollbacks is how many stale heads are kept per corpus, the latest: a
// stale cache can serve any number of them, and each proves little.
const maxRollbacks = 16

// Evidence is what is kept of two heads of one corpus that should not both have
// been shown to us. An equivocation has been verified, and the corpus is frozen
// by it, as it is by two rotations of one key. A rollback is a head that was
// served when a newer one was known.
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
	rows, err := tx.QueryContext(ctx, `SELECT id, equivocation, older, newer, root, path, at FROM evidence
		WHERE corpus = ? AND ?2 IN (0, id) ORDER BY id`, l.id, id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		e := Evidence{Origin: l.origin}
		var equivocation bool
		var root, path []byte
		var at int64
		if err := rows.Scan(&e.ID, &equivocation, &e.Older, &e.Newer, &root, &path, &at); err != nil {
			return nil, err
		}
		e.Kind = proof.Rollback
		if equivocation {
			e.Kind = proof.Equivocation
		}
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
	e.Kind = proof.Equivocation
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

// keepRollback keeps a stale head and forgets the oldest ones over the cap.
func keepRollback(ctx context.Context, tx *sql.Tx, l *log, e proof.Evidence) error {
	e.Kind = proof.Rollback
	if _, err := keep(ctx, tx, l, e); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM evidence WHERE corpus = ?1 AND equivocation = 0 AND id NOT IN
		(SELECT id FROM evidence WHERE corpus = ?1 AND equivocation = 0 ORDER BY id DESC LIMIT ?2)`, l.id, maxRollbacks)
	return err
}

// keep writes evidence down once for every pair of heads: the same heads under
// other signature lines, which anybody can add, are nothing new.
func keep(ctx context.Context, tx *sql.Tx, l *log, e proof.Evidence) (id int64, err error) {
	h := sha256.New()
	for _, note := range [][]byte{e.Older, e.Newer} {
		c, err := proof.ReadCheckpoint(note)
		if err != nil {
			return 0, err
		}
		h.Write(c.Text())
	}
	var path []byte
	for _, p := range e.Path {
		path = append(path, p[:]...)
	}
	err = tx.QueryRowContext(ctx, `INSERT INTO evidence (corpus, heads, equivocation, older, newer, root, path, at)
		VALUES (?, ?, ?, ?, ?, ?, coalesce(?, x''), ?)
		ON CONFLICT (corpus, heads) DO UPDATE SET
			equivocation = max(equivocation, excluded.equivocation),
			root = iif(excluded.equivocation, excluded.root, root),
			path = iif(excluded.equivocation, excluded.path, path)
		RETURNING id`,
		l.id, h.Sum(nil), e.Kind == proof.Equivocation, e.Older, e.Newer, e.Root[:], path, time.Now().Unix()).Scan(&id)
	return id, err
}
