package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strings"

	"github.com/mattn/go-sqlite3"

	"arborist/proof"
)

// A Rescued says what [Rescue] has kept of a log.
type Rescued struct {
	Origin  string
	Signed  uint64 // records under the head that stood in the damaged file
	Records uint64 // of these, from the first on, in the new one
	Behind  uint64 // of these, behind the first that is lost, in the new one: for when it is back
}

// Rescue makes a new file of corpora at fresh out of what can be read of the
// damaged one, which nobody has open. Nothing is taken on trust: a head is in
// force only where the records that were read hash to the root that it signs, and
// all that is derived from records is made anew. Where they do not, the head is
// the last one known, as after the restore of an old backup: an own corpus signs
// nothing, and a sync brings back what is missing. Its records behind the first that
// is lost are kept until then. What is lost relister, which may be nil, can make
// anew: the tree of the log says whether it is the same. Own are this node's own
// logs, by what is kept of them elsewhere: one whose row in the list of corpora is
// lost comes back by that.
//
// Report is told what could not be kept. It fails where the new file cannot be
// written, and keeps nothing of a file of which nothing can be read.
func Rescue(ctx context.Context, damaged, fresh string, own []Kept, relister Relister, report func(problem string)) (kept []Rescued, err error) {
	from := sql.OpenDB(connector{(&url.URL{Scheme: "file", Path: damaged}).String() + "?mode=rw&_busy_timeout=5000"})
	defer from.Close()
	from.SetMaxOpenConns(1)
	to, err := Open(fresh)
	if err != nil {
		return nil, err
	}
	r := &rescue{from: from, to: to, relister: relister, report: report}
	for _, l := range r.withUnlisted(ctx, r.logs(ctx), own) {
		one, err := r.keep(ctx, l)
		if err != nil {
			return kept, errors.Join(fmt.Errorf("rescue corpus %.200q: %w", l.origin, err), to.Close())
		}
		kept = append(kept, one)
	}
	_, err = to.Check(ctx, report)
	return kept, errors.Join(err, to.Close())
}

type rescue struct {
	from     *sql.DB
	to       *Store
	relister Relister // may be nil
	report   func(string)
	trail    *leafTrail // of the log that is being kept; nil: its lines are taken as they are
}

// A savedLog is the row of a corpus as the damaged file has it.
type savedLog struct {
	id                 int64
	origin             string
	key                *proof.Verifier
	own                bool
	note, seen         []byte
	frozen             sql.NullInt64
	statement          []byte
	rotations, witness savedTable
	evidence, filter   savedTable
}

// goals returns the heads to which records may lead. Those of an own log that waits
// for others may reach further than its head.
func (l *savedLog) goals() (notes [][]byte) {
	if l.note != nil {
		notes = append(notes, l.note)
	}
	if l.own && l.seen != nil {
		notes = append(notes, l.seen)
	}
	return notes
}

// logs reads the corpora one by one, as far as it gets.
func (r *rescue) logs(ctx context.Context) (all []savedLog) {
	for after := int64(0); ; {
		var l savedLog
		var key string
		err := r.from.QueryRowContext(ctx, "SELECT id, origin, key, own, note, seen, frozen, statement FROM corpus WHERE id > ? ORDER BY id LIMIT 1", after).
			Scan(&l.id, &l.origin, &key, &l.own, &l.note, &l.seen, &l.frozen, &l.statement)
		if err == nil {
			l.key, err = proof.ParseVerifier(key)
		}
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return all
		case l.id <= after: // where to go on is not known
			r.report(fmt.Sprintf("the list of corpora cannot be read behind the %d first: %v", len(all), err))
			return all
		case err != nil || l.key.Name() != l.origin:
			r.report(fmt.Sprintf("corpus %.200q is left out: its key cannot be read", l.origin))
		default:
			r.tables(ctx, &l)
			all = append(all, l)
		}
		after = l.id
	}
}

