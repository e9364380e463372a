package merkle

import (
	"crypto/sha256"
	"errors"
	"math"
	"testing"
)

func bareLeaf(data []byte) Hash { return sha256.Sum256(append([]byte{0}, data...)) }

func TestVerificationAllocatesNothing(t *testing.T) {
	leaves := testLeaves(1000)
	tree := NewTree(leaves)
	root := tree.Root()
	inclusion, err := Inclusion(tree, 777, 1000)
	if err != nil {
		t.Fatal(err)
	}
	consistency, err := Consistency(tree, 333, 1000)
	if err != nil {
		t.Fatal(err)
	}
	oldRoot, err := RootAt(tree, 333)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 1024)
	var b Builder
	for name, f := range map[string]func(){
		"LeafHash":          func() { leaves[0] = LeafHash(data) },
		"NodeHash":          func() { leaves[0] = NodeHash(leaves[1], leaves[2]) },
		"VerifyInclusion":   func() { err = errors.Join(err, VerifyInclusion(leaves[777], 777, 1000, inclusion, root)) },
		"VerifyConsistency": func() { err = errors.Join(err, VerifyConsistency(333, 1000, oldRoot, root, consistency)) },
		"Builder":           func() { b.Append(leaves[0]); leaves[0] = b.Root() },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

func TestEmptyTreeProvesNothing(t *testing.T) {
	tree := NewTree(nil)
	if tree.Root() != EmptyRoot() || tree.Size() != 0 || Root(nil) != EmptyRoot() {
		t.Error("the empty tree has another root than the empty string's hash")
	}
	if _, err := Inclusion(tree, 0, 0); !errors.Is(err, ErrEmpty) {
		t.Errorf("Inclusion: %v", err)
	}
	if _, err := Consistency(tree, 0, 0); !errors.Is(err, ErrEmpty) {
		t.Errorf("Consistency: %v", err)
	}
	if err := VerifyInclusion(Hash{}, 0, 0, nil, EmptyRoot()); !errors.Is(err, ErrInvalid) {
		t.Errorf("VerifyInclusion: %v", err)
	}
	for _, size := range []uint64{0, 1, 7} {
		if err := VerifyConsistency(0, size, EmptyRoot(), Hash{}, nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("VerifyConsistency from 0 to %d: %v", size, err)
		}
	}
}

func TestWrongSizesAreRefused(t *testing.T) {
	tree := NewTree(testLeaves(5))
	if _, err := Inclusion(tree, 5, 5); err == nil {
		t.Error("a leaf behind the tree was proven")
	}
	if _, err := Inclusion(tree, 0, 6); err == nil {
		t.Error("a leaf was proven in a larger tree than there is")
	}
	if _, err := Consistency(tree, 3, 6); err == nil {
		t.Error("a larger tree than there is was proven")
	}
	if _, err := Consistency(tree, 4, 3); err == nil {
		t.Error("a shrinking log was proven")
	}
	if err := VerifyConsistency(4, 3, Hash{}, Hash{}, nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("a shrinking log: %v", err)
	}
	if err := VerifyConsistency(3, 3, Hash{1}, Hash{2}, nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("two roots of one size: %v", err)
	}
	if err := VerifyConsistency(3, 3, Hash{1}, Hash{1}, []Hash{{}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a path between equal sizes: %v", err)
	}
	if _, err := tree.Node(60, 0); err == nil {
		t.Error("a node above the tree")
	}
}

// TestHugeSizesAreHandled: sizes come from outside and may be anything.
func TestHugeSizesAreHandled(t *testing.T) {
	for _, size := range []uint64{1 << 62, 1<<63 - 1, 1 << 63, math.MaxUint64} {
		for _, index := range []uint64{0, 1, size / 2, size - 1} {
			n := PathLength(index, size)
			if n < 0 || n > MaxPath && size <= 1<<63 || n > 64 {
				t.Errorf("leaf %d of %d has a path of %d hashes", index, size, n)
			}
			root, err := RootFromInclusion(Hash{1}, index, size, make([]Hash, n))
			if err != nil {
				t.Fatal(err)
			}
			if err := VerifyInclusion(Hash{1}, index, size, make([]Hash, n), root); err != nil {
				t.Error(err)
			}
			if err := VerifyInclusion(Hash{1}, index, size, make([]Hash, n+1), root); !errors.Is(err, ErrInvalid) {
				t.Errorf("leaf %d of %d with a longer path: %v", index, size, err)
			}
		}
		if err := VerifyConsistency(size/3, size, Hash{1}, Hash{2}, make([]Hash, 5)); !errors.Is(err, ErrInvalid) {
			t.Errorf("consistency up to %d: %v", size, err)
		}
	}
}

// zeros is a tree of any size, all of whose nodes are zero.
type zeros struct{}

func (zeros) Node(uint8, uint64) (Hash, error) { return Hash{}, nil }

func TestLongestPaths(t *testing.T) {
	const size = 1 << 63
	inclusion, err := Inclusion(zeros{}, 1, size)
	if err != nil || len(inclusion) != MaxPath {
		t.Errorf("longest inclusion path: %d hashes, %v", len(inclusion), err)
	}
	consistency, err := Consistency(zeros{}, 3, size)
	if err != nil || len(consistency) != MaxPath+1 {
		t.Errorf("longest consistency path: %d hashes, %v", len(consistency), err)
	}
}

// FuzzVerify feeds both verifiers with whatever; what they accept must be true
// of the tree that the root belongs to.
func FuzzVerify(f *testing.F) {
	f.Add(uint64(3), uint64(7), []byte("path"))
	f.Add(uint64(math.MaxUint64), uint64(0), make([]byte, 64*HashSize))
	f.Add(uint64(4), uint64(4), []byte{})
	leaves := testLeaves(7)
	tree := NewTree(leaves)
	root := tree.Root()
	f.Fuzz(func(t *testing.T, a, b uint64, raw []byte) {
		var path []Hash
		for len(raw) >= HashSize {
			path = append(path, Hash(raw))
			raw = raw[HashSize:]
		}
		var leaf Hash
		copy(leaf[:], raw)
		if VerifyInclusion(leaf, a, 7, path, root) == nil && leaf != leaves[a] {
			t.Fatalf("%x verified as leaf %d", leaf, a)
		}
		if _, err := RootFromInclusion(leaf, a, b, path); err == nil && (a >= b || len(path) != PathLength(a, b)) {
			t.Fatalf("leaf %d of %d with %d hashes", a, b, len(path))
		}
		if VerifyConsistency(a, 7, leaf, root, path) == nil {
			if want, err := RootAt(tree, a); err != nil || leaf != want {
				t.Fatalf("%x verified as the root of %d", leaf, a)
			}
		}
	})
}
