package merkle

import (
	"errors"
	"fmt"
	"slices"
)

// MaxMulti is the largest number of leaves that one multi-inclusion proof is
// for.
const MaxMulti = 1 << 16

// MultiInclusion returns the hashes that prove all leaves at the sorted,
// distinct indices in the tree of the first size leaves: for each subtree that
// holds none of them and whose sibling does, its root, in the order of their
// leaves (docs/formats.md, "Several leaves at once"). For one index they are its
// inclusion path, but sorted from left to right.
func MultiInclusion(r NodeReader, indices []uint64, size uint64) ([]Hash, error) {
	if err := checkMulti(indices, size); err != nil {
		return nil, fmt.Errorf("merkle: prove %d leaves: %w", len(indices), err)
	}
	var hashes []Hash
	err := eachOutside(indices, 0, size, 0, len(indices), 0, func(o outside) error {
		h, err := rangeRoot(r, o.begin, o.end)
		hashes = append(hashes, h)
		return err
	})
	return hashes, err
}

// MergeInclusion returns what [MultiInclusion] does, from the inclusion paths
// of the single leaves. Where all paths verify below one root, so does the
// result; the caller has to check that, because nothing here knows the root.
func MergeInclusion(indices []uint64, size uint64, paths [][]Hash) ([]Hash, error) {
	if err := checkMulti(indices, size); err != nil {
		return nil, fmt.Errorf("merkle: merge paths of %d leaves: %w", len(indices), err)
	}
	if len(paths) != len(indices) {
		return nil, fmt.Errorf("merkle: merge %d paths of %d leaves", len(paths), len(indices))
	}
	for i, index := range indices {
		if want := PathLength(index, size); len(paths[i]) != want {
			return nil, fmt.Errorf("%w: path has %d hashes, leaf %d of %d needs %d", ErrInvalid, len(paths[i]), index, size, want)
		}
	}
	var hashes []Hash
	err := eachOutside(indices, 0, size, 0, len(indices), 0, func(o outside) error {
		path := paths[o.near] // goes up from the leaf; depth counts down from the root
		hashes = append(hashes, path[len(path)-1-o.depth])
		return nil
	})
	return hashes, err
}

// MultiLength returns how many hashes the multi-inclusion proof of these leaves
// has in a tree of size leaves. It fails where indices are none, not sorted,
// not distinct, not below size, or more than [MaxMulti].
func MultiLength(indices []uint64, size uint64) (n int, err error) {
	if err := checkMulti(indices, size); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	err = eachOutside(indices, 0, size, 0, len(indices), 0, func(outside) error { n++; return nil })
	return n, err
}

// RootFromMulti returns the root that the hashes give for the leaf hashes at
// indices in a tree of size leaves. It fails where indices and size do not fit,
// and where there are more or fewer hashes than such a tree demands.
func RootFromMulti(leaves []Hash, indices []uint64, size uint64, hashes []Hash) (Hash, error) {
	m, err := newMultiHasher(leaves, indices, size, hashes)
	if err != nil {
		return Hash{}, err
	}
	return m.root(0, size, 0, len(indices)), nil
}

// VerifyMulti checks that the leaf hashes stand at indices in the tree of size
// leaves with this root. It accepts exactly what [VerifyInclusion] accepts of
// each leaf with its own path. The caller must have size from a source bound to
// the root: see the package comment.
func VerifyMulti(leaves []Hash, indices []uint64, size uint64, hashes []Hash, root Hash) error {
	got, err := RootFromMulti(leaves, indices, size, hashes)
	if err != nil {
		return err
	}
	if got != root {
		return fmt.Errorf("%w: the hashes for %d leaves of %d lead to another root", ErrInvalid, len(indices), size)
	}
	return nil
}

