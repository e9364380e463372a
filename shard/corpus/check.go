package corpus

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arborist/document"
	"arborist/merkle"
	"arborist/proof"
	"arborist/shard/internal/pages"
)

// maxProblems is how many problems of one corpus are reported one by one.
const maxProblems = 20

// Check verifies the whole file from scratch, with no use of what was derived
// before: that each log's lines are records that may stand where they stand,
// that they hash to the stored tiles and to the root that the pinned key has
// signed, that what is current follows from replaying them, and that the
// evidence proves what it is kept for. Report is called for each problem. It
// returns the number of records read; an error means that the check itself
// could not be finished. Memory is constant in the length of a log.
func (s *Store) Check(ctx context.Context, report func(problem string)) (records uint64, err error) {
	err = s.view(ctx, func(tx *sql.Tx) error {
		if err := checkFile(ctx, tx, s.path, report); err != nil {
			return err
		}
		logs, err := allLogs(ctx, tx)
		if err != nil {
			return err
		}
		if err := checkListed(ctx, tx); errors.Is(err, ErrCorrupt) {
			report(fmt.Sprintf("%s: %v", s.path, err))
		} else if err != nil {
			return err
		}
		for _, l := range logs {
			c := &checker{ctx: ctx, tx: tx, log: l, report: report, edge: &edge{}}
			if err := c.check(); err != nil {
				return fmt.Errorf("corpus %s: %w", l.origin, err)
			}
			if c.problems > maxProblems {
				report(fmt.Sprintf("corpus %s: %d more problems", l.origin, c.problems-maxProblems))
			}
			records += c.edge.size
		}
		return nil
	})
	if err != nil {
		return records, fmt.Errorf("check corpora: %w", err)
	}
	return records, nil
}

