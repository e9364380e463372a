package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arborist/merkle"
)

const (
	// tileHeight and tileWidth are C2SP tlog-tiles': a tile holds the 256
	// hashes of one level from which 8 levels of the tree follow.
	tileHeight = 8
	tileWidth  = 1 << tileHeight
	// maxTileLevel is the highest level with a tile in a log of 2^63 records.
	maxTileLevel = 7
)

// A tile is a run of up to 256 hashes: hash i of tile (level, index) is the
// root over the records [(index*256+i) << 8*level, (index*256+i+1) << 8*level).
type tile struct {
	level  uint8
	index  uint64
	hashes []merkle.Hash
}

func (t tile) bytes() []byte {
	b := make([]byte, 0, len(t.hashes)*merkle.HashSize)
	for _, h := range t.hashes {
		b = append(b, h[:]...)
	}
	return b
}

// locate finds a node of the tree in the tiles: the root over the hashes
// [from, from+n) of tile (level, index).
func locate(nodeLevel uint8, nodeIndex uint64) (level uint8, index uint64, from, n int) {
	level = nodeLevel / tileHeight
	height := nodeLevel % tileHeight
	first := nodeIndex << height
	return level, first / tileWidth, int(first % tileWidth), 1 << height
}

// widthAt returns how many hashes tile (level, index) has in a tree of size
// records: 256 when it is full, 0 when there is no such tile.
func widthAt(level uint8, index, size uint64) int {
	if level > maxTileLevel {
		return 0
	}
	hashes := size >> (tileHeight * level)
	switch full := hashes / tileWidth; {
	case index < full:
		return tileWidth
	case index == full:
		return int(hashes % tileWidth)
	default:
		return 0
	}
}

// tiles reads the tree of the first size records of one log. It implements
// [merkle.NodeReader], gives no node that is not wholly inside that tree, and
// reads every tile once.
type tiles struct {
	ctx    context.Context
	tx     *sql.Tx
	corpus int64
	size   uint64
	root   merkle.Hash // names the tree in kept
	kept   *subtrees   // of this tree and of others
}

func newTiles(ctx context.Context, tx *sql.Tx, corpus int64, size uint64) *tiles {
	return &tiles{ctx: ctx, tx: tx, corpus: corpus, size: size, kept: new(subtrees)}
}

// Node implements [merkle.NodeReader].
func (t *tiles) Node(nodeLevel uint8, nodeIndex uint64) (merkle.Hash, error) {
	level, index, from, n := locate(nodeLevel, nodeIndex)
	if from+n > widthAt(level, index, t.size) {
		return merkle.Hash{}, fmt.Errorf("%w: node %d of level %d is not in a log of %d records", ErrNotFound, nodeIndex, nodeLevel, t.size)
	}
	key := subtreeKey{t.root, level, index}
	tree := t.kept.get(key)
	if tree == nil {
		hashes, err := t.tile(level, index)
		if err != nil {
			return merkle.Hash{}, err
		}
		tree = newSubtree(hashes)
		t.kept.put(key, tree)
	}
	return tree[nodeLevel%tileHeight][from/n], nil
}

// provenLeaves returns the hashes of a tile of records, which is not empty. It fails
// with [ErrCorrupt] where they do not lead to the root of the tree.
func (t *tiles) provenLeaves(index uint64, root merkle.Hash) ([]merkle.Hash, error) {
	hashes, err := t.tile(0, index)
	if err != nil {
		return nil, err
	}
	// The path of one of its leaves goes over all of them.
	first := index * tileWidth
	path, err := merkle.Inclusion(t, first, t.size)
	if err != nil {
		return nil, err
	}
	if err := merkle.VerifyInclusion(hashes[0], first, t.size, path, root); err != nil {
		return nil, fmt.Errorf("%w: tile 0/%d does not lead to the root of its log: %w", ErrCorrupt, index, err)
	}
	return hashes, nil
}

// tile returns the hashes that the tile has in the tree of t.size records.
func (t *tiles) tile(level uint8, index uint64) ([]merkle.Hash, error) {
	width := widthAt(level, index, t.size)
	if width == 0 {
		return nil, nil
	}
	var b []byte
	err := t.tx.QueryRowContext(t.ctx, "SELECT hashes FROM tile WHERE corpus = ? AND level = ? AND idx = ?",
		t.corpus, level, int64(index)).Scan(&b)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	if len(b) < width*merkle.HashSize {
		return nil, fmt.Errorf("%w: tile %d/%d has %d bytes, want %d or more", ErrCorrupt, level, index, len(b), width*merkle.HashSize)
	}
	hashes := make([]merkle.Hash, width)
	for i := range hashes {
		hashes[i] = merkle.Hash(b[i*merkle.HashSize:])
	}
	return hashes, nil
}
