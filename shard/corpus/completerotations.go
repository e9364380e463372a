package corpus

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"arborist/merkle"
	"arborist/proof"
)

// CompleteRotations puts back changes of the key of an own corpus that a repair could
// not keep: those of a rotations file that lead to the first one known, or to the
// pinned key where none is. A file that does not lead there, or does not fit the log,
// changes nothing. It returns how many it put back. It fails with [ErrNotFound] and
// the errors of [proof.ParseRotations].
func (s *Store) CompleteRotations(ctx context.Context, origin string, file []byte) (back int, err error) {
	chain, err := proof.ParseRotations(file)
	if err == nil {
		err = s.update(ctx, func(tx *sql.Tx) error {
			l, err := findLog(ctx, tx, origin)
			if err != nil || !l.own || l.frozen != 0 || chain[0].Head.Origin != origin {
				return err
			}
			fresh, err := lacking(ctx, tx, l, chain)
			if err != nil || len(fresh) == 0 {
				return err
			}
			back = len(fresh)
			return putInFront(ctx, tx, l, fresh)
		})
	}
	if err != nil {
		return 0, fmt.Errorf("complete rotations of corpus %.200q: %w", origin, err)
	}
	return back, nil
}

// lacking returns the rotations of a chain that stand in front of those of a log.
func lacking(ctx context.Context, tx *sql.Tx, l *log, chain []proof.Rotation) ([]proof.Rotation, error) {
	known, err := readRotations(ctx, tx, l, true)
	if err != nil {
		return nil, err
	}
	n := 1 + slices.IndexFunc(chain, func(r proof.Rotation) bool { return r.New.String() == l.key }) - len(known)
	if n < 1 {
		return nil, nil
	}
	for i, k := range known {
		if string(k.Text()) != string(chain[n+i].Text()) {
			return nil, nil
		}
	}
	for _, r := range chain[:n] {
		if r.Head.Size > l.head.Size {
			return nil, nil
		}
		root, err := merkle.RootAt(newTiles(ctx, tx, l.id, l.head.Size), r.Head.Size)
		if err != nil {
			return nil, err
		}
		if root != r.Head.Root {
			return nil, nil
		}
	}
	return chain[:n], nil
}

// putInFront puts rotations in front of those that a log has.
func putInFront(ctx context.Context, tx *sql.Tx, l *log, fresh []proof.Rotation) error {
	// Out of the way first: no place is there twice.
	if _, err := tx.ExecContext(ctx, "UPDATE rotation SET seq = -2 - seq WHERE corpus = ? AND seq >= 0", l.id); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE rotation SET seq = ? - 2 - seq WHERE corpus = ? AND seq < ?", len(fresh), l.id, rivalRotation); err != nil {
		return err
	}
	for i, r := range fresh {
		if err := keepRotation(ctx, tx, l, i, r, false); err != nil {
			return err
		}
	}
	return nil
}
