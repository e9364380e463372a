package merkle

import "math/bits"

// A Builder computes the root of a growing tree in memory that is constant in
// the number of leaves: it holds one hash per set bit of the size. The zero
// value is an empty tree.
type Builder struct {
	size  uint64
	peaks [64]Hash // peaks[:bits.OnesCount64(size)], the largest subtree first
}

// Append adds the hash of the next leaf.
func (b *Builder) Append(leaf Hash) {
	n := bits.OnesCount64(b.size)
	// Every trailing one bit of the size is a perfect subtree that the new leaf
	// completes into one twice as large.
	for s := b.size; s&1 == 1; s >>= 1 {
		n--
		leaf = NodeHash(b.peaks[n], leaf)
	}
	b.peaks[n] = leaf
	b.size++
}

// Size returns how many leaves were appended.
func (b *Builder) Size() uint64 { return b.size }

// Root returns the root of the tree over the leaves appended so far. The
// builder can be appended to afterwards.
func (b *Builder) Root() Hash {
	n := bits.OnesCount64(b.size)
	if n == 0 {
		return EmptyRoot()
	}
	root := b.peaks[n-1]
	for i := n - 2; i >= 0; i-- {
		root = NodeHash(b.peaks[i], root)
	}
	return root
}
