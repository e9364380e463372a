package merkle

import (
	"errors"
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// TestAliasOnABareRoot shows the warning of the package: on a bare root, leaf
// 4 of 5 verifies as leaf 1 of 2, with an honest path. Only a size that was
// itself hashed or signed rules it out.
func TestAliasOnABareRoot(t *testing.T) {
	leaves := testLeaves(5)
	tree := NewTree(leaves)
	path, err := Inclusion(tree, 4, 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := VerifyInclusion(leaves[4], 1, 2, path, tree.Root()); err != nil {
		t.Errorf("leaf 4 of 5 as leaf 1 of 2: %v; then the warning in the package comment is out of date", err)
	}
	// With the true size no other index passes.
	for index := range uint64(4) {
		if err := VerifyInclusion(leaves[4], index, 5, path, tree.Root()); !errors.Is(err, ErrInvalid) {
			t.Errorf("leaf 4 of 5 as leaf %d of 5: %v", index, err)
		}
	}
}

func TestAnInnerNodeIsNoLeaf(t *testing.T) {
	leaves := testLeaves(4)
	root := NewTree(leaves).Root()
	var node [2 * HashSize]byte
	copy(node[:], leaves[0][:])
	copy(node[HashSize:], leaves[1][:])
	path := []Hash{NodeHash(leaves[2], leaves[3])}
	if err := VerifyInclusion(LeafHash(node[:]), 0, 2, path, root); !errors.Is(err, ErrInvalid) {
		t.Errorf("the children of a node as a leaf: %v", err)
	}
}

func drawTree(t *rapid.T) ([]Hash, *Tree, uint64) {
	size := rapid.Uint64Range(1, 200).Draw(t, "size")
	leaves := testLeaves(int(size))
	return leaves, NewTree(leaves), size
}

// TestOnlyTheTruePathVerifies changes one thing of a valid proof.
func TestOnlyTheTruePathVerifies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaves, tree, size := drawTree(t)
		index := rapid.Uint64Range(0, size-1).Draw(t, "index")
		path, err := Inclusion(tree, index, size)
		if err != nil || len(path) != PathLength(index, size) || len(path) > bits.Len64(size) {
			t.Fatalf("path of %d in %d = %x, %v", index, size, path, err)
		}
		root := tree.Root()
		verify := func(leaf Hash, index uint64, path []Hash) error {
			return VerifyInclusion(leaf, index, size, path, root)
		}
		if err := verify(leaves[index], index, path); err != nil {
			t.Fatal(err)
		}
		if other := rapid.Uint64Range(0, size+2).Draw(t, "other index"); other != index {
			if err := verify(leaves[index], other, path); !errors.Is(err, ErrInvalid) {
				t.Fatalf("leaf %d as leaf %d of %d: %v", index, other, size, err)
			}
			if other < size && verify(leaves[other], index, path) == nil {
				t.Fatalf("leaf %d in the place of leaf %d of %d", other, index, size)
			}
		}
		if err := verify(leaves[index], index, append(path, Hash{})); !errors.Is(err, ErrInvalid) {
			t.Fatalf("a hash too many: %v", err)
		}
		if root, err := RootFromInclusion(leaves[index], index, size, append(path, Hash{})); !errors.Is(err, ErrInvalid) {
			t.Fatalf("a hash too many gives the root %x, %v", root, err)
		}
		if len(path) == 0 {
			return
		}
		if err := verify(leaves[index], index, path[:len(path)-1]); !errors.Is(err, ErrInvalid) {
			t.Fatalf("a hash too few: %v", err)
		}
		i := rapid.IntRange(0, len(path)*HashSize*8-1).Draw(t, "bit")
		path[i/256][i%256/8] ^= 1 << (i % 8)
		if err := verify(leaves[index], index, path); !errors.Is(err, ErrInvalid) {
			t.Fatalf("bit %d flipped: %v", i, err)
		}
	})
}

func TestOnlyAPrefixIsConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaves, tree, size := drawTree(t)
		old := rapid.Uint64Range(1, size).Draw(t, "old")
		oldRoot, err := RootAt(tree, old)
		if err != nil {
			t.Fatal(err)
		}
		path, err := Consistency(tree, old, size)
		if err != nil {
			t.Fatal(err)
		}
		if err := VerifyConsistency(old, size, oldRoot, tree.Root(), path); err != nil {
			t.Fatal(err)
		}
		for _, wrong := range [][]Hash{append(path[:len(path):len(path)], Hash{}), path[:max(0, len(path)-1)]} {
			if err := VerifyConsistency(old, size, oldRoot, tree.Root(), wrong); len(wrong) != len(path) && !errors.Is(err, ErrInvalid) {
				t.Fatalf("%d to %d with %d of %d hashes: %v", old, size, len(wrong), len(path), err)
			}
		}
		// A log that rewrote a leaf below old has another old root.
		leaves[rapid.Uint64Range(0, old-1).Draw(t, "rewritten")][7] ^= 1
		forged := NewTree(leaves)
		path, err = Consistency(forged, old, size)
		if err != nil {
			t.Fatal(err)
		}
		if err := VerifyConsistency(old, size, oldRoot, forged.Root(), path); !errors.Is(err, ErrInvalid) {
			t.Fatalf("rewritten history from %d to %d: %v", old, size, err)
		}
	})
}

func TestBuilderAndTreeGiveOneRoot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaves, tree, size := drawTree(t)
		var b Builder
		for i, l := range leaves {
			b.Append(l)
			if want, err := RootAt(tree, uint64(i+1)); err != nil || b.Root() != want || b.Size() != uint64(i+1) {
				t.Fatalf("root of %d of %d = %x, want %x, %v", i+1, size, b.Root(), want, err)
			}
		}
	})
}

func TestLeafHashOfEveryLength(t *testing.T) {
	data := make([]byte, 300)
	for i := range data {
		data[i] = byte(i)
	}
	for n := range len(data) {
		if got, want := LeafHash(data[:n]), bareLeaf(data[:n]); got != want {
			t.Fatalf("LeafHash of %d bytes = %x, want %x", n, got, want)
		}
	}
}
