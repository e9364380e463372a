package merkle

import (
	"fmt"
	"testing"
)

// reference is the recursion of RFC 9162 2.1.1 written down as it stands.
func reference(leaves []Hash) Hash {
	switch n := uint64(len(leaves)); n {
	case 0:
		return EmptyRoot()
	case 1:
		return leaves[0]
	default:
		k := split(n)
		return NodeHash(reference(leaves[:k]), reference(leaves[k:]))
	}
}

func testLeaves(n int) []Hash {
	leaves := make([]Hash, n)
	for i := range leaves {
		leaves[i] = LeafHash(fmt.Appendf(nil, "leaf %d", i))
	}
	return leaves
}

func TestRootsEqualTheRecursionOfRFC9162(t *testing.T) {
	for n := range 130 {
		leaves := testLeaves(n)
		want := reference(leaves)
		if got := Root(leaves); got != want {
			t.Errorf("Builder root of %d leaves = %x, want %x", n, got, want)
		}
		if got := NewTree(leaves).Root(); got != want {
			t.Errorf("Tree root of %d leaves = %x, want %x", n, got, want)
		}
	}
}

func TestEveryLeafOfEveryTreeIsProven(t *testing.T) {
	for n := uint64(1); n < 70; n++ {
		leaves := testLeaves(int(n))
		tree := NewTree(leaves)
		for i := range n {
			path, err := Inclusion(tree, i, n)
			if err != nil {
				t.Fatal(err)
			}
			if err := VerifyInclusion(leaves[i], i, n, path, tree.Root()); err != nil {
				t.Errorf("leaf %d of %d: %v", i, n, err)
			}
			if n > 1 {
				path[len(path)/2][3] ^= 4
				if VerifyInclusion(leaves[i], i, n, path, tree.Root()) == nil {
					t.Errorf("leaf %d of %d: a flipped bit verified", i, n)
				}
			}
		}
	}
}

func TestEveryPrefixIsConsistent(t *testing.T) {
	leaves := testLeaves(70)
	tree := NewTree(leaves)
	for n := uint64(1); n <= 70; n++ {
		root, _ := RootAt(tree, n)
		for old := uint64(1); old <= n; old++ {
			oldRoot, _ := RootAt(tree, old)
			path, err := Consistency(tree, old, n)
			if err != nil {
				t.Fatal(err)
			}
			if err := VerifyConsistency(old, n, oldRoot, root, path); err != nil {
				t.Errorf("%d to %d: %v", old, n, err)
			}
			for i := range path {
				path[i][0] ^= 1
				if VerifyConsistency(old, n, oldRoot, root, path) == nil {
					t.Errorf("%d to %d: a flipped bit in hash %d verified", old, n, i)
				}
				path[i][0] ^= 1
			}
		}
	}
}
