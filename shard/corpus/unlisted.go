package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"arborist/merkle"
	"arborist/proof"
)

// The row of a corpus says which key its records are signed by, and how far. Where
// it is lost, its records are still there, under a number that nothing names.

// A Kept is what is kept of an own log outside the file of corpora: its key and, nil
// where none was signed, the greatest head that it has signed (see [HeadKeeper]).
type Kept struct {
	Key  *proof.Verifier
	Note []byte
}

// withUnlisted adds to the logs of the list the own ones of which the row is lost, or
// was made anew without a head, and records are there; and the head to one whose own
// is damaged. What is kept of a log is no
// proof yet that the records are its own: that they hash to its head is.
func (r *rescue) withUnlisted(ctx context.Context, listed []savedLog, own []Kept) []savedLog {
	known, signed := make(map[int64]bool), make(map[int64]bool)
	for _, l := range listed {
		known[l.id], signed[l.id] = true, l.note != nil
	}
	numbers, err := numbersWithRecords(ctx, r.from)
	if err != nil {
		r.report(fmt.Sprintf("which records belong to no corpus of the list cannot be read: %v", err))
	}
	for _, k := range own {
		head, err := proof.ReadCheckpoint(k.Note)
		at := slices.IndexFunc(listed, func(l savedLog) bool { return l.origin == k.Key.Name() })
		if err != nil || head.Size == 0 {
			continue
		}
		if at >= 0 && listed[at].note != nil {
			if isDamaged(listed[at].note, k.Key) && r.leadsTo(ctx, listed[at].id, head) {
				r.report(fmt.Sprintf("corpus %s: its head is damaged: the one kept beside its key takes its place", k.Key.Name()))
				listed[at].note = k.Note
			}
			continue
		}
		found := slices.IndexFunc(numbers, func(id int64) bool { return !signed[id] && r.leadsTo(ctx, id, head) })
		if found < 0 {
			continue
		}
		l := savedLog{id: numbers[found], origin: k.Key.Name(), key: k.Key, own: true, note: k.Note}
		known[l.id], signed[l.id] = true, true
		r.tables(ctx, &l)
		r.report(fmt.Sprintf("corpus %s stood no more in the list of corpora: its key and the head kept beside it bring it back", l.origin))
		if at >= 0 {
			listed[at] = l
		} else {
			listed = append(listed, l)
		}
	}
	for _, id := range numbers {
		if !known[id] {
			r.report(fmt.Sprintf("the records of a corpus that is not in the list any more (number %d) are left out: sync it again", id))
		}
	}
	return listed
}

// isDamaged reports whether a head is none that this key, or another one of its name,
// which may have been replaced, has signed.
func isDamaged(note []byte, key *proof.Verifier) bool {
	_, err := proof.OpenCheckpoint(note, key)
	return err != nil && !errors.Is(err, proof.ErrOtherKey)
}

// leadsTo reports whether the records or the tiles of a number give a head.
func (r *rescue) leadsTo(ctx context.Context, id int64, head proof.Checkpoint) bool {
	tx, err := r.from.BeginTx(ctx, nil)
	if err != nil {
		return false
	}
	root, err := merkle.RootAt(newTiles(ctx, tx, id, head.Size), head.Size)
	tx.Rollback()
	if err == nil && root == head.Root {
		return true
	}
	var leaves merkle.Builder
	for index := range head.Size {
		line, err := r.stored(ctx, id, index)
		if err != nil {
			return false
		}
		leaves.Append(merkle.LeafHash(line))
	}
	return leaves.Root() == head.Root
}

// A rowQuerier is a database or a transaction of one.
type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// numbersWithRecords returns the numbers of all corpora that have records.
func numbersWithRecords(ctx context.Context, db rowQuerier) (numbers []int64, err error) {
	var next sql.NullInt64
	for after := int64(0); ; after = next.Int64 {
		if err := db.QueryRowContext(ctx, "SELECT min(corpus) FROM record WHERE corpus > ?", after).Scan(&next); err != nil || !next.Valid {
			return numbers, err
		}
		numbers = append(numbers, next.Int64)
	}
}

// unlistedNumbers returns the numbers of corpora that have records and no row.
func unlistedNumbers(ctx context.Context, tx *sql.Tx) (unlisted []int64, err error) {
	numbers, err := numbersWithRecords(ctx, tx)
	for _, id := range numbers {
		var listed bool
		if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM corpus WHERE id = ?)", id).Scan(&listed); err != nil {
			return nil, err
		}
		if !listed {
			unlisted = append(unlisted, id)
		}
	}
	return unlisted, err
}

// checkListed fails with [ErrCorrupt] where there are records of corpora that have
// no row: SQLite may give their number to a new one.
func checkListed(ctx context.Context, tx *sql.Tx) error {
	unlisted, err := unlistedNumbers(ctx, tx)
	if err == nil && len(unlisted) > 0 {
		err = fmt.Errorf("%w: there are records of a corpus that is not in the list any more (number %d)", ErrCorrupt, unlisted[0])
	}
	return err
}
