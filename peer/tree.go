package peer

import (
	"context"
	"fmt"
	"sync"

	"arborist/merkle"
	"arborist/shard/corpus"
)

// A tree reads the Merkle tree under a signed head through tiles that somebody
// serves, and checks each tile against the head before it uses a hash of it.
// It is safe for concurrent use.
type tree struct {
	ctx    context.Context // of the sync: a merkle.NodeReader takes none
	src    *source         // that the border came from
	pool   *pool           // that full tiles come from; nil: src
	corpus CorpusID
	size   uint64

	mu    sync.Mutex
	edge  [][]merkle.Hash // by level: the partial tile at the right border, may be empty
	tiles map[tileID][]merkle.Hash
}

type tileID struct {
	level uint8
	index uint64
}

// maxTiles bounds the full tiles that are remembered, 8 KiB each. Reading a
// log from left to right needs one of each level.
const maxTiles = 256

// openTree fetches the right border of the tree, from which the root follows:
// every hash of it is then as good as signed.
func openTree(ctx context.Context, src *source, id CorpusID, size uint64, root merkle.Hash) (*tree, error) {
	t := &tree{ctx: ctx, src: src, corpus: id, size: size, tiles: make(map[tileID][]merkle.Hash)}
	if size > corpus.MaxSize {
		return nil, src.fail(ctx, resource{kind: kindCheckpoint, corpus: id}, fmt.Errorf("%w: a log of %d records", ErrTooLarge, size))
	}
	for level := uint8(0); size>>(8*level) > 0; level++ {
		hashes := size >> (8 * level)
		var partial []merkle.Hash
		if hashes%tileWidth > 0 {
			var err error
			if partial, err = t.read(src, level, hashes/tileWidth); err != nil {
				return nil, err
			}
		}
		t.edge = append(t.edge, partial)
	}
	got, err := merkle.RootAt(border{t}, size)
	if err != nil {
		return nil, err
	}
	if got != root {
		return nil, src.fail(ctx, t.at(0, size/tileWidth), fmt.Errorf("%w: the tiles at the border do not give the signed root", ErrTampered))
	}
	return t, nil
}

// at names a tile.
func (t *tree) at(level uint8, index uint64) resource {
	width := tileWidth
	if hashes := t.size >> (8 * level); index == hashes/tileWidth {
		width = int(hashes % tileWidth)
	}
	return resource{kind: kindTile, corpus: t.corpus, level: level, index: index, width: width}
}

// read fetches one tile from a source, unchecked.
func (t *tree) read(src *source, level uint8, index uint64) ([]merkle.Hash, error) {
	res := t.at(level, index)
	want := res.width * merkle.HashSize
	raw, err := src.get(t.ctx, res, int64(want))
	if err != nil {
		return nil, err
	}
	if len(raw) != want {
		return nil, src.fail(t.ctx, res, fmt.Errorf("%w: %d bytes, want %d", ErrTruncated, len(raw), want))
	}
	hashes := make([]merkle.Hash, res.width)
	for i := range hashes {
		hashes[i] = merkle.Hash(raw[i*merkle.HashSize:])
	}
	return hashes, nil
}

// full fetches a full tile that has to have the hash want.
func (t *tree) full(level uint8, index uint64, want merkle.Hash) (hashes []merkle.Hash, err error) {
	fetch := func(src *source) (err error) {
		if hashes, err = t.read(src, level, index); err == nil && merkle.Root(hashes) != want {
			err = src.fail(t.ctx, t.at(level, index), fmt.Errorf("%w: it does not belong to the signed root", ErrTampered))
		}
		return err
	}
	if t.pool == nil {
		return hashes, fetch(t.src)
	}
	return hashes, t.pool.try(t.ctx, fetch)
}

// tile returns the hashes of a tile, checked. Tiles that the tree does not
// have fail.
func (t *tree) tile(level uint8, index uint64) ([]merkle.Hash, error) {
	if int(level) >= len(t.edge) || index > t.size>>(8*level)/tileWidth {
		return nil, fmt.Errorf("%w: no tile %d/%d in a log of %d records", ErrMalformed, level, index, t.size)
	}
	if index == t.size>>(8*level)/tileWidth {
		return t.edge[level], nil
	}
	if hashes := t.tiles[tileID{level, index}]; hashes != nil {
		return hashes, nil
	}
	want, err := t.parent(level, index)
	if err != nil {
		return nil, err
	}
	hashes, err := t.full(level, index, want)
	if err != nil {
		return nil, err
	}
	if len(t.tiles) >= maxTiles {
		clear(t.tiles)
	}
	t.tiles[tileID{level, index}] = hashes
	return hashes, nil
}

// parent returns the hash that a full tile has to have.
func (t *tree) parent(level uint8, index uint64) (merkle.Hash, error) {
	above, err := t.tile(level+1, index/tileWidth)
	if err != nil {
		return merkle.Hash{}, err
	}
	at := int(index % tileWidth)
	if at >= len(above) {
		return merkle.Hash{}, fmt.Errorf("%w: no full tile %d/%d in a log of %d records", ErrMalformed, level, index, t.size)
	}
	return above[at], nil
}

// verifyBundle checks the hashes of the records of an entry bundle, all that
// the log has of it.
func (t *tree) verifyBundle(index uint64, leaves []merkle.Hash) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if index == t.size/tileWidth {
		for i, leaf := range t.edge[0] {
			if i >= len(leaves) || leaves[i] != leaf {
				return fmt.Errorf("%w: record %d", ErrTampered, index*tileWidth+uint64(i))
			}
		}
		return nil
	}
	want, err := t.parent(0, index)
	if err != nil {
		return err
	}
	if merkle.Root(leaves) != want {
		return fmt.Errorf("%w: one of the records %d to %d", ErrTampered, index*tileWidth, (index+1)*tileWidth-1)
	}
	return nil
}

// Node implements [merkle.NodeReader].
func (t *tree) Node(level uint8, index uint64) (merkle.Hash, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return nodeOf(level, index, t.tile)
}

// border is a tree of which only the right border is known.
type border struct{ *tree }

// Node implements [merkle.NodeReader] for the nodes that the root is made of.
func (b border) Node(level uint8, index uint64) (merkle.Hash, error) {
	return nodeOf(level, index, func(level uint8, tile uint64) ([]merkle.Hash, error) {
		if int(level) >= len(b.edge) || tile != b.size>>(8*level)/tileWidth {
			return nil, fmt.Errorf("%w: node outside the border", ErrMalformed)
		}
		return b.edge[level], nil
	})
}

// nodeOf computes a node from the tile that holds its leaves or theirs.
func nodeOf(level uint8, index uint64, tile func(uint8, uint64) ([]merkle.Hash, error)) (merkle.Hash, error) {
	height := level % 8
	first := index << height
	hashes, err := tile(level/8, first/tileWidth)
	if err != nil {
		return merkle.Hash{}, err
	}
	from := int(first % tileWidth)
	if from+1<<height > len(hashes) {
		return merkle.Hash{}, fmt.Errorf("%w: no node %d at level %d", ErrMalformed, index, level)
	}
	return merkle.Root(hashes[from : from+1<<height]), nil
}
