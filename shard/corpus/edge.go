package corpus

import (
	"fmt"

	"arborist/merkle"
)

// An edge is the right border of a growing tree: the partial tile of every
// level. It is all that appending and computing the root need. It implements
// [merkle.NodeReader] for the nodes in it, which are the ones that the root
// is made of.
type edge struct {
	size    uint64
	partial [][]merkle.Hash // by level, fewer than 256 hashes each
	dirty   int             // levels below this one have changed since the last take
	full    []tile          // completed since the last take
}

// loadEdge reads the border of the tree that t gives.
func loadEdge(t *tiles) (*edge, error) {
	e := &edge{size: t.size}
	for level := uint8(0); t.size>>(tileHeight*level) > 0; level++ {
		hashes, err := t.tile(level, t.size>>(tileHeight*(level+1)))
		if err != nil {
			return nil, err
		}
		e.partial = append(e.partial, append(make([]merkle.Hash, 0, tileWidth), hashes...))
	}
	return e, nil
}

// append adds the hash of the next record: one node hash a record on average.
func (e *edge) append(leaf merkle.Hash) {
	h := leaf
	for level := 0; ; level++ {
		if level == len(e.partial) {
			e.partial = append(e.partial, make([]merkle.Hash, 0, tileWidth))
		}
		e.partial[level] = append(e.partial[level], h)
		e.dirty = max(e.dirty, level+1)
		if len(e.partial[level]) < tileWidth {
			break
		}
		full := tile{level: uint8(level), index: e.size >> (tileHeight * (level + 1)), hashes: e.partial[level]}
		e.full = append(e.full, full)
		e.partial[level] = make([]merkle.Hash, 0, tileWidth)
		h = merkle.Root(full.hashes)
	}
	e.size++
}

// take returns every tile that changed since the last take, whole.
func (e *edge) take() []tile {
	changed := e.full
	for level := range e.dirty {
		if len(e.partial[level]) > 0 {
			changed = append(changed, tile{
				level: uint8(level), index: e.size >> (tileHeight * (level + 1)), hashes: e.partial[level],
			})
		}
	}
	e.full, e.dirty = nil, 0
	return changed
}

// Node implements [merkle.NodeReader].
func (e *edge) Node(nodeLevel uint8, nodeIndex uint64) (merkle.Hash, error) {
	level, index, from, n := locate(nodeLevel, nodeIndex)
	if int(level) >= len(e.partial) || index != e.size>>(tileHeight*(level+1)) || from+n > len(e.partial[level]) {
		return merkle.Hash{}, fmt.Errorf("%w: node %d of level %d is not on the border of a log of %d records",
			ErrNotFound, nodeIndex, nodeLevel, e.size)
	}
	return merkle.Root(e.partial[level][from : from+n]), nil
}

// root returns the root of the whole tree.
func (e *edge) root() (merkle.Hash, error) { return merkle.RootAt(e, e.size) }
