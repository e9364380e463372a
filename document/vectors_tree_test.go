package document

import (
	"fmt"
	"slices"
	"testing"

	"arborist/merkle"
)

// vectorLeaves are the leaves of the reference implementation of RFC 6962, so
// that the roots can be compared with those published for it.
func vectorLeaves() []hexBytes {
	return []hexBytes{
		{}, {0x00}, {0x10}, {0x20, 0x21}, {0x30, 0x31}, {0x40, 0x41, 0x42, 0x43},
		{0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57},
		{0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x6f},
	}
}

func vectorTree() *merkle.Tree {
	var leaves []merkle.Hash
	for _, l := range vectorLeaves() {
		leaves = append(leaves, merkle.LeafHash(l))
	}
	return merkle.NewTree(leaves)
}

type treeVector struct {
	Name   string     `json:"name"`
	Leaves []hexBytes `json:"leaves"`
	Root   hexBytes   `json:"root"`
}

func TestTreeVectors(t *testing.T) {
	var table []treeVector
	for n := range uint64(9) {
		root, err := merkle.RootAt(vectorTree(), n)
		if err != nil {
			t.Fatal(err)
		}
		table = append(table, treeVector{fmt.Sprintf("%d leaves", n), vectorLeaves()[:n], root[:]})
	}
	about := "Roots of trees over leaves, which are bytes in hexadecimal."
	for _, v := range vectors(t, "tree.json", about, "rfc9162-sha256", table) {
		var b merkle.Builder
		for _, l := range v.Leaves {
			b.Append(merkle.LeafHash(l))
		}
		if root := b.Root(); !slices.Equal(root[:], v.Root) {
			t.Errorf("%s: root %x, want %x", v.Name, root, v.Root)
		}
	}
}

type inclusionVector struct {
	Name  string     `json:"name"`
	Leaf  hexBytes   `json:"leaf"` // its data, not its hash
	Index uint64     `json:"index"`
	Size  uint64     `json:"size"`
	Path  []hexBytes `json:"path"`
	Root  hexBytes   `json:"root"`
	Valid bool       `json:"valid"`
}

func hexPath(path []merkle.Hash) []hexBytes {
	out := make([]hexBytes, len(path))
	for i, h := range path {
		out[i] = slices.Clone(h[:])
	}
	return out
}

func hashPath(path []hexBytes) []merkle.Hash {
	out := make([]merkle.Hash, len(path))
	for i, h := range path {
		copy(out[i][:], h)
	}
	return out
}

func inclusionTable(t *testing.T) []inclusionVector {
	t.Helper()
	var table []inclusionVector
	tree := vectorTree()
	proof := func(index, size uint64) inclusionVector {
		path, err := merkle.Inclusion(tree, index, size)
		if err != nil {
			t.Fatal(err)
		}
		root, err := merkle.RootAt(tree, size)
		if err != nil {
			t.Fatal(err)
		}
		return inclusionVector{"", vectorLeaves()[index], index, size, hexPath(path), root[:], true}
	}
	for _, size := range []uint64{1, 2, 3, 5, 7, 8} {
		for index := range size {
			v := proof(index, size)
			v.Name = fmt.Sprintf("leaf %d of %d", index, size)
			table = append(table, v)
		}
	}
	change := func(name string, valid bool, f func(v *inclusionVector)) {
		v := proof(4, 7)
		f(&v)
		v.Name, v.Valid = name, valid
		table = append(table, v)
	}
	change("alias: leaf 4 of 5 verifies as leaf 1 of 2 on a bare root", true, func(v *inclusionVector) {
		*v = proof(4, 5)
		v.Index, v.Size = 1, 2
	})
	change("alias: leaf 4 of 7 verifies as leaf 4 of 8 on a bare root", true, func(v *inclusionVector) { v.Size = 8 })
	change("another index", false, func(v *inclusionVector) { v.Index = 5 })
	change("index equal to size", false, func(v *inclusionVector) { v.Index = 7 })
	change("size zero", false, func(v *inclusionVector) { v.Index, v.Size = 0, 0 })
	change("another size", false, func(v *inclusionVector) { v.Size = 6 })
	change("another leaf", false, func(v *inclusionVector) { v.Leaf = hexBytes{1} })
	change("another root", false, func(v *inclusionVector) { v.Root = slices.Clone(v.Root); v.Root[31] ^= 1 })
	change("a bit of the path flipped", false, func(v *inclusionVector) { v.Path[1][0] ^= 0x80 })
	change("path in reverse", false, func(v *inclusionVector) { slices.Reverse(v.Path) })
	change("a hash too few", false, func(v *inclusionVector) { v.Path = v.Path[:2] })
	change("a hash too many", false, func(v *inclusionVector) { v.Path = append(v.Path, v.Path[0]) })
	change("an inner node as a leaf", false, func(v *inclusionVector) {
		node, err := merkle.Inclusion(tree, 6, 7) // its first hash is the node over leaves 4 and 5
		if err != nil {
			t.Fatal(err)
		}
		v.Leaf, v.Index, v.Size, v.Path = hexBytes(node[0][:]), 0, 2, hexPath(node[1:])
	})
	return table
}

