package corpus

import (
	"context"
	"database/sql"
	"fmt"

	"arborist/proof"
)

// upgrade brings a file of an earlier schema up to this one, within the
// transaction that opens it: a crash leaves the file as it was.
func upgrade(ctx context.Context, tx *sql.Tx, version int64) error {
	steps := []func(context.Context, *sql.Tx) error{
		1: addWitnesses,
		2: addRotations,
		3: nameKinds,
		4: addFilters,
		5: addSalvaged,
	}
	for ; version < schemaVersion; version++ {
		if err := steps[version](ctx, tx); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version+1)); err != nil {
			return err
		}
	}
	return nil
}

// addWitnesses brings schema 1 to 2. Schema 1 kept notes as they came, with
// lines that anybody could have added; only those of the corpus's key are of
// use, because no witness was known yet. Notes in evidence stay as they are.
func addWitnesses(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, witnessTable); err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, "SELECT id, key, note, seen FROM corpus")
	if err != nil {
		return err
	}
	defer rows.Close()
	type row struct {
		id         int64
		note, seen []byte
	}
	var all []row
	for rows.Next() {
		var r row
		var key string
		if err := rows.Scan(&r.id, &key, &r.note, &r.seen); err != nil {
			return err
		}
		r.note, r.seen = ofKey(key, r.note), ofKey(key, r.seen)
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, r := range all {
		if _, err := tx.ExecContext(ctx, "UPDATE corpus SET note = ?, seen = ? WHERE id = ?", r.note, r.seen, r.id); err != nil {
			return err
		}
	}
	return nil
}

// ofKey returns a note with the key's lines alone. What is damaged stays what
// it is: Check tells of it.
func ofKey(key string, note []byte) []byte {
	v, err := proof.ParseVerifier(key)
	if err != nil || note == nil {
		return note
	}
	kept, err := proof.KeepSignatures(note, []*proof.Verifier{v}, nil)
	if err != nil {
		return note
	}
	return kept
}

// addRotations brings schema 2 to 3, which can hold the rotations of a key.
func addRotations(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, rotationTable)
	return err
}

// nameKinds brings schema 3 to 4: evidence has more than two kinds.
func nameKinds(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, "ALTER TABLE evidence RENAME COLUMN equivocation TO kind")
	return err
}

// addFilters brings schema 4 to 5, which has a place for filters.
func addFilters(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, filterTable)
	return err
}

// addSalvaged brings schema 5 to 6, which keeps records that a repair has read and
// that no head covers.
func addSalvaged(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, salvagedTable)
	return err
}
