package corpus

import (
	"context"
	"database/sql"
	"fmt"

	"arborist/merkle"
)

// Forget ends the following of a corpus: its records and tiles go, and nothing
// of it is served any more. What protects its reader stays: the pinned key, the
// rotations, the greatest head known and the evidence. So [Store.Follow] and a
// sync take it up again, from nothing but with the same trust. Again it changes
// nothing. It fails with [ErrNotFound], and with [ErrOwn] for an own corpus.
//
// A call that is cut leaves a corpus that is not served; the next call, or the
// next sync, goes on from there.
func (s *Store) Forget(ctx context.Context, origin string) error {
	if _, err := s.Lookup(ctx, origin); err != nil {
		return fmt.Errorf("forget corpus %.200q: %w", origin, err)
	}
	release, err := s.hold(ctx, origin)
	if err != nil {
		return fmt.Errorf("forget corpus %.200q: %w", origin, err)
	}
	defer release()
	err = s.update(ctx, func(tx *sql.Tx) error {
		l, err := findLog(ctx, tx, origin)
		if err != nil {
			return err
		}
		if l.own {
			return fmt.Errorf("%w: %s", ErrOwn, origin)
		}
		_, note, err := l.latest()
		if err != nil || l.head.Size == 0 {
			return err
		}
		empty := merkle.EmptyRoot()
		_, err = tx.ExecContext(ctx, "UPDATE corpus SET size = 0, root = ?, note = NULL, documents = 0, seen = ?, statement = NULL WHERE id = ?",
			empty[:], note, l.id)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM filter WHERE corpus = ?", l.id)
		return err
	})
	if err == nil {
		err = s.discard(ctx, origin)
	}
	if err != nil {
		return fmt.Errorf("forget corpus %.200q: %w", origin, err)
	}
	return nil
}
