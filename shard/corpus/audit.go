package corpus

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"

	"arborist/merkle"
)

// A record that does not follow from the log as it was would be signed for good,
// and no follower would take the log any more. So before the first record is added
// to a log after its file was opened, what that rests on is looked at. [Store.Check]
// looks at all of it; this is what can be afforded each time: of the file, it reads
// the index of URIs and the last records, which are all of most logs.

// auditTiles is how many tiles of records are read, at least.
const auditTiles = 256

// audit is [auditLog] once for each log, until the file is opened again.
func (s *Store) audit(ctx context.Context, tx *sql.Tx, l *log) error {
	s.mu.Lock()
	done := s.audited[l.id]
	s.mu.Unlock()
	if done {
		return nil
	}
	if err := auditLog(ctx, tx, l); err != nil {
		return err
	}
	s.mu.Lock()
	s.audited[l.id] = true
	s.mu.Unlock()
	return nil
}

// edge loads the border of the tree of all that is stored. Where that belongs to a
// signed head it has to hash to it.
func (l *log) edge(ctx context.Context, tx *sql.Tx) (*edge, error) {
	e, err := loadEdge(newTiles(ctx, tx, l.id, l.staged))
	if err != nil {
		return nil, err
	}
	root, err := e.root()
	if err != nil {
		return nil, err
	}
	if l.staged == l.head.Size && root != l.head.Root {
		return nil, fmt.Errorf("%w: tiles of %s do not give the root of its head at size %d", ErrCorrupt, l.origin, l.staged)
	}
	return e, nil
}

// auditLog fails with [ErrCorrupt] where the head of a log is not what its note
// signs or its tiles do not lead to it, where its index of URIs lacks records or has others (a page of it that was
// lost, or is an older one), or where the last records, tens of thousands, are not those of the tree.
func auditLog(ctx context.Context, tx *sql.Tx, l *log) error {
	if l.note != nil || l.head.Size > 0 {
		if head, err := l.open(l.note); err != nil || head != l.head {
			return fmt.Errorf("%w: the head of %s is not the one that its key has signed", ErrCorrupt, l.origin)
		}
	}
	var n, sum uint64
	err := tx.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(idx), 0) FROM record INDEXED BY record_uri WHERE corpus = ?", l.id).Scan(&n, &sum)
	if err != nil {
		return err
	}
	if n != l.staged || sum != n*(n-1)/2 {
		return fmt.Errorf("%w: the index of URIs of %s does not have its %d records", ErrCorrupt, l.origin, l.staged)
	}
	e, err := l.edge(ctx, tx)
	if err != nil || l.staged == 0 {
		return err
	}
	root, err := e.root()
	if err != nil {
		return err
	}
	last := l.staged / tileWidth
	first := (last - min(last, auditTiles)) * tileWidth
	var leaves []merkle.Hash
	t := newTiles(ctx, tx, l.id, l.staged)
	return eachLine(ctx, tx, l, first, l.staged, func(index uint64, line []byte) (err error) {
		if index%tileWidth == 0 {
			if leaves, err = t.provenLeaves(index/tileWidth, root); err != nil {
				return err
			}
		}
		if leaves[index%tileWidth] != merkle.LeafHash(line) {
			return fmt.Errorf("%w: record %d of %s is not the one in its tree", ErrCorrupt, index, l.origin)
		}
		return nil
	})
}

// checkStanding compares what the row of a record says with its line.
func checkStanding(w *standing, key, line []byte) error {
	r, err := readRecord(w.index, line)
	if err != nil {
		return err
	}
	if !bytes.Equal(uriKey(r.URI), key) || r.ID != w.id || w.live && r.Header.Root != w.root {
		return fmt.Errorf("%w: the row of record %d names another document or URI than its line", ErrCorrupt, w.index)
	}
	return nil
}
