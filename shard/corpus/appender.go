package corpus

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"

	"arborist/document"
	"arborist/merkle"
	"arborist/proof"
)

// A standing is the last record of a URI.
type standing struct {
	index uint64
	id    document.ID
	root  document.Root // zero where it is a withdrawal
	ended uint64        // index of the record that ended it, or openEnd
	live  bool          // current: neither a withdrawal nor ended by a later record
}

// next is the rule of the log (see the package comment): it returns r as the
// log takes it after was, which is the last record of its URI or nil, and
// false where r would change nothing and so has no place in the log. A withdraw
// without an ID is meant for whatever is current.
func next(r proof.Record, was *standing) (proof.Record, bool) {
	live := was != nil && was.live
	switch {
	case r.Op == proof.OpWithdraw:
		r = proof.Record{Op: r.Op, ID: r.ID, URI: r.URI, FetchedAt: r.FetchedAt}
		if live && r.ID == (document.ID{}) {
			r.ID = was.id
		}
		return r, live && was.id == r.ID
	case !live:
		r.Op, r.Supersedes = proof.OpAdd, document.ID{}
		return r, true
	default:
		r.Op, r.Supersedes = proof.OpSupersede, was.id
		return r, was.id != r.ID
	}
}

// uriKey is what stands for a URI in the index: 16 bytes of its SHA-256, so
// that long URIs do not fill the index. Two URIs with one key take 2^64 work
// to make and would confuse nothing but the log they were put in.
func uriKey(uri string) []byte {
	h := sha256.Sum256([]byte(uri))
	return h[:16]
}

// An appender adds records behind the staged end of one log, within one
// transaction. What it adds stays unseen until commit moves the head over it.
type appender struct {
	ctx  context.Context // of the call; checked between records
	tx   *sql.Tx
	log  *log
	edge *edge

	// last, listed, insert and end are the four statements that a record takes.
	last, listed, insert, end *sql.Stmt
}

// newAppender begins to add to a log that may be added to: see [Store.audit].
func (s *Store) newAppender(ctx context.Context, tx *sql.Tx, l *log) (*appender, error) {
	if err := s.audit(ctx, tx, l); err != nil {
		return nil, err
	}
	e, err := l.edge(ctx, tx)
	if err != nil {
		return nil, err
	}
	a := &appender{ctx: ctx, tx: tx, log: l, edge: e}
	return a, a.prepare()
}

func (a *appender) prepare() (err error) {
	for _, p := range []struct {
		to  **sql.Stmt
		sql string
	}{
		// In two steps: of one, a row that the index names and the table lacks is no row.
		{&a.last, `SELECT last.idx, r.id, r.root, r.ended, r.line FROM
			(SELECT max(idx) AS idx FROM record INDEXED BY record_uri WHERE corpus = ?1 AND uri = ?2) AS last
			LEFT JOIN record AS r ON r.corpus = ?1 AND r.idx = last.idx`},
		{&a.listed, "SELECT EXISTS (SELECT 1 FROM record INDEXED BY record_root WHERE root = ? AND corpus = ? AND ended = ?)"},
		{&a.insert, "INSERT INTO record (corpus, idx, uri, root, id, ended, line) VALUES (?, ?, ?, ?, ?, ?, ?)"},
		{&a.end, "UPDATE record SET ended = ? WHERE corpus = ? AND idx = ?"},
	} {
		if *p.to, err = a.tx.PrepareContext(a.ctx, p.sql); err != nil {
			return err
		}
	}
	return nil
}

// quiet is the context for single statements. A context that can end costs a
// goroutine a statement; these take microseconds and end with the transaction.
func (a *appender) quiet() context.Context { return context.WithoutCancel(a.ctx) }

