package corpus

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"

	"arborist/document"
	"arborist/merkle"
	"arborist/proof"
)

// MaxRecords is the largest number of records that one call returns.
const MaxRecords = 1 << 16

// usualLine is what most records take in an entry bundle, in bytes.
const usualLine = 512

// An Entry is a record with its place in the log.
type Entry struct {
	Index  uint64
	Record proof.Record
}

// withLog runs fn on a snapshot of one log.
func (s *Store) withLog(ctx context.Context, origin string, fn func(*sql.Tx, *log) error) error {
	return s.view(ctx, func(tx *sql.Tx) error {
		l, err := findLog(ctx, tx, origin)
		if err != nil {
			return err
		}
		return fn(tx, l)
	})
}

// Note returns the signed head of the stored log, verbatim. It fails with
// [ErrNotFound] while there is none.
func (s *Store) Note(ctx context.Context, origin string) (note []byte, err error) {
	err = s.withLog(ctx, origin, func(_ *sql.Tx, l *log) error {
		if note = l.note; note == nil {
			return fmt.Errorf("%w: it has no head yet", ErrNotFound)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read head of corpus %.200q: %w", origin, err)
	}
	return note, nil
}

// Head returns the greatest head known of a corpus, verified, and its note: that
// of the stored log or one that [Store.RememberHead] has put above it. It fails
// with [ErrNotFound] while there is none.
func (s *Store) Head(ctx context.Context, origin string) (head proof.Checkpoint, note []byte, err error) {
	err = s.withLog(ctx, origin, func(_ *sql.Tx, l *log) error {
		head, note, err = l.latest()
		if err == nil && note == nil {
			err = fmt.Errorf("%w: it has no head yet", ErrNotFound)
		}
		return err
	})
	if err != nil {
		return head, nil, fmt.Errorf("read head of corpus %.200q: %w", origin, err)
	}
	return head, note, nil
}

// Tile returns a tile of the tree in C2SP tlog-tiles form: width hashes of 32
// bytes. Any width is served up to the one that the tile has under the signed
// head, so that a client that holds an earlier head finds its partial tiles
// still. It fails with [ErrNotFound] beyond.
func (s *Store) Tile(ctx context.Context, origin string, level uint8, index uint64, width int) (b []byte, err error) {
	err = s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		if err := checkWidth(level, index, width, l.head.Size); err != nil {
			return err
		}
		hashes, err := newTiles(ctx, tx, l.id, l.head.Size).tile(level, index)
		if err != nil {
			return err
		}
		b = tile{hashes: hashes[:width]}.bytes()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read tile %d/%d of corpus %.200q: %w", level, index, origin, err)
	}
	return b, nil
}

func checkWidth(level uint8, index uint64, width int, size uint64) error {
	if have := widthAt(level, index, size); width < 1 || width > have {
		return fmt.Errorf("%w: width %d, at size %d it has %d", ErrNotFound, width, size, have)
	}
	return nil
}

// Entries returns an entry bundle in C2SP tlog-tiles form: records index*256 to
// index*256+width, each a 16-bit big-endian length and the record's line. The
// widths served are those of [Store.Tile] at level 0.
func (s *Store) Entries(ctx context.Context, origin string, index uint64, width int) (b []byte, err error) {
	err = s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		if err := checkWidth(0, index, width, l.head.Size); err != nil {
			return err
		}
		b, err = entries(ctx, tx, l, index, width, func(uint64, []byte) error { return nil })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read entries %d of corpus %.200q: %w", index, origin, err)
	}
	return b, nil
}

// entries returns an entry bundle, of whose lines check has the say.
func entries(ctx context.Context, tx *sql.Tx, l *log, index uint64, width int, check func(index uint64, line []byte) error) ([]byte, error) {
	b := make([]byte, 0, width*usualLine)
	first := index * tileWidth
	err := eachLine(ctx, tx, l, first, first+uint64(width), func(at uint64, line []byte) error {
		b = binary.BigEndian.AppendUint16(b, uint16(len(line)))
		b = append(b, line...)
		return check(at, line)
	})
	return b, err
}

