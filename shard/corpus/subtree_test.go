package corpus

import (
	"database/sql"
	"errors"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"arborist/merkle"
)

// Every node that the tiles of a tree give, kept or not, is the one that x/mod has.
func TestNodesEqualThoseOfXMod(t *testing.T) {
	s, m := newOwn(t)
	const size = 256*3 + 77
	appendBoth(t, s, m, numbered(size, 0)...)
	var hashes tlogHashes
	for n, line := range m.lines {
		stored, err := tlog.StoredHashes(int64(n), line, hashes)
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, stored...)
	}
	err := s.withLog(t.Context(), m.origin(), func(tx *sql.Tx, l *log) error {
		for range 2 { // read, and kept
			tree := s.treeOf(t.Context(), tx, l)
			for level := uint8(0); size>>level > 0; level++ {
				for index := range uint64(size >> level) {
					got, err := tree.Node(level, index)
					want := hashes[tlog.StoredHashIndex(int(level), int64(index))]
					if err != nil || got != merkle.Hash(want) {
						t.Fatalf("node %d of level %d differs from x/mod: %v", index, level, err)
					}
				}
				if _, err := tree.Node(level, size>>level); !errors.Is(err, ErrNotFound) {
					t.Errorf("node %d of level %d = %v, want ErrNotFound: it is not whole", size>>level, level, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What was read from a damaged file is not kept beyond its repair.
func TestProofsComeBackWithTheTiles(t *testing.T) {
	s, m := newOwn(t)
	appendBoth(t, s, m, numbered(300, 0)...)
	root := numbered(1, 7)[0].Header.Root
	db := raw(t, s.path)
	execute(t, db, "CREATE TEMP TABLE sound AS SELECT * FROM tile", "UPDATE tile SET hashes = zeroblob(length(hashes)) WHERE level = 0 AND idx = 0")
	if _, err := s.Prove(t.Context(), m.origin(), root); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("proof from damaged tiles = %v, want ErrCorrupt", err)
	}
	execute(t, db, "UPDATE tile SET hashes = (SELECT hashes FROM sound WHERE sound.level = tile.level AND sound.idx = tile.idx)")
	if _, err := s.Prove(t.Context(), m.origin(), root); err != nil {
		t.Errorf("proof after the repair: %v", err)
	}
}

// Strangers choose which trees are asked for; what is kept of them is bounded.
func TestKeptSubtreesAreBounded(t *testing.T) {
	var kept subtrees
	for i := range 3 * uint64(maxSubtrees) {
		key := subtreeKey{index: i}
		kept.put(key, newSubtree(nil))
		if kept.get(key) == nil {
			t.Fatal("what was put last is not kept")
		}
	}
	if len(kept.kept) != maxSubtrees {
		t.Errorf("%d subtrees are kept, want %d", len(kept.kept), maxSubtrees)
	}
}
