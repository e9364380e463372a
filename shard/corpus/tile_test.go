package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"arborist/merkle"
)

// The border of the tree, fed leaf by leaf, gives at every size the tiles and
// the root that x/mod gives.
func TestEdgeEqualsTheTilesOfXMod(t *testing.T) {
	e := &edge{}
	var hashes tlogHashes
	got := make(map[tlog.Tile][]byte)
	for n := range int64(70000) {
		line := fmt.Appendf(nil, "record %d", n)
		stored, err := tlog.StoredHashes(n, line, hashes)
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, stored...)
		e.append(merkle.LeafHash(line))
		if n%1000 != 999 && n > 600 {
			continue
		}
		for _, tl := range e.take() {
			got[tlog.Tile{H: 8, L: int(tl.level), N: int64(tl.index), W: len(tl.hashes)}] = tl.bytes()
		}
		root, err := e.root()
		want, wantErr := tlog.TreeHash(n+1, hashes)
		if err != nil || wantErr != nil || root != merkle.Hash(want) {
			t.Fatalf("root at size %d differs from x/mod: %v, %v", n+1, err, wantErr)
		}
	}
	// The example of C2SP tlog-tiles: 70,000 leaves.
	for _, want := range tlog.NewTiles(8, 0, 70000) {
		data, err := tlog.ReadTileData(want, hashes)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got[want], data) {
			t.Errorf("tile %+v differs from x/mod", want)
		}
	}
	for level, width := range []int{112, 17, 1} {
		if w := widthAt(uint8(level), 70000>>(8*(level+1)), 70000); w != width || len(e.partial[level]) != width {
			t.Errorf("partial tile of level %d has width %d and %d, C2SP says %d", level, w, len(e.partial[level]), width)
		}
	}
}

func TestWidthAtHasNoOverflow(t *testing.T) {
	for _, tt := range []struct {
		level       uint8
		index, size uint64
		want        int
	}{
		{0, 0, 0, 0},
		{0, 0, 255, 255},
		{0, 0, 256, 256},
		{0, 1, 256, 0},
		{1, 0, 255, 0},
		{1, 0, 256, 1},
		{0, 1<<64 - 1, 1 << 40, 0},
		{0, 1 << 56, 1 << 40, 0},
		{7, 0, 1<<64 - 1, 255},
		{8, 0, 1<<64 - 1, 0},
		{255, 0, 1<<64 - 1, 0},
	} {
		if got := widthAt(tt.level, tt.index, tt.size); got != tt.want {
			t.Errorf("widthAt(%d, %d, %d) = %d, want %d", tt.level, tt.index, tt.size, got, tt.want)
		}
	}
}

// Every inclusion and consistency proof that the tiles give is accepted by
// x/mod and equals its own.
func TestProofsEqualThoseOfXMod(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 1100)
	s := newStore(t)
	followTo(t, s, m, 1100)
	for old := uint64(1); old <= 1100; old += 1 + old/9 {
		for size := old; size <= 1100; size += 1 + size/7 {
			path, err := s.Consistency(ctx, m.origin(), old, size)
			if err != nil || !slices.Equal(path, m.consistency(old, size)) {
				t.Fatalf("consistency from %d to %d differs from x/mod, %v", old, size, err)
			}
			if err := merkle.VerifyConsistency(old, size, m.root(old), m.root(size), path); err != nil {
				t.Fatalf("consistency from %d to %d: %v", old, size, err)
			}
		}
	}
	for _, bad := range [][2]uint64{{0, 5}, {6, 5}, {5, 1101}, {1101, 1101}, {0, 0}} {
		if _, err := s.Consistency(ctx, m.origin(), bad[0], bad[1]); !errors.Is(err, ErrNotFound) {
			t.Errorf("consistency from %d to %d: %v", bad[0], bad[1], err)
		}
	}
	for i := uint64(0); i < 1100; i += 13 {
		part, err := s.Prove(ctx, m.origin(), m.recs[i].Header.Root)
		if err != nil {
			t.Fatal(err)
		}
		m.checkPart(t, part, 1100)
	}
}

// A client that holds an earlier head finds the partial tiles of that head.
func TestEveryNarrowerWidthIsServed(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 300)
	s := newStore(t)
	followTo(t, s, m, 300)
	for _, tt := range []struct {
		index uint64
		width int
		ok    bool
	}{
		{0, 256, true}, {0, 255, true}, {0, 1, true}, {1, 44, true}, {1, 43, true},
		{0, 0, false}, {0, -1, false}, {0, 257, false}, {1, 45, false}, {1, 256, false}, {2, 1, false}, {1 << 62, 1, false},
	} {
		tileBytes, err := s.Tile(ctx, m.origin(), 0, tt.index, tt.width)
		_, entriesErr := s.Entries(ctx, m.origin(), tt.index, tt.width)
		if !tt.ok {
			if !errors.Is(err, ErrNotFound) || !errors.Is(entriesErr, ErrNotFound) {
				t.Errorf("tile and entries %d of width %d: %v, %v", tt.index, tt.width, err, entriesErr)
			}
			continue
		}
		want, wantErr := tlog.ReadTileData(tlog.Tile{H: 8, L: 0, N: int64(tt.index), W: tt.width}, m.hashes)
		if err != nil || entriesErr != nil || wantErr != nil || !slices.Equal(tileBytes, want) {
			t.Errorf("tile %d of width %d differs from x/mod: %v, %v, %v", tt.index, tt.width, err, entriesErr, wantErr)
		}
		m.checkEntries(t, s, int(tt.index), tt.width)
	}
	for _, level := range []uint8{2, 7, 8, 255} {
		if _, err := s.Tile(ctx, m.origin(), level, 0, 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("tile of level %d: %v", level, err)
		}
	}
}

// A node that is not wholly inside the tree is an error, at the border of what
// is signed as at that of what is stored.
func TestNodesBeyondTheTreeAreRefused(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 300)
	s := newStore(t)
	followTo(t, s, m, 300)
	err := s.withLog(ctx, m.origin(), func(tx *sql.Tx, l *log) error {
		for _, size := range []uint64{255, 256, 300} { // below 300 the rest counts as staged
			stored := newTiles(ctx, tx, l.id, size)
			border, err := loadEdge(newTiles(ctx, tx, l.id, size))
			if err != nil {
				return err
			}
			for level := range uint8(10) {
				nodes := size >> level
				for _, index := range []uint64{nodes, nodes + 1, nodes + 256, 1 << 50} {
					if _, err := stored.Node(level, index); !errors.Is(err, ErrNotFound) {
						t.Errorf("node %d of level %d in a tree of %d: %v", index, level, size, err)
					}
					if _, err := border.Node(level, index); !errors.Is(err, ErrNotFound) {
						t.Errorf("node %d of level %d on the border of a tree of %d: %v", index, level, size, err)
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
