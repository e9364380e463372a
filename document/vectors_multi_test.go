package document

import (
	"fmt"
	"slices"
	"testing"

	"arborist/merkle"
)

type multiVector struct {
	Name    string     `json:"name"`
	Leaves  []hexBytes `json:"leaves"` // their data, not their hashes
	Indices []uint64   `json:"indices"`
	Size    uint64     `json:"size"`
	Hashes  []hexBytes `json:"hashes"`
	Root    hexBytes   `json:"root"`
	Valid   bool       `json:"valid"`
}

func multiTable(t *testing.T) []multiVector {
	t.Helper()
	var table []multiVector
	tree := vectorTree()
	proof := func(size uint64, indices ...uint64) multiVector {
		hashes, err := merkle.MultiInclusion(tree, indices, size)
		if err != nil {
			t.Fatal(err)
		}
		root, err := merkle.RootAt(tree, size)
		if err != nil {
			t.Fatal(err)
		}
		v := multiVector{fmt.Sprintf("leaves %d of %d", indices, size), nil, indices, size, hexPath(hashes), root[:], true}
		for _, i := range indices {
			v.Leaves = append(v.Leaves, vectorLeaves()[i])
		}
		return v
	}
	table = append(table,
		proof(1, 0), proof(2, 0), proof(2, 0, 1), proof(3, 2), proof(3, 0, 2), proof(3, 0, 1, 2),
		proof(5, 4), proof(5, 1, 4), proof(7, 0, 6), proof(7, 2, 3), proof(7, 1, 4, 5), proof(7, 0, 2, 4, 6),
		proof(8, 0, 7), proof(8, 0, 1, 2, 3), proof(8, 1, 3, 5, 7), proof(8, 0, 1, 2, 3, 4, 5, 6, 7))
	change := func(name string, valid bool, f func(v *multiVector)) {
		v := proof(7, 1, 4, 5)
		f(&v)
		v.Name, v.Valid = name, valid
		table = append(table, v)
	}
	change("alias: leaf 4 of 5 verifies as leaf 1 of 2 on a bare root", true, func(v *multiVector) {
		*v = proof(5, 4)
		v.Indices, v.Size = []uint64{1}, 2
	})
	change("no leaf", false, func(v *multiVector) { v.Leaves, v.Indices = []hexBytes{}, []uint64{} })
	change("size zero", false, func(v *multiVector) { v.Size = 0 })
	change("another size", false, func(v *multiVector) { v.Size = 6 })
	change("an index equal to size", false, func(v *multiVector) { v.Indices[2] = 7 })
	change("another index", false, func(v *multiVector) { v.Indices[0] = 0 })
	change("indices and leaves not ascending", false, func(v *multiVector) {
		v.Indices[0], v.Indices[1] = v.Indices[1], v.Indices[0]
		v.Leaves[0], v.Leaves[1] = v.Leaves[1], v.Leaves[0]
	})
	change("an index twice", false, func(v *multiVector) { v.Indices[2], v.Leaves[2] = v.Indices[1], v.Leaves[1] })
	change("leaves swapped", false, func(v *multiVector) { v.Leaves[0], v.Leaves[1] = v.Leaves[1], v.Leaves[0] })
	change("a leaf too few", false, func(v *multiVector) { v.Leaves = v.Leaves[:2] })
	change("a leaf too many", false, func(v *multiVector) { v.Leaves = append(v.Leaves, v.Leaves[0]) })
	change("another leaf", false, func(v *multiVector) { v.Leaves[1] = hexBytes{1} })
	change("another root", false, func(v *multiVector) { v.Root = slices.Clone(v.Root); v.Root[31] ^= 1 })
	change("a bit of a hash flipped", false, func(v *multiVector) { v.Hashes[1][0] ^= 0x80 })
	change("hashes in reverse", false, func(v *multiVector) { slices.Reverse(v.Hashes) })
	change("a hash too few", false, func(v *multiVector) { v.Hashes = v.Hashes[:2] })
	change("a hash too many", false, func(v *multiVector) { v.Hashes = append(v.Hashes, v.Hashes[0]) })
	change("no hash", false, func(v *multiVector) { v.Hashes = []hexBytes{} })
	change("the hash of a leaf that is given", false, func(v *multiVector) {
		h := merkle.LeafHash(v.Leaves[0])
		v.Hashes = slices.Insert(v.Hashes, 1, hexBytes(h[:]))
	})
	return table
}

func TestMultiVectors(t *testing.T) {
	about := "Multi-inclusion proofs. Leaves are data in the order of their indices; all byte strings are in hexadecimal."
	for _, v := range vectors(t, "tree-multi.json", about, "rfc9162-sha256", multiTable(t)) {
		var root merkle.Hash
		copy(root[:], v.Root)
		leaves := make([]merkle.Hash, len(v.Leaves))
		for i, l := range v.Leaves {
			leaves[i] = merkle.LeafHash(l)
		}
		if err := merkle.VerifyMulti(leaves, v.Indices, v.Size, hashPath(v.Hashes), root); (err == nil) != v.Valid {
			t.Errorf("%s: %v, want valid %v", v.Name, err, v.Valid)
		}
	}
}
