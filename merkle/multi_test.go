package merkle

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// subset returns the leaves whose bit is set in mask, with their hashes.
func subset(leaves []Hash, mask uint) (indices []uint64, hashes []Hash) {
	for i, l := range leaves {
		if mask>>i&1 == 1 {
			indices, hashes = append(indices, uint64(i)), append(hashes, l)
		}
	}
	return indices, hashes
}

// define is the definition in docs/formats.md written down as it stands, over
// the leaf hashes themselves.
func define(leaves []Hash, wanted func(i int) bool, from int) []Hash {
	any := false
	for i := range leaves {
		any = any || wanted(from+i)
	}
	switch {
	case !any:
		return []Hash{reference(leaves)}
	case len(leaves) == 1:
		return nil
	}
	k := int(split(uint64(len(leaves))))
	return append(define(leaves[:k], wanted, from), define(leaves[k:], wanted, from+k)...)
}

// Every set of leaves of every tree of up to nine leaves.
func TestEverySetOfLeavesIsProven(t *testing.T) {
	for n := 1; n <= 9; n++ {
		leaves := testLeaves(n)
		tree := NewTree(leaves)
		for mask := uint(1); mask < 1<<n; mask++ {
			indices, chosen := subset(leaves, mask)
			hashes, err := MultiInclusion(tree, indices, uint64(n))
			if err != nil {
				t.Fatal(err)
			}
			if want := define(leaves, func(i int) bool { return mask>>i&1 == 1 }, 0); !slices.Equal(hashes, want) {
				t.Fatalf("leaves %d of %d: %x, want %x", indices, n, hashes, want)
			}
			if err := VerifyMulti(chosen, indices, uint64(n), hashes, tree.Root()); err != nil {
				t.Fatalf("leaves %d of %d: %v", indices, n, err)
			}
			if want, err := MultiLength(indices, uint64(n)); err != nil || want != len(hashes) {
				t.Fatalf("leaves %d of %d: length %d, %v", indices, n, want, err)
			}
		}
	}
}

func drawSet(t *rapid.T, size uint64) []uint64 {
	indices := rapid.SliceOfNDistinct(rapid.Uint64Range(0, size-1), 1, int(min(size, 30)), rapid.ID).Draw(t, "indices")
	slices.Sort(indices)
	return indices
}

func pick(leaves []Hash, indices []uint64) []Hash {
	chosen := make([]Hash, len(indices))
	for i, index := range indices {
		chosen[i] = leaves[index]
	}
	return chosen
}

// A multi-inclusion proof is its single paths with the shared parts once:
// merging and splitting lose nothing.
func TestMultiInclusionIsItsSinglePaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaves, tree, size := drawTree(t)
		indices := drawSet(t, size)
		hashes, err := MultiInclusion(tree, indices, size)
		if err != nil {
			t.Fatal(err)
		}
		paths := make([][]Hash, len(indices))
		total := 0
		for i, index := range indices {
			if paths[i], err = Inclusion(tree, index, size); err != nil {
				t.Fatal(err)
			}
			total += len(paths[i])
		}
		if len(hashes) > total {
			t.Fatalf("%d hashes, the single paths have %d", len(hashes), total)
		}
		merged, err := MergeInclusion(indices, size, paths)
		if err != nil || !slices.Equal(merged, hashes) {
			t.Fatalf("merged %x, %v, want %x", merged, err, hashes)
		}
		again, err := SplitMulti(pick(leaves, indices), indices, size, hashes)
		if err != nil {
			t.Fatal(err)
		}
		for i := range paths {
			if !slices.Equal(again[i], paths[i]) {
				t.Fatalf("leaf %d of %d: split %x, want %x", indices[i], size, again[i], paths[i])
			}
		}
	})
}

