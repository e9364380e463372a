package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arborist/document"
	"arborist/document/filter"
	"arborist/merkle"
	"arborist/proof"
)

// filterTable has the newest filter of each corpus that has one.
const filterTable = `CREATE TABLE filter (
		corpus INTEGER PRIMARY KEY,
		note   BLOB NOT NULL,
		bytes  BLOB NOT NULL
	) STRICT`

// MakeFilter builds the filter of an own corpus at its head and signs it: of the
// roots that its records list, current or past, since those are what it can be
// asked for. It reads the whole log, so it is meant for the end of a job, not for
// each append; where the filter is that of the head, nothing is done.
//
// It fails with [ErrNotFound], [ErrNotOwn], [ErrKey], [ErrFrozen], [ErrBehind] or
// [filter.ErrTooMany]. The filter that was there stays then: it is right for the
// records that it was made of.
func (s *Store) MakeFilter(ctx context.Context, origin string, signer *proof.Signer) error {
	head, bytes, err := s.buildFilter(ctx, origin, signer)
	if err == nil && bytes != nil {
		err = s.signFilter(ctx, proof.FilterHead{Head: head, Sum: proof.SumFilter(bytes)}, bytes, signer)
	}
	if err != nil {
		return fmt.Errorf("make filter of corpus %.200q: %w", origin, err)
	}
	return nil
}

// buildFilter returns the filter of the head, nil where there is nothing to do.
func (s *Store) buildFilter(ctx context.Context, origin string, signer *proof.Signer) (head proof.Checkpoint, bytes []byte, err error) {
	err = s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		if err := mayAppend(l, signer); err != nil || l.note == nil {
			return err
		}
		if made, _, err := readFilter(ctx, tx, l); err == nil && made.Head == l.head {
			return nil
		}
		var b filter.Builder
		if err := eachRoot(ctx, tx, l, l.head.Size, func(root document.Root) error { b.Add(root); return nil }); err != nil {
			return err
		}
		f, err := b.Filter()
		if err != nil {
			return err
		}
		head, bytes = l.head, f.Bytes()
		return nil
	})
	return head, bytes, err
}

func (s *Store) signFilter(ctx context.Context, made proof.FilterHead, bytes []byte, signer *proof.Signer) error {
	note, err := proof.SignFilter(made, signer)
	if err != nil {
		return err
	}
	return s.update(ctx, func(tx *sql.Tx) error {
		l, err := findLog(ctx, tx, made.Head.Origin)
		if err == nil {
			err = mayAppend(l, signer) // still, since the log was read
		}
		if err != nil {
			return err
		}
		return putFilter(ctx, tx, l, note, bytes)
	})
}

