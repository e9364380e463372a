package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// keepWitness brings over whether this node is a witness, and the last head that it
// has cosigned. Where that is damaged the last head known stands for it: no head that
// was cosigned was greater, and what comes must continue it. Where the last one known
// may be lost as well nothing would keep this node from cosigning two histories.
func (r *rescue) keepWitness(ctx context.Context, tx *sql.Tx, saved savedLog) error {
	l, err := findLog(ctx, tx, saved.origin)
	if err == nil {
		err = r.write(ctx, tx, l, saved.witness)
	}
	if err == nil {
		l, err = findLog(ctx, tx, saved.origin)
	}
	if err != nil {
		return err
	}
	damaged := checkCosigned(ctx, tx, l)
	if damaged == nil || !errors.Is(damaged, ErrCorrupt) {
		return damaged
	}
	latest, note, err := l.latest()
	if err != nil {
		return err
	}
	lost := note == nil
	for _, known := range [][]byte{saved.note, saved.seen} {
		_, err := l.open(known)
		lost = lost || known != nil && err != nil
	}
	if lost {
		r.report(fmt.Sprintf("corpus %s: this node is its witness no more, for the last head that it cosigned is lost: arborist corpus witness %s", l.origin, l.origin))
		_, err = tx.ExecContext(ctx, "DELETE FROM witness WHERE corpus = ?", l.id)
		return err
	}
	r.report(fmt.Sprintf("corpus %s: the last head that was cosigned is left out, and the last one known taken for it: %v", l.origin, damaged))
	_, err = tx.ExecContext(ctx, "UPDATE witness SET cosigned = ? WHERE corpus = ?", latest.Text(), l.id)
	return err
}
