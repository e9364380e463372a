package corpus

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"iter"

	"arborist/proof"
)

// salvagedTable holds lines of own logs that a [Rescue] has read and that no head
// covers, because others in front of them are lost: followers may not have them.
// Nothing shows them, and nothing of them is proven, before a sync has brought what
// was lost and they hash to the last head that the log's key has signed.
const salvagedTable = `CREATE TABLE salvaged (
		corpus INTEGER NOT NULL,
		idx    INTEGER NOT NULL,
		line   BLOB NOT NULL,
		PRIMARY KEY (corpus, idx)
	) STRICT, WITHOUT ROWID`

// salvageStep is how many lines are read, or written, in one transaction.
const salvageStep = 1024

// fill brings an own log that a sync has brought nearer to the last head of its key
// up to that, by lines that a rescue has kept. It returns head, or that one. What is
// kept may not reach so far, or be what damage has made of it: then the log stays
// as it is, and waits for others. Whoever calls it holds the log.
func (s *Store) fill(ctx context.Context, origin string, head proof.Checkpoint) (proof.Checkpoint, error) {
	var seen []byte
	err := s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		if !l.own || l.seen == nil {
			return nil
		}
		var some bool
		err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM salvaged WHERE corpus = ? AND idx = ?)", l.id, l.staged).Scan(&some)
		if some {
			seen = l.seen
		}
		return err
	})
	if err != nil || seen == nil {
		return head, err
	}
	last, err := s.extend(ctx, origin, seen, func(from uint64) iter.Seq2[[]byte, error] { return s.salvaged(ctx, origin, from) })
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, ErrMismatch), errors.Is(err, ErrRecord):
		return head, nil
	case err != nil:
		return head, err
	}
	return last, nil
}

// salvaged yields the lines that are kept of a log, from an index on up to the
// first that is not there.
func (s *Store) salvaged(ctx context.Context, origin string, from uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			var lines [][]byte
			err := s.withLog(ctx, origin, func(tx *sql.Tx, l *log) (err error) {
				lines, err = readSalvaged(ctx, tx, l, from)
				return err
			})
			for _, line := range lines {
				if !yield(line, nil) {
					return
				}
			}
			if from += uint64(len(lines)); err != nil {
				yield(nil, err)
			}
			if err != nil || len(lines) == 0 {
				return
			}
		}
	}
}

// readSalvaged returns lines that follow each other, from an index on.
func readSalvaged(ctx context.Context, tx *sql.Tx, l *log, from uint64) (lines [][]byte, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT idx, line FROM salvaged WHERE corpus = ? AND idx >= ? ORDER BY idx LIMIT ?", l.id, int64(from), salvageStep)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var index uint64
		var line []byte
		if err := rows.Scan(&index, &line); err != nil {
			return nil, err
		}
		if index != from+uint64(len(lines)) {
			break
		}
		lines = append(lines, line)
	}
	return lines, rows.Err()
}