func TestInclusionVectors(t *testing.T) {
	about := "Inclusion proofs. Leaves are data, paths go from the leaf to the root, all in hexadecimal."
	for _, v := range vectors(t, "tree-inclusion.json", about, "rfc9162-sha256", inclusionTable(t)) {
		var root merkle.Hash
		copy(root[:], v.Root)
		if err := merkle.VerifyInclusion(merkle.LeafHash(v.Leaf), v.Index, v.Size, hashPath(v.Path), root); (err == nil) != v.Valid {
			t.Errorf("%s: %v, want valid %v", v.Name, err, v.Valid)
		}
	}
}

type consistencyVector struct {
	Name    string     `json:"name"`
	OldSize uint64     `json:"old_size"`
	OldRoot hexBytes   `json:"old_root"`
	Size    uint64     `json:"size"`
	Root    hexBytes   `json:"root"`
	Path    []hexBytes `json:"path"`
	Valid   bool       `json:"valid"`
}

func consistencyTable(t *testing.T) []consistencyVector {
	t.Helper()
	var table []consistencyVector
	tree := vectorTree()
	proof := func(old, size uint64) consistencyVector {
		path, err := merkle.Consistency(tree, old, size)
		if err != nil {
			t.Fatal(err)
		}
		oldRoot, err := merkle.RootAt(tree, old)
		if err != nil {
			t.Fatal(err)
		}
		root, err := merkle.RootAt(tree, size)
		if err != nil {
			t.Fatal(err)
		}
		return consistencyVector{"", old, oldRoot[:], size, root[:], hexPath(path), true}
	}
	for _, s := range [][2]uint64{{1, 1}, {1, 2}, {1, 8}, {2, 5}, {3, 7}, {4, 7}, {6, 7}, {6, 8}, {7, 8}, {8, 8}} {
		v := proof(s[0], s[1])
		v.Name = fmt.Sprintf("%d to %d", s[0], s[1])
		table = append(table, v)
	}
	change := func(name string, f func(v *consistencyVector)) {
		v := proof(6, 7)
		f(&v)
		v.Name, v.Valid = name, false
		table = append(table, v)
	}
	change("from the empty tree", func(v *consistencyVector) {
		empty := merkle.EmptyRoot()
		v.OldSize, v.OldRoot, v.Path = 0, empty[:], []hexBytes{}
	})
	change("sizes run backwards", func(v *consistencyVector) {
		v.OldSize, v.Size, v.OldRoot, v.Root = v.Size, v.OldSize, v.Root, v.OldRoot
	})
	change("same size, two roots", func(v *consistencyVector) { v.OldSize, v.Path = 7, []hexBytes{} })
	change("same size with a path", func(v *consistencyVector) { v.OldSize, v.OldRoot, v.Path = 7, v.Root, v.Path[:1] })
	change("another old root", func(v *consistencyVector) { v.OldRoot[0] ^= 1 })
	change("another root", func(v *consistencyVector) { v.Root[0] ^= 1 })
	change("another old size", func(v *consistencyVector) { v.OldSize = 5 })
	change("a bit of the path flipped", func(v *consistencyVector) { v.Path[2][0] ^= 1 })
	change("a hash too few", func(v *consistencyVector) { v.Path = v.Path[:2] })
	change("a hash too many", func(v *consistencyVector) { v.Path = append(v.Path, v.Path[0]) })
	change("empty path", func(v *consistencyVector) { v.Path = []hexBytes{} })
	return table
}

func TestConsistencyVectors(t *testing.T) {
	about := "Consistency proofs, all in hexadecimal."
	for _, v := range vectors(t, "tree-consistency.json", about, "rfc9162-sha256", consistencyTable(t)) {
		var root, oldRoot merkle.Hash
		copy(root[:], v.Root)
		copy(oldRoot[:], v.OldRoot)
		if err := merkle.VerifyConsistency(v.OldSize, v.Size, oldRoot, root, hashPath(v.Path)); (err == nil) != v.Valid {
			t.Errorf("%s: %v, want valid %v", v.Name, err, v.Valid)
		}
	}
}
