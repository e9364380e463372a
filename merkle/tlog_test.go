package merkle

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

// tlogTree is the same tree as kept by golang.org/x/mod, which serves here as
// an independent opinion.
type tlogTree []tlog.Hash

func (s tlogTree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, n := range indexes {
		if n >= int64(len(s)) {
			return nil, fmt.Errorf("no hash %d", n)
		}
		out[i] = s[n]
	}
	return out, nil
}

func (s *tlogTree) append(t *rapid.T, index int64, data []byte) {
	more, err := tlog.StoredHashes(index, data, *s)
	if err != nil {
		t.Fatal(err)
	}
	*s = append(*s, more...)
}

func fromTlog[T ~[]tlog.Hash](path T) []Hash {
	out := make([]Hash, len(path))
	for i, h := range path {
		out[i] = Hash(h)
	}
	return out
}

func TestAgreesWithTlog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 300).Draw(t, "size")
		index := rapid.Int64Range(0, size-1).Draw(t, "index")
		old := rapid.Int64Range(1, size).Draw(t, "old")
		var (
			other  tlogTree
			leaves []Hash
		)
		for i := range size {
			data := fmt.Appendf(nil, "record %d", i)
			other.append(t, i, data)
			leaves = append(leaves, LeafHash(data))
		}
		tree := NewTree(leaves)
		checkRoots(t, other, tree, size, old)

		path, err := Inclusion(tree, uint64(index), uint64(size))
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := tlog.ProveRecord(size, index, other)
		if err != nil || !slices.Equal(path, fromTlog(theirs)) {
			t.Fatalf("path of %d in %d = %x, tlog has %x, %v", index, size, path, theirs, err)
		}
		if err := tlog.CheckRecord(theirs, size, tlog.Hash(tree.Root()), index, tlog.Hash(leaves[index])); err != nil {
			t.Fatal(err)
		}
		path, err = Consistency(tree, uint64(old), uint64(size))
		if err != nil {
			t.Fatal(err)
		}
		proof, err := tlog.ProveTree(size, old, other)
		if err != nil || !slices.Equal(path, fromTlog(proof)) {
			t.Fatalf("path from %d to %d = %x, tlog has %x, %v", old, size, path, proof, err)
		}
	})
}

func checkRoots(t *rapid.T, other tlogTree, tree *Tree, sizes ...int64) {
	for _, n := range sizes {
		want, err := tlog.TreeHash(n, other)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := RootAt(tree, uint64(n)); err != nil || got != Hash(want) {
			t.Fatalf("root of %d = %x, %v, tlog has %x", n, got, err, want)
		}
	}
}