// tables reads what else the file holds of a log.
func (r *rescue) tables(ctx context.Context, l *savedLog) {
	l.rotations = r.table(ctx, *l, "rotation", "seq, old, note, pending, statement")
	l.witness = r.table(ctx, *l, "witness", "active, cosigned")
	l.evidence = r.table(ctx, *l, "evidence", "id, heads, kind, older, newer, root, path, at")
	l.filter = r.table(ctx, *l, "filter", "note, bytes")
}

// A savedTable is what a small table holds of one corpus.
type savedTable struct {
	insert string
	rows   [][]any
}

func (r *rescue) table(ctx context.Context, l savedLog, name, columns string) savedTable {
	n := strings.Count(columns, ",") + 1
	t := savedTable{insert: fmt.Sprintf("INSERT INTO %s (corpus, %s) VALUES (?%s)", name, columns, strings.Repeat(", ?", n))}
	rows, err := r.from.QueryContext(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE corpus = ?", columns, name), l.id)
	if err == nil {
		defer rows.Close()
		for rows.Next() {
			values, into := make([]any, n), make([]any, n)
			for i := range values {
				into[i] = &values[i]
			}
			if err = rows.Scan(into...); err != nil {
				break
			}
			t.rows = append(t.rows, values)
		}
		err = errors.Join(err, rows.Err())
	}
	if err != nil {
		r.report(fmt.Sprintf("corpus %s: its rows of %s cannot all be read: %v", l.origin, name, err))
	}
	return t
}

// write adds the rows to the new file. One that cannot be there is left out.
func (r *rescue) write(ctx context.Context, tx *sql.Tx, l *log, t savedTable) error {
	for _, row := range t.rows {
		_, err := tx.ExecContext(ctx, t.insert, append([]any{l.id}, row...)...)
		var e sqlite3.Error
		if errors.As(err, &e) && e.Code == sqlite3.ErrConstraint {
			r.report(fmt.Sprintf("corpus %s: a row is left out: %v", l.origin, err))
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keep puts one corpus into the new file.
func (r *rescue) keep(ctx context.Context, saved savedLog) (kept Rescued, err error) {
	kept.Origin = saved.origin
	keys := r.keys(saved)
	err = r.to.update(ctx, func(tx *sql.Tx) error { return keys.keepServed(ctx, tx, saved) })
	if err != nil {
		return kept, err
	}
	r.trail = nil
	signed, reached := r.extend(ctx, saved)
	if reached != nil && ctx.Err() == nil && !IsFull(reached) {
		if err := r.relist(ctx, saved); err != nil {
			return kept, err
		}
		// What was staged up to there may be wrong already.
		if err := r.to.discard(ctx, saved.origin); err != nil {
			return kept, err
		}
		signed, reached = r.extend(ctx, saved)
	}
	if ctx.Err() != nil || IsFull(reached) {
		return kept, reached
	}
	kept.Signed = signed
	err = r.to.update(ctx, func(tx *sql.Tx) error {
		l, err := findLog(ctx, tx, saved.origin)
		if err != nil {
			return err
		}
		kept.Records = l.staged
		return r.settle(ctx, tx, l, saved, keys)
	})
	if err == nil && reached != nil && saved.own {
		kept.Behind, err = r.keepLines(ctx, saved, kept.Records, kept.Signed)
	}
	if reached != nil {
		r.report(fmt.Sprintf("corpus %s: %d of its %d records can be kept: %v", saved.origin, kept.Records, kept.Signed, reached))
	}
	return kept, err
}

// extend brings the new log up to the heads that the damaged file has. It returns
// the size of the largest, and why the last one was not reached.
func (r *rescue) extend(ctx context.Context, saved savedLog) (signed uint64, reached error) {
	for _, note := range saved.goals() {
		head, err := proof.ReadCheckpoint(note)
		if err == nil {
			_, err = r.to.ExtendFrom(ctx, saved.origin, note, func(from uint64) iter.Seq2[[]byte, error] { return r.lines(ctx, saved.id, from, head.Size) })
		}
		signed, reached = max(signed, head.Size), err
	}
	return signed, reached
}

// lines yields records of the damaged file.
func (r *rescue) lines(ctx context.Context, corpus int64, from, end uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for index := from; index < end; index++ {
			if !yield(r.line(ctx, corpus, index)) {
				return
			}
		}
	}
}

// stored reads a record of the damaged file, or what an earlier rescue has kept of it.
func (r *rescue) stored(ctx context.Context, corpus int64, index uint64) (line []byte, err error) {
	err = r.from.QueryRowContext(ctx, "SELECT line FROM record WHERE corpus = ? AND idx = ?", corpus, int64(index)).Scan(&line)
	if err != nil || line == nil {
		var kept []byte
		if r.from.QueryRowContext(ctx, "SELECT line FROM salvaged WHERE corpus = ? AND idx = ?", corpus, int64(index)).Scan(&kept) == nil {
			return kept, nil
		}
	}
	return line, err
}

// keepLines keeps every record of an own log that can be read. Those in front of
// the first that is lost stand in the log as well: a follower that has fewer of them
// takes them out again.
func (r *rescue) keepLines(ctx context.Context, saved savedLog, staged, end uint64) (behind uint64, err error) {
	for from := uint64(0); from < end && err == nil; from += salvageStep {
		err = r.to.update(ctx, func(tx *sql.Tx) error {
			l, err := findLog(ctx, tx, saved.origin)
			if err != nil {
				return err
			}
			for index := from; index < min(from+salvageStep, end); index++ {
				if err := ctx.Err(); err != nil {
					return err
				}
				line, err := r.line(ctx, saved.id, index)
				if err != nil || len(line) == 0 || len(line) > proof.MaxRecord {
					continue
				}
				if _, err := tx.ExecContext(ctx, "INSERT INTO salvaged (corpus, idx, line) VALUES (?, ?, ?)", l.id, int64(index), line); err != nil {
					return err
				}
				if index >= staged {
					behind++
				}
			}
			return nil
		})
	}
	return behind, err
}

// settle brings over what is kept of a corpus beside its records. It comes after
// them, since a frozen corpus takes none.
func (r *rescue) settle(ctx context.Context, tx *sql.Tx, l *log, saved savedLog, keys savedKeys) error {
	l, err := keys.keepOthers(ctx, tx, l, saved)
	if err != nil {
		return err
	}
	frozen, err := r.keepEvidence(ctx, tx, l, saved, keys)
	if err != nil {
		return err
	}
	note, seen, greatest := l.note, []byte(nil), l.head.Size
	for _, known := range [][]byte{saved.note, saved.seen} {
		head, err := l.open(known)
		switch {
		case err != nil:
		case head == l.head:
			note = known // with its cosignatures
		case head.Size > greatest:
			seen, greatest = known, head.Size
		}
	}
	if seen == nil { // otherwise it is of records that are not here, and comes back with them
		if err := r.keepFilter(ctx, tx, l, saved.filter); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, "UPDATE corpus SET note = ?, seen = ?, frozen = ?, statement = ? WHERE id = ?", note, seen, frozen, saved.statement, l.id)
	if err != nil {
		return err
	}
	return r.keepWitness(ctx, tx, saved)
}

// keepFilter brings over the filter of a log, if it is still what it was: it is made,
// or fetched, anew.
func (r *rescue) keepFilter(ctx context.Context, tx *sql.Tx, l *log, filter savedTable) error {
	if err := r.write(ctx, tx, l, filter); err != nil {
		return err
	}
	damaged := checkStoredFilter(ctx, tx, l)
	if damaged == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	r.report(fmt.Sprintf("corpus %s: its filter is left out, and made or fetched anew: %v", l.origin, damaged))
	_, err := tx.ExecContext(ctx, "DELETE FROM filter WHERE corpus = ?", l.id)
	return err
}
