package merkle

import (
	"fmt"
	"math/bits"
	"slices"
)

// Consistency returns the proof that the tree of the first old leaves is a
// prefix of the tree of the first size leaves (RFC 9162 2.1.4.1). It is empty
// where old equals size. There is no proof from the empty tree.
func Consistency(r NodeReader, old, size uint64) ([]Hash, error) {
	if old == 0 {
		return nil, ErrEmpty
	}
	if old > size {
		return nil, fmt.Errorf("merkle: prove consistency from %d to %d: sizes run backwards", old, size)
	}
	var path []Hash
	begin, end := uint64(0), size
	target := old
	for target != end {
		mid := begin + split(end-begin)
		var sibling Hash
		var err error
		if target <= mid {
			sibling, err = rangeRoot(r, mid, end)
			end = mid
		} else {
			sibling, err = rangeRoot(r, begin, mid)
			begin = mid
		}
		if err != nil {
			return nil, err
		}
		path = append(path, sibling)
	}
	if begin != 0 {
		// The old tree is not a subtree of the new one, so its right border has
		// to be given; otherwise the verifier has it: it is the old root.
		seed, err := rangeRoot(r, begin, end)
		if err != nil {
			return nil, err
		}
		path = append(path, seed)
	}
	slices.Reverse(path)
	return path, nil
}

// VerifyConsistency checks that the tree of old leaves with root oldRoot is a
// prefix of the tree of size leaves with this root (RFC 9162 2.1.4.2). Equal
// sizes demand equal roots and an empty path; an old size of zero is refused,
// because everything is consistent with nothing.
func VerifyConsistency(old, size uint64, oldRoot, root Hash, path []Hash) error {
	switch {
	case old == 0:
		return fmt.Errorf("%w: consistency from size 0 proves nothing", ErrInvalid)
	case old > size:
		return fmt.Errorf("%w: old size %d is above size %d", ErrInvalid, old, size)
	case old == size && len(path) != 0:
		return fmt.Errorf("%w: a path between trees of the same size", ErrInvalid)
	case old == size && oldRoot != root:
		return fmt.Errorf("%w: two roots for size %d", ErrInvalid, size)
	case old == size:
		return nil
	}
	// The path starts at the largest perfect subtree that ends the old tree.
	// Where that is the whole old tree it is left out: it is the old root.
	shift := bits.TrailingZeros64(old)
	index := (old - 1) >> shift
	seed := oldRoot
	if index != 0 {
		if len(path) == 0 {
			return fmt.Errorf("%w: path from %d to %d is empty", ErrInvalid, old, size)
		}
		seed, path = path[0], path[1:]
	}
	last := (size - 1) >> shift
	inner := bits.Len64(index ^ last)
	if want := inner + bits.OnesCount64(index>>inner); len(path) != want {
		return fmt.Errorf("%w: path from %d to %d has %d hashes beside the seed, it needs %d", ErrInvalid, old, size, len(path), want)
	}
	oldHash, newHash := seed, seed
	for i, sibling := range path {
		switch {
		case i >= inner || index>>i&1 == 1:
			// On the left of both trees.
			oldHash = NodeHash(sibling, oldHash)
			newHash = NodeHash(sibling, newHash)
		default:
			newHash = NodeHash(newHash, sibling)
		}
	}
	if oldHash != oldRoot {
		return fmt.Errorf("%w: the path does not lead to the old root at size %d", ErrInvalid, old)
	}
	if newHash != root {
		return fmt.Errorf("%w: the path does not lead to the root at size %d", ErrInvalid, size)
	}
	return nil
}