// Records returns the records from index from up to, not including, index to,
// at most [MaxRecords]. It fails with [ErrNotFound] where the signed head does
// not reach to.
func (s *Store) Records(ctx context.Context, origin string, from, to uint64) (recs []proof.Record, err error) {
	err = s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		if from > to || to-from > MaxRecords {
			return fmt.Errorf("%w: asked for %d to %d, at most %d at once", ErrNotFound, from, to, MaxRecords)
		}
		if to > l.head.Size {
			return fmt.Errorf("%w: asked up to %d of %d records", ErrNotFound, to, l.head.Size)
		}
		recs = make([]proof.Record, 0, to-from)
		return eachLine(ctx, tx, l, from, to, func(index uint64, line []byte) error {
			r, err := readRecord(index, line)
			recs = append(recs, r)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read records of corpus %.200q: %w", origin, err)
	}
	return recs, nil
}

func readRecord(index uint64, line []byte) (proof.Record, error) {
	r, err := proof.ParseRecord(line)
	if err != nil {
		return r, fmt.Errorf("%w: record %d: %w", ErrCorrupt, index, err)
	}
	return r, nil
}

// eachLine gives fn every stored line of [from, to); the slice is valid until
// fn returns. A gap is damage.
func eachLine(ctx context.Context, tx *sql.Tx, l *log, from, to uint64, fn func(index uint64, line []byte) error) error {
	rows, err := tx.QueryContext(ctx, "SELECT idx, line FROM record WHERE corpus = ? AND idx >= ? AND idx < ? ORDER BY idx",
		l.id, int64(from), int64(to))
	if err != nil {
		return err
	}
	defer rows.Close()
	want := from
	for rows.Next() {
		var index uint64
		var line sql.RawBytes
		if err := rows.Scan(&index, &line); err != nil {
			return err
		}
		if index != want {
			break
		}
		if err := fn(index, line); err != nil {
			return err
		}
		want++
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if want != to {
		return fmt.Errorf("%w: record %d is missing", ErrCorrupt, want)
	}
	return nil
}

// History returns the records of a URI in one corpus, newest first, at most
// limit. None is not an error.
func (s *Store) History(ctx context.Context, origin, uri string, limit int) (entries []Entry, err error) {
	err = s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		rows, err := tx.QueryContext(ctx, "SELECT idx, line FROM record INDEXED BY record_uri WHERE corpus = ? AND uri = ? AND idx < ? ORDER BY idx DESC LIMIT ?",
			l.id, uriKey(uri), l.head.Size, max(limit, 0))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var e Entry
			var line sql.RawBytes
			if err := rows.Scan(&e.Index, &line); err != nil {
				return err
			}
			if e.Record, err = readRecord(e.Index, line); err != nil {
				return err
			}
			entries = append(entries, e)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read history of %.200q in corpus %.200q: %w", uri, origin, err)
	}
	return entries, nil
}

// Listed returns the origins of the corpora that list a document now, and of
// those that have listed it before and list it no longer, both sorted.
func (s *Store) Listed(ctx context.Context, root document.Root) (now, before []string, err error) {
	err = s.view(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT origin, EXISTS
				(SELECT 1 FROM record INDEXED BY record_root WHERE root = ?1 AND corpus = c.id AND ended >= c.size AND idx < c.size)
			FROM corpus AS c WHERE EXISTS
				(SELECT 1 FROM record INDEXED BY record_root WHERE root = ?1 AND corpus = c.id AND idx < c.size) ORDER BY origin`, root[:])
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var origin string
			var current bool
			if err := rows.Scan(&origin, &current); err != nil {
				return err
			}
			if current {
				now = append(now, origin)
			} else {
				before = append(before, origin)
			}
		}
		return rows.Err()
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list corpora of %s: %w", root, err)
	}
	return now, before, nil
}

// RootAt returns the root of the log of the first size records, up to the
// signed head. It fails with [ErrNotFound] beyond.
func (s *Store) RootAt(ctx context.Context, origin string, size uint64) (root merkle.Hash, err error) {
	err = s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		if size > l.head.Size {
			return fmt.Errorf("%w: asked for the root at %d of %d records", ErrNotFound, size, l.head.Size)
		}
		root, err = merkle.RootAt(newTiles(ctx, tx, l.id, l.head.Size), size)
		return err
	})
	if err != nil {
		return root, fmt.Errorf("read root of corpus %.200q: %w", origin, err)
	}
	return root, nil
}

// Consistency returns the proof that the log of the first old records is a
// prefix of that of the first size records (RFC 9162 2.1.4), for 0 < old <= size
// and size up to the signed head. It fails with [ErrNotFound] beyond.
func (s *Store) Consistency(ctx context.Context, origin string, old, size uint64) (path []merkle.Hash, err error) {
	err = s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		if old == 0 || old > size || size > l.head.Size {
			return fmt.Errorf("%w: no such proof in a log of %d records", ErrNotFound, l.head.Size)
		}
		path, err = merkle.Consistency(newTiles(ctx, tx, l.id, size), old, size)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("prove consistency of corpus %.200q from %d to %d: %w", origin, old, size, err)
	}
	return path, nil
}