func putFilter(ctx context.Context, tx *sql.Tx, l *log, note, bytes []byte) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO filter (corpus, note, bytes) VALUES (?, ?, ?)
		ON CONFLICT (corpus) DO UPDATE SET note = excluded.note, bytes = excluded.bytes`, l.id, note, bytes)
	return err
}

// KeepFilter keeps the filter of a followed corpus, to be handed on: note and
// bytes as the publisher made them. The pinned key must have signed it, for a head
// of this very log, and it must deny no root that the records up to there list.
// One that is older than what is kept changes nothing.
//
// It fails with [ErrNotFound], [ErrOwn], with [ErrMismatch] where the filter is
// not that of the log, with [filter.ErrFormat], and like [proof.OpenFilter].
func (s *Store) KeepFilter(ctx context.Context, origin string, note, bytes []byte) error {
	err := s.update(ctx, func(tx *sql.Tx) error {
		l, err := findLog(ctx, tx, origin)
		if err != nil {
			return err
		}
		if l.own {
			return ErrOwn
		}
		given, err := openFilter(l, note)
		if err != nil {
			return err
		}
		if kept, _, err := readFilter(ctx, tx, l); err == nil && kept.Head.Size >= given.Head.Size {
			return nil
		}
		if err := checkFilter(ctx, tx, l, given, bytes); err != nil {
			return err
		}
		return putFilter(ctx, tx, l, note, bytes)
	})
	if err != nil {
		return fmt.Errorf("keep filter of corpus %.200q: %w", origin, err)
	}
	return nil
}

// Filter returns the signed note about the filter of a corpus, verbatim, and what
// it says. It fails with [ErrNotFound] where there is none by the pinned key.
func (s *Store) Filter(ctx context.Context, origin string) (head proof.FilterHead, note []byte, err error) {
	err = s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		head, note, err = readFilter(ctx, tx, l)
		return err
	})
	if err != nil {
		return head, nil, fmt.Errorf("read filter of corpus %.200q: %w", origin, err)
	}
	return head, note, nil
}

// FilterBytes returns the filter of a corpus that has this sum. It fails with
// [ErrNotFound] where that is not the one that [Store.Filter] tells of.
func (s *Store) FilterBytes(ctx context.Context, origin string, sum merkle.Hash) (bytes []byte, err error) {
	err = s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		head, _, err := readFilter(ctx, tx, l)
		if err == nil && head.Sum != sum {
			err = fmt.Errorf("%w: no filter of that sum", ErrNotFound)
		}
		if err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, "SELECT bytes FROM filter WHERE corpus = ?", l.id).Scan(&bytes)
	})
	if err != nil {
		return nil, fmt.Errorf("read filter of corpus %.200q: %w", origin, err)
	}
	return bytes, nil
}

// readFilter returns the note of a log's filter. One that a replaced key has
// signed is none any more: who asks for it may know the new key alone.
func readFilter(ctx context.Context, tx *sql.Tx, l *log) (head proof.FilterHead, note []byte, err error) {
	err = tx.QueryRowContext(ctx, "SELECT note FROM filter WHERE corpus = ?", l.id).Scan(&note)
	if errors.Is(err, sql.ErrNoRows) {
		return head, nil, fmt.Errorf("%w: it has no filter", ErrNotFound)
	}
	if err != nil {
		return head, nil, err
	}
	if head, err = openFilter(l, note); errors.Is(err, proof.ErrUnknownKey) {
		err = fmt.Errorf("%w: its filter is by a key that it has replaced", ErrNotFound)
	}
	return head, note, err
}

func openFilter(l *log, note []byte) (proof.FilterHead, error) {
	v, err := proof.ParseVerifier(l.key)
	if err != nil {
		return proof.FilterHead{}, fmt.Errorf("%w: key of %s: %w", ErrCorrupt, l.origin, err)
	}
	return proof.OpenFilter(note, v)
}

// checkFilter compares a filter with the log.
func checkFilter(ctx context.Context, tx *sql.Tx, l *log, head proof.FilterHead, bytes []byte) error {
	if head.Sum != proof.SumFilter(bytes) {
		return fmt.Errorf("%w: the filter is not the one that is signed", ErrMismatch)
	}
	f, err := filter.Parse(bytes)
	if err != nil {
		return err
	}
	if head.Head.Size > l.head.Size {
		return fmt.Errorf("%w: the filter is of %d records, here are %d", ErrMismatch, head.Head.Size, l.head.Size)
	}
	root, err := merkle.RootAt(newTiles(ctx, tx, l.id, l.head.Size), head.Head.Size)
	if err != nil {
		return err
	}
	if root != head.Head.Root {
		return fmt.Errorf("%w: the filter is of another history", ErrMismatch)
	}
	return eachRoot(ctx, tx, l, head.Head.Size, func(root document.Root) error {
		if !f.MayHold(root) {
			return fmt.Errorf("%w: the filter denies %s", ErrMismatch, root)
		}
		return nil
	})
}

// eachRoot gives fn every root that the first size records list, some of them more
// than once.
func eachRoot(ctx context.Context, tx *sql.Tx, l *log, size uint64, fn func(document.Root) error) error {
	rows, err := tx.QueryContext(ctx, "SELECT root FROM record INDEXED BY record_root WHERE root > x'' AND corpus = ? AND idx < ?", l.id, int64(size))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var root sql.RawBytes
		if err := rows.Scan(&root); err != nil {
			return err
		}
		if len(root) != merkle.HashSize {
			return fmt.Errorf("%w: a root of %s has %d bytes", ErrCorrupt, l.origin, len(root))
		}
		if err := fn(document.Root(root)); err != nil {
			return err
		}
	}
	return rows.Err()
}

// checkFilter reports a filter that is not that of the log.
func (c *checker) checkFilter() error {
	if err := checkStoredFilter(c.ctx, c.tx, c.log); err != nil && c.ctx.Err() == nil {
		c.fail("its filter: %v", err)
	}
	return c.ctx.Err()
}

// checkStoredFilter compares the filter that is stored, if any is, with the log.
func checkStoredFilter(ctx context.Context, tx *sql.Tx, l *log) error {
	head, _, err := readFilter(ctx, tx, l)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	var bytes []byte
	if err == nil {
		err = tx.QueryRowContext(ctx, "SELECT bytes FROM filter WHERE corpus = ?", l.id).Scan(&bytes)
	}
	if err == nil {
		err = checkFilter(ctx, tx, l, head, bytes)
	}
	return err
}
