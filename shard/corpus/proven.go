package corpus

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arborist/merkle"
	"arborist/proof"
)

// SignedHead is [Store.Note] with what it signs, for whoever writes it where it
// stays. It fails with [ErrCorrupt] where no key of the log has signed it, or it is
// not of the records that are stored.
func (s *Store) SignedHead(ctx context.Context, origin string) (head proof.Checkpoint, note []byte, err error) {
	err = s.withLog(ctx, origin, func(_ *sql.Tx, l *log) error {
		if note = l.note; note == nil {
			return fmt.Errorf("%w: it has no head yet", ErrNotFound)
		}
		if head, err = l.open(note); err != nil || head != l.head {
			return fmt.Errorf("%w: %w", ErrCorrupt, cmp.Or(err, errors.New("its note is not of the records that are stored")))
		}
		return nil
	})
	if err != nil {
		return head, nil, fmt.Errorf("read head of corpus %.200q: %w", origin, err)
	}
	return head, note, nil
}

// ProvenTile is [Store.Tile] for whoever writes it where it stays: a hash that a disk
// has changed would be there for good. It fails with [ErrCorrupt] where the tile does
// not lead to the root of the log or, above level 0, is not what those below it give.
func (s *Store) ProvenTile(ctx context.Context, origin string, level uint8, index uint64, width int) (b []byte, err error) {
	err = s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		if err := checkWidth(level, index, width, l.head.Size); err != nil {
			return err
		}
		hashes, err := newTiles(ctx, tx, l.id, l.head.Size).proven(level, index, l.head.Root)
		if err == nil {
			b = tile{hashes: hashes[:width]}.bytes()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read tile %d/%d of corpus %.200q: %w", level, index, origin, err)
	}
	return b, nil
}

// proven returns the hashes of a tile, which is not empty.
func (t *tiles) proven(level uint8, index uint64, root merkle.Hash) ([]merkle.Hash, error) {
	if level == 0 {
		return t.provenLeaves(index, root)
	}
	hashes, err := t.tile(level, index)
	if err != nil {
		return nil, err
	}
	for i, h := range hashes {
		below, err := t.tile(level-1, index*tileWidth+uint64(i))
		if err != nil {
			return nil, err
		}
		if merkle.Root(below) != h {
			return nil, fmt.Errorf("%w: tile %d/%d has another hash than the tile below it", ErrCorrupt, level, index)
		}
	}
	return hashes, nil
}

// ProvenEntries is [Store.Entries] for whoever writes them where they stay. It fails
// with [ErrCorrupt] where one is not the record that the tree of the log has there.
func (s *Store) ProvenEntries(ctx context.Context, origin string, index uint64, width int) (b []byte, err error) {
	err = s.withLog(ctx, origin, func(tx *sql.Tx, l *log) error {
		if err := checkWidth(0, index, width, l.head.Size); err != nil {
			return err
		}
		leaves, err := newTiles(ctx, tx, l.id, l.head.Size).provenLeaves(index, l.head.Root)
		if err != nil {
			return err
		}
		first := index * tileWidth
		b, err = entries(ctx, tx, l, index, width, func(at uint64, line []byte) error {
			if leaves[at-first] != merkle.LeafHash(line) {
				return fmt.Errorf("%w: record %d is not the one in its tree", ErrCorrupt, at)
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read entries %d of corpus %.200q: %w", index, origin, err)
	}
	return b, nil
}