// One change of anything is refused, and so is whatever some single leaf with
// its split path would be refused for.
func TestOnlyTheTrueSetVerifies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaves, tree, size := drawTree(t)
		indices := drawSet(t, size)
		hashes, err := MultiInclusion(tree, indices, size)
		if err != nil {
			t.Fatal(err)
		}
		chosen := pick(leaves, indices)
		refuse := func(what string, leaves []Hash, indices []uint64, hashes []Hash) {
			if err := VerifyMulti(leaves, indices, size, hashes, tree.Root()); !errors.Is(err, ErrInvalid) {
				t.Fatalf("%s of leaves %d of %d: %v", what, indices, size, err)
			}
		}
		refuse("a hash more", chosen, indices, append(hashes[:len(hashes):len(hashes)], Hash{}))
		refuse("a leaf more", append(chosen[:len(chosen):len(chosen)], Hash{}), indices, hashes)
		refuse("a leaf less", chosen[1:], indices, hashes)
		refuse("an index less", chosen, indices[1:], hashes)
		if i := rapid.IntRange(0, len(chosen)*256-1).Draw(t, "leaf bit"); true {
			wrong := slices.Clone(chosen)
			wrong[i/256][i%256/8] ^= 1 << (i % 8)
			refuse("a flipped bit in a leaf", wrong, indices, hashes)
		}
		if len(hashes) > 0 {
			refuse("a hash less", chosen, indices, hashes[1:])
			i := rapid.IntRange(0, len(hashes)*256-1).Draw(t, "hash bit")
			wrong := slices.Clone(hashes)
			wrong[i/256][i%256/8] ^= 1 << (i % 8)
			refuse("a flipped bit in a hash", chosen, indices, wrong)
		}
		if len(hashes) > 1 {
			wrong := slices.Clone(hashes)
			slices.Reverse(wrong)
			refuse("hashes in reverse", chosen, indices, wrong)
		}
		if len(indices) > 1 {
			i := rapid.IntRange(1, len(indices)-1).Draw(t, "swapped")
			wrong := slices.Clone(chosen)
			wrong[i-1], wrong[i] = wrong[i], wrong[i-1]
			refuse("leaves swapped", wrong, indices, hashes)
			swapped := slices.Clone(indices)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			refuse("indices swapped", wrong, swapped, hashes)
			swapped = slices.Clone(indices)
			swapped[i] = swapped[i-1]
			refuse("an index twice", wrong, swapped, hashes)
		}
		if other := drawSet(t, size); !slices.Equal(other, indices) && len(other) == len(indices) {
			refuse("another set", chosen, other, hashes)
		}
	})
}

func TestImpossibleSetsAreRefused(t *testing.T) {
	tree := NewTree(testLeaves(5))
	for name, row := range map[string]struct {
		indices []uint64
		size    uint64
	}{
		"no leaf":             {nil, 5},
		"no tree":             {[]uint64{0}, 0},
		"index = size":        {[]uint64{1, 5}, 5},
		"index beyond":        {[]uint64{math.MaxUint64}, 5},
		"descending":          {[]uint64{3, 1}, 5},
		"twice":               {[]uint64{1, 1}, 5},
		"unsorted in between": {[]uint64{0, 2, 1, 4}, 5},
		"tree over 2^63":      {[]uint64{1}, 1<<63 + 1},
		"too many leaves":     {make([]uint64, MaxMulti+1), 1 << 40},
	} {
		n := len(row.indices)
		if hashes, err := MultiInclusion(tree, row.indices, row.size); err == nil {
			t.Errorf("%s: made %x", name, hashes)
		}
		if hashes, err := MergeInclusion(row.indices, row.size, make([][]Hash, n)); err == nil {
			t.Errorf("%s: merged %x", name, hashes)
		}
		if _, err := MultiLength(row.indices, row.size); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: length: %v", name, err)
		}
		if err := VerifyMulti(make([]Hash, n), row.indices, row.size, nil, EmptyRoot()); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: verified: %v", name, err)
		}
		if _, err := SplitMulti(make([]Hash, n), row.indices, row.size, nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: split: %v", name, err)
		}
	}
	if _, err := MultiInclusion(tree, []uint64{0}, 6); err == nil {
		t.Error("proven in a larger tree than there is")
	}
	path, err := Inclusion(tree, 1, 5)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := MergeInclusion([]uint64{1, 3}, 5, [][]Hash{path}); err == nil {
		t.Error("one path merged for two leaves")
	}
	if _, err := MergeInclusion([]uint64{1}, 5, [][]Hash{path[1:]}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a short path merged: %v", err)
	}
}

