package corpus

import (
	"context"
	"database/sql"

	"arborist/document"
	"arborist/merkle"
)

// discardStep is how many staged records one transaction takes back, so that
// throwing away a long tail neither holds the writer nor fills the write-ahead
// log.
const discardStep = 1024

// discard takes back every staged record of a log: the exact inverse of
// adding them, in steps that each leave the log whole.
func (s *Store) discard(ctx context.Context, origin string) error {
	for {
		more := false
		err := s.update(ctx, func(tx *sql.Tx) error {
			l, err := findLog(ctx, tx, origin)
			if err != nil {
				return err
			}
			to := max(l.head.Size, l.staged-min(l.staged, discardStep))
			more = to > l.head.Size
			return takeBack(ctx, tx, l, to)
		})
		if err != nil || !more {
			return err
		}
	}
}

// takeBack removes the staged records from to on.
func takeBack(ctx context.Context, tx *sql.Tx, l *log, to uint64) error {
	if l.staged == to {
		return nil
	}
	a := &appender{ctx: ctx, tx: tx, log: l}
	if err := a.prepare(); err != nil {
		return err
	}
	for index := l.staged; index > to; index-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.remove(index - 1); err != nil {
			return err
		}
	}
	if err := cutTiles(ctx, tx, l.id, to); err != nil {
		return err
	}
	l.staged = to
	_, err := tx.ExecContext(ctx, "UPDATE corpus SET staged = ?, staged_documents = ? WHERE id = ?", to, l.stagedDoc, l.id)
	return err
}

// remove takes back the last record and gives its URI back to the one before.
func (a *appender) remove(index uint64) error {
	var key, root []byte
	err := a.tx.QueryRowContext(a.quiet(), "DELETE FROM record WHERE corpus = ? AND idx = ? RETURNING uri, root",
		a.log.id, index).Scan(&key, &root)
	if err != nil {
		return err
	}
	if len(root) == merkle.HashSize {
		still, err := a.isListed(document.Root(root))
		if err != nil {
			return err
		}
		if !still {
			a.log.stagedDoc--
		}
	}
	was, err := a.standing(key)
	if err != nil || was == nil || was.ended != index {
		return err
	}
	already, err := a.isListed(was.root)
	if err != nil {
		return err
	}
	if !already {
		a.log.stagedDoc++
	}
	_, err = a.end.ExecContext(a.quiet(), openEnd, a.log.id, was.index)
	return err
}

// cutTiles cuts the tiles of a log back to a tree of size records.
func cutTiles(ctx context.Context, tx *sql.Tx, corpus int64, size uint64) error {
	for level := uint8(0); level <= maxTileLevel; level++ {
		hashes := size >> (tileHeight * level)
		last, width := hashes/tileWidth, int(hashes%tileWidth)
		if width > 0 {
			_, err := tx.ExecContext(ctx, "UPDATE tile SET hashes = substr(hashes, 1, ?) WHERE corpus = ? AND level = ? AND idx = ?",
				width*merkle.HashSize, corpus, level, int64(last))
			if err != nil {
				return err
			}
			last++
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM tile WHERE corpus = ? AND level = ? AND idx >= ?", corpus, level, int64(last)); err != nil {
			return err
		}
	}
	return nil
}
