package merkle

import "fmt"

// A NodeReader gives the hashes of perfect subtrees: Node(level, index) is the
// root over the leaves [index<<level, (index+1)<<level). Implementations must
// return an error for a subtree that is not wholly inside the tree.
type NodeReader interface {
	Node(level uint8, index uint64) (Hash, error)
}

// A Tree holds every perfect subtree of a tree in memory: about two hashes a
// leaf. It implements [NodeReader] and is safe for concurrent reads.
type Tree struct {
	levels [][]Hash
}

// NewTree builds the tree over leaf hashes. It keeps the slice.
func NewTree(leaves []Hash) *Tree {
	t := &Tree{levels: [][]Hash{leaves}}
	for below := leaves; len(below) > 1; {
		level := make([]Hash, len(below)/2)
		for i := range level {
			level[i] = NodeHash(below[2*i], below[2*i+1])
		}
		t.levels = append(t.levels, level)
		below = level
	}
	return t
}

// Size returns the number of leaves.
func (t *Tree) Size() uint64 { return uint64(len(t.levels[0])) }

// Node implements [NodeReader].
func (t *Tree) Node(level uint8, index uint64) (Hash, error) {
	if int(level) >= len(t.levels) || index >= uint64(len(t.levels[level])) {
		return Hash{}, fmt.Errorf("merkle: no node at level %d, index %d in a tree of %d leaves", level, index, t.Size())
	}
	return t.levels[level][index], nil
}

// Root returns the root of the whole tree.
func (t *Tree) Root() Hash {
	root, err := RootAt(t, t.Size())
	if err != nil {
		panic(err) // a Tree has every node that RootAt asks for
	}
	return root
}

// RootAt returns the root of the tree over the first size leaves.
func RootAt(r NodeReader, size uint64) (Hash, error) {
	if size == 0 {
		return EmptyRoot(), nil
	}
	return rangeRoot(r, 0, size)
}

// rangeRoot returns the root over the leaves [begin, end), where begin is a
// multiple of the smallest power of two that is at least end-begin: the only
// ranges that the recursion of RFC 9162 2.1.1 visits.
func rangeRoot(r NodeReader, begin, end uint64) (Hash, error) {
	n := end - begin
	if n&(n-1) == 0 {
		level := log2(n)
		return r.Node(level, begin>>level)
	}
	k := split(n)
	left, err := rangeRoot(r, begin, begin+k)
	if err != nil {
		return Hash{}, err
	}
	right, err := rangeRoot(r, begin+k, end)
	if err != nil {
		return Hash{}, err
	}
	return NodeHash(left, right), nil
}
