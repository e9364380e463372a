package merkle

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// ErrInvalid is wrapped by every verification error: the proof does not show
// what it claims.
var ErrInvalid = errors.New("merkle: proof is not valid")

// MaxPath is the length of the longest inclusion path that any tree of at most
// 2^63 leaves has; parsers use it as their cap. A consistency path can have one
// hash more.
const MaxPath = 63

// Inclusion returns the path that proves leaf index in the tree of the first
// size leaves: sibling hashes from the leaf upwards (RFC 9162 2.1.3.1).
func Inclusion(r NodeReader, index, size uint64) ([]Hash, error) {
	if size == 0 {
		return nil, ErrEmpty
	}
	if index >= size {
		return nil, fmt.Errorf("merkle: prove leaf %d: the tree has %d leaves", index, size)
	}
	var path []Hash
	begin, end := uint64(0), size
	for end-begin > 1 {
		mid := begin + split(end-begin)
		var sibling Hash
		var err error
		if index < mid {
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
	slices.Reverse(path)
	return path, nil
}

// PathLength returns how many hashes the inclusion path of leaf index has in a
// tree of size leaves, where index < size.
func PathLength(index, size uint64) int {
	inner := bits.Len64(index ^ (size - 1))
	return inner + bits.OnesCount64(index>>inner)
}

// RootFromInclusion returns the root that path gives for a leaf hash at index
// in a tree of size leaves (RFC 9162 2.1.3.2). It fails where index and size
// do not fit or where the path has another length than such a tree demands.
func RootFromInclusion(leaf Hash, index, size uint64, path []Hash) (Hash, error) {
	if index >= size {
		return Hash{}, fmt.Errorf("%w: index %d is not below size %d", ErrInvalid, index, size)
	}
	if want := PathLength(index, size); len(path) != want {
		return Hash{}, fmt.Errorf("%w: path has %d hashes, leaf %d of %d needs %d", ErrInvalid, len(path), index, size, want)
	}
	// Below inner the tree is perfect around the leaf and each bit of the index
	// says on which side the sibling stands; above it the leaf hangs on the
	// right border, where every sibling is on the left.
	inner := bits.Len64(index ^ (size - 1))
	h := leaf
	for i, sibling := range path {
		if i >= inner || index>>i&1 == 1 {
			h = NodeHash(sibling, h)
		} else {
			h = NodeHash(h, sibling)
		}
	}
	return h, nil
}

// VerifyInclusion checks that the leaf hash stands at index in the tree of
// size leaves with this root. The caller must have size from a source bound to
// the root: see the package comment.
func VerifyInclusion(leaf Hash, index, size uint64, path []Hash, root Hash) error {
	got, err := RootFromInclusion(leaf, index, size, path)
	if err != nil {
		return err
	}
	if got != root {
		return fmt.Errorf("%w: the path of leaf %d of %d leads to another root", ErrInvalid, index, size)
	}
	return nil
}

func log2(n uint64) uint8 { return uint8(bits.TrailingZeros64(n)) }