// The warning of the package holds for several leaves too: a bare root fixes
// neither size nor places.
func TestAliasOfSeveralLeavesOnABareRoot(t *testing.T) {
	leaves := testLeaves(5)
	tree := NewTree(leaves)
	hashes, err := MultiInclusion(tree, []uint64{4}, 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := VerifyMulti(leaves[4:], []uint64{1}, 2, hashes, tree.Root()); err != nil {
		t.Errorf("leaf 4 of 5 as leaf 1 of 2: %v", err)
	}
}

// The largest tree that there can be is walked in its depth, not in its size.
func TestLargestTreeOfAMultiInclusion(t *testing.T) {
	const size = 1 << 63
	indices := []uint64{0, 1, 5, 1 << 40, 1<<63 - 1}
	hashes, err := MultiInclusion(zeros{}, indices, size)
	if err != nil {
		t.Fatal(err)
	}
	root, err := RootFromMulti(make([]Hash, len(indices)), indices, size, hashes)
	if err != nil {
		t.Fatal(err)
	}
	if err := VerifyMulti(make([]Hash, len(indices)), indices, size, hashes, root); err != nil {
		t.Error(err)
	}
	if want, err := MultiLength([]uint64{7}, size); err != nil || want != MaxPath {
		t.Errorf("one leaf of 2^63 needs %d hashes, %v", want, err)
	}
}

func TestMultiVerificationAllocatesNothing(t *testing.T) {
	leaves := testLeaves(1000)
	tree := NewTree(leaves)
	indices := []uint64{3, 4, 77, 500, 999}
	hashes, err := MultiInclusion(tree, indices, 1000)
	if err != nil {
		t.Fatal(err)
	}
	chosen, root := pick(leaves, indices), tree.Root()
	if n := testing.AllocsPerRun(100, func() { err = errors.Join(err, VerifyMulti(chosen, indices, 1000, hashes, root)) }); n != 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
}

// FuzzVerifyMulti: whatever verifies is true of the tree that the root belongs
// to, and splits into paths that verify one by one.
func FuzzVerifyMulti(f *testing.F) {
	leaves := testLeaves(7)
	tree := NewTree(leaves)
	root := tree.Root()
	honest, err := MultiInclusion(tree, []uint64{1, 4}, 7)
	if err != nil {
		f.Fatal(err)
	}
	var raw []byte
	for _, h := range honest {
		raw = append(raw, h[:]...)
	}
	f.Add(uint64(7), []byte{1, 4}, raw)
	f.Add(uint64(math.MaxUint64), []byte{0}, []byte{})
	f.Add(uint64(0), []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, size uint64, at, raw []byte) {
		var hashes []Hash
		for ; len(raw) >= HashSize; raw = raw[HashSize:] {
			hashes = append(hashes, Hash(raw))
		}
		indices := make([]uint64, len(at))
		chosen := make([]Hash, len(at))
		for i, b := range at {
			indices[i], chosen[i] = uint64(b), leaves[b%7]
		}
		got, err := RootFromMulti(chosen, indices, size, hashes)
		if err != nil {
			return
		}
		if size == 7 && got == root && !slices.Equal(chosen, pick(leaves, indices)) {
			t.Fatalf("other leaves verified at %d", indices)
		}
		paths, err := SplitMulti(chosen, indices, size, hashes)
		if err != nil {
			t.Fatal(err)
		}
		for i, path := range paths {
			if err := VerifyInclusion(chosen[i], indices[i], size, path, got); err != nil {
				t.Fatal(err)
			}
		}
		if merged, err := MergeInclusion(indices, size, paths); err != nil || !slices.Equal(merged, hashes) {
			t.Fatalf("split and merged: %x, %v, want %x", merged, err, hashes)
		}
	})
}