// standing returns the last record of a URI, or nil.
func (a *appender) standing(key []byte) (*standing, error) {
	var index, ended sql.NullInt64
	var id, root, line []byte
	err := a.last.QueryRowContext(a.quiet(), a.log.id, key).Scan(&index, &id, &root, &ended, &line)
	if err != nil || !index.Valid {
		return nil, err
	}
	w := standing{index: uint64(index.Int64), ended: uint64(ended.Int64)}
	// A withdrawal lists nothing: it has no root and ends where it stands.
	if w.live = w.ended > w.index; w.live && len(root) != merkle.HashSize || len(id) != merkle.HashSize {
		return nil, fmt.Errorf("%w: record %d of %s has an ID of %d and a root of %d bytes", ErrCorrupt, w.index, a.log.origin, len(id), len(root))
	}
	copy(w.id[:], id)
	copy(w.root[:], root)
	return &w, checkStanding(&w, key, line)
}

// isListed reports whether any record of the document is current.
func (a *appender) isListed(root document.Root) (listed bool, err error) {
	err = a.listed.QueryRowContext(a.quiet(), root[:], a.log.id, openEnd).Scan(&listed)
	return listed, err
}

// add appends a record that next has let through after was.
func (a *appender) add(line []byte, r proof.Record, key []byte, was *standing) error {
	index := a.edge.size
	if index >= MaxSize {
		return fmt.Errorf("%w: log %s is full at %d records", ErrRecord, a.log.origin, index)
	}
	if was != nil && was.live {
		if _, err := a.end.ExecContext(a.quiet(), index, a.log.id, was.index); err != nil {
			return err
		}
		still, err := a.isListed(was.root)
		if err != nil {
			return err
		}
		if !still {
			a.log.stagedDoc--
		}
	}
	root, ended := []byte{}, int64(index) // of a withdrawal
	if r.Op != proof.OpWithdraw {
		root, ended = r.Header.Root[:], openEnd
		already, err := a.isListed(r.Header.Root)
		if err != nil {
			return err
		}
		if !already {
			a.log.stagedDoc++
		}
	}
	if _, err := a.insert.ExecContext(a.quiet(), a.log.id, index, key, root, r.ID[:], ended, line); err != nil {
		return err
	}
	a.edge.append(merkle.LeafHash(line))
	return nil
}

// flush writes the tiles that changed and where the staged end is now.
func (a *appender) flush() error {
	for _, t := range a.edge.take() {
		_, err := a.tx.ExecContext(a.quiet(), `INSERT INTO tile (corpus, level, idx, hashes) VALUES (?, ?, ?, ?)
			ON CONFLICT (corpus, level, idx) DO UPDATE SET hashes = excluded.hashes`,
			a.log.id, t.level, int64(t.index), t.bytes())
		if err != nil {
			return err
		}
	}
	a.log.staged = a.edge.size
	_, err := a.tx.ExecContext(a.quiet(), "UPDATE corpus SET staged = ?, staged_documents = ? WHERE id = ?",
		a.log.staged, a.log.stagedDoc, a.log.id)
	return err
}

// commit makes note, which signs head, the head of the log: everything staged
// becomes visible with the transaction. A head remembered up to there is met, and
// what a rescue has kept for it is of no use any more.
func (a *appender) commit(head proof.Checkpoint, note []byte) error {
	latest, _, err := a.log.latest()
	if err != nil {
		return err
	}
	seen := a.log.seen
	if latest.Size <= head.Size && seen != nil {
		seen = nil
		if _, err := a.tx.ExecContext(a.quiet(), "DELETE FROM salvaged WHERE corpus = ?", a.log.id); err != nil {
			return err
		}
	}
	_, err = a.tx.ExecContext(a.quiet(), `UPDATE corpus SET size = staged, root = ?, note = ?, documents = staged_documents, seen = ?,
			statement = coalesce((SELECT r.statement FROM rotation r WHERE r.corpus = corpus.id AND r.pending = 1 ORDER BY seq DESC LIMIT 1), statement)
		WHERE id = ? AND staged = ?`, head.Root[:], note, seen, a.log.id, head.Size)
	if err != nil {
		return err
	}
	_, err = a.tx.ExecContext(a.quiet(), "UPDATE rotation SET pending = 0, statement = NULL WHERE corpus = ? AND pending = 1", a.log.id)
	return err
}
