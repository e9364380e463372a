package corpus

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"arborist/proof"
)

// savedKeys are the changes of a log's key as the damaged file has them.
type savedKeys struct {
	chain   []savedRotation // to the pinned key, and on from it where that froze the log
	rival   *savedRotation  // contradicts one of the chain, and has frozen the log
	missing bool            // others were there, and cannot be kept
}

// A savedRotation is a row of rotations that both of its keys have signed.
type savedRotation struct {
	proof.Rotation
	rival     bool // it stood outside the chain
	pending   bool
	statement []byte
}

// keys reads the changes of a log's key. What both keys have signed says itself where
// in the chain it belongs, whatever has become of the rest of its row. What they have
// not is left out, and so is what does not hang together with the pinned key any more:
// no repair would ever end.
func (r *rescue) keys(saved savedLog) (keys savedKeys) {
	var all []savedRotation
	for _, row := range saved.rotations.rows {
		k, err := readSavedRotation(saved.origin, row)
		if err != nil {
			keys.missing = true
			r.report(fmt.Sprintf("corpus %s: a change of its key is left out: %v", saved.origin, err))
			continue
		}
		k.pending = k.pending && saved.seen != nil
		all = append(all, k)
	}
	chain, rest := chainOf(saved.key.String(), all)
	keys.chain = chain
	for _, k := range rest {
		contradicts := slices.ContainsFunc(chain, func(c savedRotation) bool { return *c.Old == *k.Old })
		if contradicts && keys.rival == nil {
			keys.rival = &k
			continue
		}
		keys.missing = true
		r.report(fmt.Sprintf("corpus %s: the change of its key from %s is left out: those between it and the present key are lost", saved.origin, k.Old))
	}
	if keys.missing && saved.own {
		r.report(fmt.Sprintf("corpus %s: followers who know none but its keys from before cannot go on; one that has moved on, or a published copy, brings it back: arborist peer sync FROM %s", saved.origin, saved.origin))
	}
	return keys
}

// served returns how many of the chain lead to the key that the stored records are
// served under, and that key.
func (k savedKeys) served(pinned *proof.Verifier) (n int, key *proof.Verifier) {
	n = slices.IndexFunc(k.chain, func(k savedRotation) bool { return k.pending })
	if n < 0 {
		return len(k.chain), pinned
	}
	return n, k.chain[n].Old
}

// keepServed pins the key that the stored records are served under, and brings over
// what led to it: all that a head of these records is opened with.
func (k savedKeys) keepServed(ctx context.Context, tx *sql.Tx, saved savedLog) error {
	n, key := k.served(saved.key)
	if _, err := pin(ctx, tx, key, saved.own); err != nil {
		return err
	}
	l, err := findLog(ctx, tx, saved.origin)
	for i := 0; err == nil && i < n; i++ {
		err = keepRotation(ctx, tx, l, i, k.chain[i].Rotation, false)
	}
	return err
}

// keepOthers brings over the rest, once the records are there, and returns the log as
// it is then.
func (k savedKeys) keepOthers(ctx context.Context, tx *sql.Tx, l *log, saved savedLog) (*log, error) {
	n, _ := k.served(saved.key)
	for i, c := range k.chain[n:] {
		_, err := tx.ExecContext(ctx, "INSERT INTO rotation (corpus, seq, old, note, pending, statement) VALUES (?, ?, ?, ?, ?, ?)",
			l.id, n+i, c.Old.String(), c.Note(), c.pending, c.statement)
		if err != nil {
			return nil, err
		}
	}
	if k.rival != nil {
		if err := keepRotation(ctx, tx, l, rivalRotation, k.rival.Rotation, false); err != nil {
			return nil, err
		}
	}
	if _, err := tx.ExecContext(ctx, "UPDATE corpus SET key = ? WHERE id = ?", saved.key.String(), l.id); err != nil {
		return nil, err
	}
	return findLog(ctx, tx, saved.origin)
}

// readSavedRotation reads a row of rotations: seq, old, note, pending, statement.
func readSavedRotation(origin string, row []any) (k savedRotation, err error) {
	seq, _ := row[0].(int64)
	note, _ := row[2].([]byte)
	pending, _ := row[3].(int64)
	k.rival, k.pending = seq == rivalRotation, pending != 0
	k.statement, _ = row[4].([]byte)
	if k.Rotation, err = proof.ParseRotation(note); err == nil && k.Head.Origin != origin {
		err = fmt.Errorf("it is of %s", k.Head.Origin)
	}
	return k, err
}

// chainOf returns the rotations that lead to a key and on from it, oldest first, and
// the others. Of two that could stand at one place, the one that stood in the chain
// does.
func chainOf(key string, all []savedRotation) (chain, rest []savedRotation) {
	for _, rival := range []bool{false, true} {
		for _, k := range all {
			if k.rival == rival {
				rest = append(rest, k)
			}
		}
	}
	take := func(fits func(savedRotation) bool) bool {
		i := slices.IndexFunc(rest, fits)
		if i >= 0 {
			chain = append(chain, rest[i])
			rest = slices.Delete(rest, i, i+1)
		}
		return i >= 0
	}
	for first := key; take(func(k savedRotation) bool { return k.New.String() == first }); {
		first = chain[len(chain)-1].Old.String()
	}
	slices.Reverse(chain)
	for last := key; take(func(k savedRotation) bool { return !k.rival && k.Old.String() == last }); {
		last = chain[len(chain)-1].New.String()
	}
	return chain, rest
}
