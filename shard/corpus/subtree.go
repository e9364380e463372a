package corpus

import (
	"sync"

	"arborist/merkle"
)

// A subtree is a tile with what follows from it: entry h holds the nodes of height
// h above the tile's hashes that are whole, in order. The one above all of them
// is a hash of the next level's tile.
type subtree [tileHeight][]merkle.Hash

func newSubtree(hashes []merkle.Hash) *subtree {
	s := &subtree{hashes}
	for h := 1; h < tileHeight; h++ {
		below := s[h-1]
		above := make([]merkle.Hash, len(below)/2)
		for i := range above {
			above[i] = merkle.NodeHash(below[2*i], below[2*i+1])
		}
		s[h] = above
	}
	return s
}

// maxSubtrees is how many subtrees are kept, at up to 16 KiB each.
const maxSubtrees = 128

// subtrees keeps those of the trees that proofs were asked of lately. They are named by
// the root that the tree has, so whatever becomes of a log, what is kept for a
// root stays right. Only damage can make it wrong: see drop.
type subtrees struct {
	mu   sync.Mutex
	kept map[subtreeKey]*subtree
}

type subtreeKey struct {
	root  merkle.Hash // of the whole tree
	level uint8
	index uint64
}

func (c *subtrees) get(key subtreeKey) *subtree {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[key]
}

// put keeps a subtree. Where there are too many, any other one goes: which are
// asked for is up to strangers, and no order of theirs is worth more.
func (c *subtrees) put(key subtreeKey, s *subtree) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = make(map[subtreeKey]*subtree)
	}
	for old := range c.kept {
		if len(c.kept) < maxSubtrees {
			break
		}
		delete(c.kept, old)
	}
	c.kept[key] = s
}

// drop forgets everything: something in it was read from a damaged file, which
// may be repaired by now.
func (c *subtrees) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = nil
}
