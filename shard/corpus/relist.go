package corpus

import (
	"context"
	"database/sql"
	"fmt"

	"arborist/merkle"
	"arborist/proof"
)

// A Relister makes records of a log anew from what else is known of its documents,
// and returns the lines of those whose leaf hash is wanted. It need not know all.
type Relister func(ctx context.Context, origin string, wanted map[merkle.Hash]bool) (map[merkle.Hash][]byte, error)

// A leafTrail is what the tiles of a damaged file prove of the records of one log.
type leafTrail struct {
	from   *sql.DB
	corpus int64
	head   proof.Checkpoint

	at     uint64        // index of the first record below the tile that was read last
	hashes []merkle.Hash // of that tile; nil: they do not lead to the head
	found  map[merkle.Hash][]byte
}

// leaf returns the hash of a record, where the tiles prove it.
func (t *leafTrail) leaf(ctx context.Context, index uint64) (h merkle.Hash, proven bool) {
	if t == nil || index >= t.head.Size {
		return h, false
	}
	if first := index &^ (tileWidth - 1); t.at != first || index == 0 {
		t.at, t.hashes = first, t.tile(ctx, first)
	}
	if t.hashes == nil {
		return h, false
	}
	return t.hashes[index-t.at], true
}

// tile reads the tile of a record, nil where it does not lead to the head.
func (t *leafTrail) tile(ctx context.Context, first uint64) []merkle.Hash {
	tx, err := t.from.BeginTx(ctx, nil)
	if err != nil {
		return nil
	}
	defer tx.Rollback()
	hashes, err := newTiles(ctx, tx, t.corpus, t.head.Size).provenLeaves(first/tileWidth, t.head.Root)
	if err != nil {
		return nil
	}
	return hashes
}

// relist looks for the lines that a log has lost, or that are not those of its
// tree. From then on [rescue.line] knows what the tiles prove, and what was found.
func (r *rescue) relist(ctx context.Context, saved savedLog) error {
	head, err := proof.ReadCheckpoint(saved.note)
	if err != nil {
		return nil
	}
	trail := &leafTrail{from: r.from, corpus: saved.id, head: head}
	wanted := make(map[merkle.Hash]bool)
	for index := range head.Size {
		if err := ctx.Err(); err != nil {
			return err
		}
		leaf, proven := trail.leaf(ctx, index)
		if !proven {
			continue
		}
		if line, err := r.stored(ctx, saved.id, index); err != nil || merkle.LeafHash(line) != leaf {
			wanted[leaf] = true
		}
	}
	if r.trail = trail; len(wanted) == 0 || r.relister == nil {
		return nil
	}
	if trail.found, err = r.relister(ctx, saved.origin, wanted); err != nil {
		return fmt.Errorf("make lost records anew: %w", err)
	}
	if n := len(trail.found); n > 0 {
		r.report(fmt.Sprintf("corpus %s: %d records that were lost are made anew from what is stored of their documents, and are those of its tree", saved.origin, n))
	}
	return nil
}

// line returns a record of the log that is being kept: as it is stored, or as it
// was made anew.
func (r *rescue) line(ctx context.Context, corpus int64, index uint64) ([]byte, error) {
	line, err := r.stored(ctx, corpus, index)
	leaf, proven := r.trail.leaf(ctx, index)
	if !proven || err == nil && merkle.LeafHash(line) == leaf {
		return line, err
	}
	if made, ok := r.trail.found[leaf]; ok && merkle.LeafHash(made) == leaf {
		return made, nil
	}
	return nil, fmt.Errorf("%w: it is not the one in the tree of its log", ErrCorrupt)
}
