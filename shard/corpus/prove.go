package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arborist/document"
	"arborist/merkle"
	"arborist/proof"
)

// Prove returns the log part of a proof: the record that lists the document
// with this root, its place in the log and the signed head. It takes the
// latest record that is current or, where none is, the one that was current
// last: "was in at size N" stays true after a withdrawal. It fails with
// [ErrNotFound] where the corpus has never listed the document. What it
// returns has been verified against the head.
func (s *Store) Prove(ctx context.Context, origin string, root document.Root) (part *proof.LogPart, err error) {
	parts, err := s.ProveMany(ctx, origin, []document.Root{root})
	if err == nil && parts[0] == nil {
		err = fmt.Errorf("prove %s in corpus %.200q: %w: no record lists it", root, origin, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return parts[0], nil
}

// ProveMany does for many documents of one corpus what [Store.Prove] does for
// one, all under the same signed head. What it returns goes with roots; it is
// nil for a document that the corpus has never listed.
func (s *Store) ProveMany(ctx context.Context, origin string, roots []document.Root) (parts []*proof.LogPart, err error) {
	err = s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		parts = make([]*proof.LogPart, len(roots))
		t := newTiles(ctx, tx, l.id, l.head.Size)
		for i, root := range roots {
			index, err := listing(ctx, tx, l, root)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if err == nil {
				parts[i], err = prove(ctx, tx, l, t, root, index)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", root, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("prove %d documents in corpus %.200q: %w", len(roots), origin, err)
	}
	return parts, nil
}

// prove proves the record at index, which lists root.
func prove(ctx context.Context, tx *sql.Tx, l *log, t *tiles, root document.Root, index uint64) (*proof.LogPart, error) {
	size := l.head.Size
	path, err := merkle.Inclusion(t, index, size)
	if err != nil {
		return nil, err
	}
	part := &proof.LogPart{Entry: proof.Inclusion{Index: index, Path: path}, Note: l.note}
	err = eachLine(ctx, tx, l, index, index+1, func(_ uint64, line []byte) error {
		if err := merkle.VerifyInclusion(merkle.LeafHash(line), index, size, path, l.head.Root); err != nil {
			return fmt.Errorf("%w: record %d: %w", ErrCorrupt, index, err)
		}
		part.Record, err = readRecord(index, line)
		return err
	})
	if err == nil && part.Record.Header.Root != root {
		err = fmt.Errorf("%w: record %d lists another document than its row", ErrCorrupt, index)
	}
	if err != nil {
		return nil, err
	}
	return part, nil
}

// listing finds the record for Prove. Staged records must not sway it, so the
// ends at and above the head count as none, whatever they are.
func listing(ctx context.Context, tx *sql.Tx, l *log, root document.Root) (index uint64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT idx FROM (
			SELECT * FROM (SELECT idx, ?4 AS until FROM record INDEXED BY record_root WHERE root = ?1 AND corpus = ?2 AND ended = ?4 AND idx < ?3 ORDER BY idx DESC LIMIT 1)
			UNION ALL
			SELECT * FROM (SELECT idx, ?4 AS until FROM record INDEXED BY record_root WHERE root = ?1 AND corpus = ?2 AND ended >= ?3 AND ended < ?4 AND idx < ?3)
			UNION ALL
			SELECT * FROM (SELECT idx, ended AS until FROM record INDEXED BY record_root WHERE root = ?1 AND corpus = ?2 AND ended < ?3 ORDER BY ended DESC LIMIT 1))
		ORDER BY until DESC, idx DESC LIMIT 1`, root[:], l.id, l.head.Size, openEnd).Scan(&index)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("%w: no record lists it", ErrNotFound)
	}
	return index, err
}
