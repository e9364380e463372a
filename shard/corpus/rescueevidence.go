package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"
)

// keepEvidence brings over what is kept against the publisher of a log, as far as it
// still proves it, and returns what the log is frozen by: nothing less than proof.
func (r *rescue) keepEvidence(ctx context.Context, tx *sql.Tx, l *log, saved savedLog, keys savedKeys) (frozen sql.NullInt64, err error) {
	if err := r.write(ctx, tx, l, saved.evidence); err != nil {
		return frozen, err
	}
	if keys.missing {
		return saved.frozen, nil // without the keys it was signed by nothing can be judged, and so nothing is dropped
	}
	ids, err := evidenceIDs(ctx, tx, l)
	if err != nil {
		return frozen, err
	}
	proves := make(map[int64]bool)
	for _, id := range ids {
		found, err := readEvidence(ctx, tx, l, id)
		if err == nil {
			err = verifyEvidence(ctx, tx, l, found[0].Evidence)
		}
		if err == nil {
			proves[id] = true
			continue
		}
		if fault := (sqlite3.Error{}); ctx.Err() != nil || errors.As(err, &fault) {
			return frozen, err // of the new file, not of what is in it
		}
		r.report(fmt.Sprintf("corpus %s: evidence %d is left out, for it proves nothing any more: %v", l.origin, id, err))
		if _, err := tx.ExecContext(ctx, "DELETE FROM evidence WHERE corpus = ? AND id = ?", l.id, id); err != nil {
			return frozen, err
		}
	}
	if !saved.frozen.Valid || saved.frozen.Int64 == 0 {
		return frozen, nil
	}
	still := proves[saved.frozen.Int64]
	if saved.frozen.Int64 == rotationFork {
		_, err := readFork(ctx, tx, l)
		still = err == nil
	}
	if !still {
		r.report(fmt.Sprintf("corpus %s: what has frozen it is lost, so it goes on; the folder of evidence may have it still", l.origin))
		return frozen, ctx.Err()
	}
	return saved.frozen, nil
}

func evidenceIDs(ctx context.Context, tx *sql.Tx, l *log) (ids []int64, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT id FROM evidence WHERE corpus = ? ORDER BY id", l.id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
