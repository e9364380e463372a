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
func (s *Store) Prove(ctx context.Context, origin string, root document.Root) (*proof.LogPart, error) {
	all, err := s.ProveMany(ctx, origin, []document.Root{root})
	if err != nil {
		return nil, err
	}
	if err := all[0].Err; err != nil {
		return nil, fmt.Errorf("prove %s in corpus %.200q: %w", root, origin, err)
	}
	if all[0].Part == nil {
		return nil, fmt.Errorf("prove %s in corpus %.200q: %w: no record lists it", root, origin, ErrNotFound)
	}
	return all[0].Part, nil
}

// A Proven says what [Store.ProveMany] found of one document: its log part,
// nothing where the corpus has never listed it, or an error that wraps
// [ErrCorrupt] where its record, or what proves it, is damaged.
type Proven struct {
	Part *proof.LogPart
	Err  error
}

// ProveMany does for many documents of one corpus what [Store.Prove] does for
// one, all under the same signed head. What it returns goes with roots.
func (s *Store) ProveMany(ctx context.Context, origin string, roots []document.Root) (all []Proven, err error) {
	err = s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		all = make([]Proven, len(roots))
		t := s.treeOf(ctx, tx, l)
		for i, root := range roots {
			if err := ctx.Err(); err != nil {
				return err
			}
			part, err := prove(tx, l, t, root)
			switch err = classify(err); {
			case errors.Is(err, ErrNotFound):
			case errors.Is(err, ErrCorrupt):
				s.trees.drop()
				all[i].Err = err
			case err != nil:
				return fmt.Errorf("%s: %w", root, err)
			default:
				all[i].Part = part
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("prove %d documents in corpus %.200q: %w", len(roots), origin, err)
	}
	return all, nil
}

// treeOf gives the tree under a log's signed head, of which much is kept.
func (s *Store) treeOf(ctx context.Context, tx *sql.Tx, l *log) *tiles {
	t := newTiles(context.WithoutCancel(ctx), tx, l.id, l.head.Size) // as appender.quiet
	t.root, t.kept = l.head.Root, &s.trees
	return t
}

// prove proves the record that lists root. It fails with [ErrNotFound] where there
// is none.
func prove(tx *sql.Tx, l *log, t *tiles, root document.Root) (*proof.LogPart, error) {
	index, line, err := listing(t.ctx, tx, l, root)
	if err != nil {
		return nil, err
	}
	size := l.head.Size
	path, err := merkle.Inclusion(t, index, size)
	if err != nil {
		return nil, err
	}
	if err := merkle.VerifyInclusion(merkle.LeafHash(line), index, size, path, l.head.Root); err != nil {
		return nil, fmt.Errorf("%w: record %d: %w", ErrCorrupt, index, err)
	}
	record, err := readRecord(index, line)
	if err == nil && record.Header.Root != root {
		err = fmt.Errorf("%w: record %d lists another document than its row", ErrCorrupt, index)
	}
	if err != nil {
		return nil, err
	}
	return &proof.LogPart{Record: record, Entry: proof.Inclusion{Index: index, Path: path}, Note: l.note}, nil
}

// listing finds the record for Prove, and its line. Staged records must not sway
// it, so the ends at and above the head count as none, whatever they are.
func listing(ctx context.Context, tx *sql.Tx, l *log, root document.Root) (index uint64, line []byte, err error) {
	err = tx.QueryRowContext(ctx, listingSQL, root[:], l.id, l.head.Size, openEnd).Scan(&index, &line)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil, fmt.Errorf("%w: no record lists it", ErrNotFound)
	}
	return index, line, err
}

// listingSQL looks for what is current, now or but for staged records, and where
// nothing is for what was current last: three ranges of the index, of which one row is read
// each. A URI can be listed any number of times.
const listingSQL = `SELECT idx, line FROM record WHERE corpus = ?2 AND idx = coalesce(
	(SELECT max(idx) FROM (
		SELECT * FROM (SELECT idx FROM record INDEXED BY record_root WHERE root = ?1 AND corpus = ?2 AND ended = ?4 AND idx < ?3 ORDER BY idx DESC LIMIT 1)
		UNION ALL
		SELECT idx FROM record INDEXED BY record_root WHERE root = ?1 AND corpus = ?2 AND ended >= ?3 AND ended < ?4 AND idx < ?3)),
	(SELECT idx FROM record INDEXED BY record_root WHERE root = ?1 AND corpus = ?2 AND ended < ?3 ORDER BY ended DESC LIMIT 1))`