// checkFile reports what SQLite itself finds wrong with the file.
func checkFile(ctx context.Context, tx *sql.Tx, path string, report func(string)) error {
	rows, err := tx.QueryContext(ctx, fmt.Sprintf("PRAGMA integrity_check(%d)", maxProblems))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		if line != "ok" {
			report(path + ": " + line)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := classify(pages.ReadIndexes(ctx, tx)); errors.Is(err, ErrCorrupt) {
		report(fmt.Sprintf("%s: %v", path, err))
	} else if err != nil {
		return err
	}
	return nil
}

// A checker replays one log.
type checker struct {
	ctx      context.Context
	tx       *sql.Tx
	log      *log
	report   func(string)
	problems int

	edge  *edge  // the tree as the lines give it
	tiles uint64 // met so far
	ended uint64 // records that have ended so far
	last  *sql.Stmt
}

func (c *checker) fail(format string, args ...any) {
	if c.problems++; c.problems <= maxProblems {
		c.report(fmt.Sprintf("corpus %s: %s", c.log.origin, fmt.Sprintf(format, args...)))
	}
}

func (c *checker) check() error {
	if err := c.checkHeads(); err != nil {
		return err
	}
	if err := c.replay(); err != nil {
		return err
	}
	if err := c.checkTiles(c.edge.take()); err != nil {
		return err
	}
	if err := c.checkFilter(); err != nil {
		return err
	}
	return c.checkCounts()
}

// checkHeads checks every note against the keys of the log.
func (c *checker) checkHeads() error {
	l := c.log
	v, err := proof.ParseVerifier(l.key)
	if err != nil || v.Name() != l.origin {
		c.fail("its key %q is not a key of this corpus", l.key)
		return nil
	}
	if err := l.checkName(); err != nil {
		c.fail("%v", err)
	}
	if l.note != nil || l.head.Size > 0 {
		if head, err := l.open(l.note); err != nil {
			c.fail("its head: %v", err)
		} else if head != l.head {
			c.fail("its head signs size %d and root %x, stored are %d and %x", head.Size, head.Root, l.head.Size, l.head.Root)
		}
	}
	if l.seen != nil {
		if seen, err := l.open(l.seen); err != nil {
			c.fail("its remembered head: %v", err)
		} else if seen.Size <= l.head.Size {
			c.fail("its remembered head, at size %d, is not above its head", seen.Size)
		}
	}
	if err := c.checkRotations(); err != nil {
		return err
	}
	if err := checkCosigned(c.ctx, c.tx, l); errors.Is(err, ErrCorrupt) {
		c.fail("as its witness: %v", err)
	} else if err != nil {
		return err
	}
	if l.frozen != 0 && l.frozen != rotationFork {
		e, err := readEvidence(c.ctx, c.tx, l, l.frozen)
		switch {
		case err != nil:
			return err
		case len(e) == 0 || e[0].Kind == proof.Rollback:
			c.fail("it is frozen by evidence %d, which is not there", l.frozen)
		default:
			if err := verifyEvidence(c.ctx, c.tx, l, e[0].Evidence); err != nil {
				c.fail("evidence %d: %v", l.frozen, err)
			}
		}
	}
	return nil
}

// replay reads every line, staged ones too, and checks its row, its place and
// the end that it puts to another.
func (c *checker) replay() (err error) {
	c.last, err = c.tx.PrepareContext(c.ctx,
		"SELECT idx, id, root, ended FROM record INDEXED BY record_uri WHERE corpus = ? AND uri = ? AND idx < ? ORDER BY idx DESC LIMIT 1")
	if err != nil {
		return err
	}
	rows, err := c.tx.QueryContext(c.ctx, "SELECT idx, uri, root, id, ended, line FROM record WHERE corpus = ? ORDER BY idx", c.log.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var index, ended uint64
		var key, root, id, line sql.RawBytes
		if err := rows.Scan(&index, &key, &root, &id, &ended, &line); err != nil {
			return fmt.Errorf("%w: after record %d: %w", ErrCorrupt, c.edge.size, err) // a number that is none of ours
		}
		if index != c.edge.size {
			c.fail("record %d is missing", c.edge.size)
			return nil // what follows has no place to be checked against
		}
		if err := c.checkRecord(index, ended, key, root, id, line); err != nil {
			return err
		}
		c.edge.append(merkle.LeafHash(line))
		full := c.edge.full
		c.edge.full = nil
		if err := c.checkTiles(full); err != nil {
			return err
		}
		if c.edge.size == c.log.head.Size {
			if root, err := c.edge.root(); err != nil || root != c.log.head.Root {
				c.fail("its %d records give root %x, its head has %x", c.edge.size, root, c.log.head.Root)
			}
		}
	}
	if c.edge.size != c.log.staged || c.edge.size < c.log.head.Size {
		c.fail("%d records stored, %d staged, %d under the head", c.edge.size, c.log.staged, c.log.head.Size)
	}
	return rows.Err()
}

func (c *checker) checkRecord(index, ended uint64, key, root, id, line []byte) error {
	r, err := proof.ParseRecord(line)
	if err != nil {
		c.fail("record %d: %v", index, err)
		return nil
	}
	wantRoot := r.Header.Root[:]
	if r.Op == proof.OpWithdraw {
		wantRoot = nil
		c.ended++
		if ended != index {
			c.fail("record %d withdraws and is marked to end at %d", index, ended)
		}
	} else if ended <= index {
		c.fail("record %d is marked to end at %d", index, ended)
	}
	if !bytes.Equal(key, uriKey(r.URI)) || !bytes.Equal(root, wantRoot) || !bytes.Equal(id, r.ID[:]) {
		c.fail("record %d: its row names another document or URI than its line", index)
	}
	was, err := c.standingBefore(index, uriKey(r.URI))
	if err != nil {
		return err
	}
	if was != nil && was.live {
		c.ended++
		if was.ended != index {
			c.fail("record %d ends record %d, which is marked to end at %d", index, was.index, was.ended)
		}
	}
	if want, changes := next(r, was); !changes || want.Op != r.Op || want.Supersedes != r.Supersedes {
		c.fail("record %d: %s of %s at %.200q may not stand there", index, r.Op, r.ID, r.URI)
	}
	return nil
}

// standingBefore returns what stood at a URI before index. Whether it was live
// follows from what it is, not from the mark that is being checked.
func (c *checker) standingBefore(index uint64, key []byte) (*standing, error) {
	var w standing
	var id, root []byte
	err := c.last.QueryRowContext(context.WithoutCancel(c.ctx), c.log.id, key, index).Scan(&w.index, &id, &root, &w.ended)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	copy(w.id[:], id)
	copy(w.root[:], root)
	w.live = w.root != document.Root{}
	return &w, err
}

func (c *checker) checkTiles(want []tile) error {
	for _, t := range want {
		c.tiles++
		var got []byte
		err := c.tx.QueryRowContext(c.ctx, "SELECT hashes FROM tile WHERE corpus = ? AND level = ? AND idx = ?",
			c.log.id, t.level, int64(t.index)).Scan(&got)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if !bytes.Equal(got, t.bytes()) {
			c.fail("tile %d/%d is not what the records give", t.level, t.index)
		}
	}
	return nil
}

// checkCounts checks what is counted, and that nothing is there beyond what
// the replay has met.
func (c *checker) checkCounts() error {
	for _, n := range []struct {
		what string
		want uint64
		sql  string
		args []any
	}{
		{"tiles", c.tiles, "SELECT count(*) FROM tile WHERE corpus = ?", []any{c.log.id}},
		{"ended records", c.ended, "SELECT count(*) FROM record WHERE corpus = ? AND ended < ?", []any{c.log.id, openEnd}},
		{"current documents", c.log.documents, "SELECT count(DISTINCT root) FROM record WHERE corpus = ? AND idx < ?2 AND ended >= ?2",
			[]any{c.log.id, c.log.head.Size}},
		{"staged current documents", c.log.stagedDoc, "SELECT count(DISTINCT root) FROM record WHERE corpus = ? AND ended = ?",
			[]any{c.log.id, openEnd}},
	} {
		var got uint64
		if err := c.tx.QueryRowContext(c.ctx, n.sql, n.args...).Scan(&got); err != nil {
			return err
		}
		if got != n.want {
			c.fail("%d %s stored, %d expected", got, n.what, n.want)
		}
	}
	return nil
}
