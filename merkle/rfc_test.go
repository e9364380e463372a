package merkle

import (
	"encoding/hex"
	"slices"
	"testing"
)

// The leaves, roots and paths that the reference implementation of RFC 6962
// published (google/certificate-transparency, merkle_tree_test).
var rfc6962Leaves = []string{
	"", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
}

var rfc6962Roots = []string{
	"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
	"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
	"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
	"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
	"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
	"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
	"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
	"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}

func hashes(t *testing.T, hexadecimal ...string) []Hash {
	t.Helper()
	var all []Hash
	for _, s := range hexadecimal {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, Hash(b))
	}
	return all
}

func rfc6962Tree(t *testing.T) *Tree {
	t.Helper()
	var leaves []Hash
	for _, s := range rfc6962Leaves {
		data, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, LeafHash(data))
	}
	return NewTree(leaves)
}

func TestPublishedRoots(t *testing.T) {
	tree := rfc6962Tree(t)
	for i, want := range hashes(t, rfc6962Roots...) {
		if got, err := RootAt(tree, uint64(i+1)); err != nil || got != want {
			t.Errorf("root of %d leaves = %x, %v, want %x", i+1, got, err, want)
		}
	}
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if got := EmptyRoot(); got != hashes(t, empty)[0] {
		t.Errorf("root of the empty tree = %x", got)
	}
}

func TestPublishedInclusionPaths(t *testing.T) {
	tree := rfc6962Tree(t)
	for _, test := range []struct {
		index, size uint64
		path        []string
	}{
		{0, 1, nil},
		{0, 8, []string{
			"96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
			"5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
			"6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
		}},
		{5, 8, []string{
			"bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
			"ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
			"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
		}},
		{2, 3, []string{"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"}},
		{1, 5, []string{
			"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
			"5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
			"bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
		}},
	} {
		if got, err := Inclusion(tree, test.index, test.size); err != nil || !slices.Equal(got, hashes(t, test.path...)) {
			t.Errorf("path of leaf %d of %d = %x, %v", test.index, test.size, got, err)
		}
	}
}

func TestPublishedConsistencyPaths(t *testing.T) {
	tree := rfc6962Tree(t)
	for _, test := range []struct {
		old, size uint64
		path      []string
	}{
		{1, 1, nil},
		{1, 8, []string{
			"96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
			"5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
			"6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
		}},
		{6, 8, []string{
			"0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
			"ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
			"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
		}},
		{2, 5, []string{
			"5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
			"bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
		}},
	} {
		if got, err := Consistency(tree, test.old, test.size); err != nil || !slices.Equal(got, hashes(t, test.path...)) {
			t.Errorf("path from %d to %d = %x, %v", test.old, test.size, got, err)
		}
	}
}

// TestExampleOfRFC9162 is the tree of seven leaves of section 2.1.5.
func TestExampleOfRFC9162(t *testing.T) {
	leaves := testLeaves(7)
	tree := NewTree(leaves)
	a, b, c, d, e, f, j := leaves[0], leaves[1], leaves[2], leaves[3], leaves[4], leaves[5], leaves[6]
	g, h, i := NodeHash(a, b), NodeHash(c, d), NodeHash(e, f)
	k, l := NodeHash(g, h), NodeHash(i, j)
	if tree.Root() != NodeHash(k, l) {
		t.Error("another root")
	}
	for index, want := range map[uint64][]Hash{0: {b, h, l}, 3: {c, g, l}, 4: {f, j, k}, 6: {i, k}} {
		if got, err := Inclusion(tree, index, 7); err != nil || !slices.Equal(got, want) {
			t.Errorf("PATH(%d, D[7]) = %x, %v", index, got, err)
		}
	}
	for old, want := range map[uint64][]Hash{3: {c, d, g, l}, 4: {l}, 6: {i, j, k}} {
		if got, err := Consistency(tree, old, 7); err != nil || !slices.Equal(got, want) {
			t.Errorf("PROOF(%d, D[7]) = %x, %v", old, got, err)
		}
	}
}