// SplitMulti returns the inclusion path of each single leaf: [MergeInclusion]
// the other way round. It verifies nothing.
func SplitMulti(leaves []Hash, indices []uint64, size uint64, hashes []Hash) ([][]Hash, error) {
	m, err := newMultiHasher(leaves, indices, size, hashes)
	if err != nil {
		return nil, err
	}
	m.paths = make([][]Hash, len(indices))
	m.root(0, size, 0, len(indices))
	return m.paths, nil
}

// checkMulti checks what every multi-inclusion proof needs. It bounds the depth
// of the recursions below to 63 and their number by 64 a leaf.
func checkMulti(indices []uint64, size uint64) error {
	switch n := len(indices); {
	case n == 0:
		return ErrEmpty
	case n > MaxMulti:
		return fmt.Errorf("%d leaves, at most %d", n, MaxMulti)
	case size > 1<<MaxPath:
		return fmt.Errorf("a tree of %d leaves, at most 2^%d", size, MaxPath)
	case indices[n-1] >= size:
		return fmt.Errorf("index %d is not below size %d", indices[n-1], size)
	}
	for i := 1; i < len(indices); i++ {
		if indices[i-1] >= indices[i] {
			return errors.New("indices are not in ascending order, each once")
		}
	}
	return nil
}

// An outside is a subtree that holds none of the leaves, and whose sibling holds
// one.
type outside struct {
	begin, end uint64
	near       int // position in indices of a leaf below its sibling
	depth      int // of the subtree's parent, the root being 0
}

// eachOutside calls visit for the subtrees over [begin, end) that hold none of
// the leaves indices[first:last], from left to right. That range is not empty.
func eachOutside(indices []uint64, begin, end uint64, first, last, depth int, visit func(outside) error) error {
	if end-begin == 1 {
		return nil
	}
	mid := begin + split(end-begin)
	cut := first + below(indices[first:last], mid)
	if cut == first {
		if err := visit(outside{begin, mid, first, depth}); err != nil {
			return err
		}
	} else if err := eachOutside(indices, begin, mid, first, cut, depth+1, visit); err != nil {
		return err
	}
	if cut == last {
		return visit(outside{mid, end, first, depth})
	}
	return eachOutside(indices, mid, end, cut, last, depth+1, visit)
}

// below counts the indices below bound.
func below(indices []uint64, bound uint64) int {
	n, _ := slices.BinarySearch(indices, bound)
	return n
}

// A multiHasher computes a root from leaves and the hashes between them.
type multiHasher struct {
	indices []uint64
	leaves  []Hash
	hashes  []Hash   // those not used yet
	paths   [][]Hash // of each leaf, where they are asked for
}

func newMultiHasher(leaves []Hash, indices []uint64, size uint64, hashes []Hash) (multiHasher, error) {
	want, err := MultiLength(indices, size)
	switch {
	case err != nil:
		return multiHasher{}, err
	case len(leaves) != len(indices):
		return multiHasher{}, fmt.Errorf("%w: %d leaves at %d indices", ErrInvalid, len(leaves), len(indices))
	case len(hashes) != want:
		return multiHasher{}, fmt.Errorf("%w: %d hashes, %d leaves of %d need %d", ErrInvalid, len(hashes), len(indices), size, want)
	}
	return multiHasher{indices: indices, leaves: leaves, hashes: hashes}, nil
}

// root returns the root over [begin, end), which holds the leaves first to last.
func (m *multiHasher) root(begin, end uint64, first, last int) Hash {
	if first == last {
		h := m.hashes[0]
		m.hashes = m.hashes[1:]
		return h
	}
	if end-begin == 1 {
		return m.leaves[first]
	}
	mid := begin + split(end-begin)
	cut := first + below(m.indices[first:last], mid)
	left := m.root(begin, mid, first, cut)
	right := m.root(mid, end, cut, last)
	if m.paths != nil {
		for i := first; i < last; i++ {
			sibling := left
			if i < cut {
				sibling = right
			}
			m.paths[i] = append(m.paths[i], sibling)
		}
	}
	return NodeHash(left, right)
}
