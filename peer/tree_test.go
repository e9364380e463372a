package peer

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"arborist/merkle"
)

// tileServer serves the tiles of a tree of any size, and counts them.
type tileServer struct {
	tree    *merkle.Tree
	size    uint64
	alter   func(level uint8, index uint64, b []byte) []byte // nil: honest
	fetched int
}

func (s *tileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	res, ok := parseResource(strings.TrimPrefix(r.URL.Path, PathPrefix))
	if !ok || res.kind != kindTile {
		http.NotFound(w, r)
		return
	}
	s.fetched++
	var b []byte
	for i := range uint64(res.width) {
		h, err := s.tree.Node(8*res.level, res.index*tileWidth+i)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		b = append(b, h[:]...)
	}
	if s.alter != nil {
		b = s.alter(res.level, res.index, b)
	}
	w.Write(b)
}

func leavesOf(n int) []merkle.Hash {
	leaves := make([]merkle.Hash, n)
	for i := range leaves {
		leaves[i] = merkle.LeafHash(fmt.Append(nil, "record ", i))
	}
	return leaves
}

func openTestTree(t *testing.T, s *tileServer) (*tree, error) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	src, err := openURL(server.URL, Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(src.close)
	root, err := merkle.RootAt(s.tree, s.size)
	if err != nil {
		t.Fatal(err)
	}
	return openTree(t.Context(), src, mustCorpus(t, testPeer+"/main"), s.size, root)
}

func TestTilesGiveEveryNodeOfTheTree(t *testing.T) {
	leaves := leavesOf(70_000)
	all := merkle.NewTree(leaves)
	for _, size := range []uint64{1, 2, 255, 256, 257, 511, 512, 65_535, 65_536, 65_537, 70_000} {
		s := &tileServer{tree: all, size: size}
		tree, err := openTestTree(t, s)
		if err != nil {
			t.Fatalf("size %d: %v", size, err)
		}
		for old := uint64(1); old <= size; old = old*3 + 1 {
			want, err := merkle.RootAt(all, old)
			if err != nil {
				t.Fatal(err)
			}
			got, err := merkle.RootAt(tree, old)
			if err != nil || got != want {
				t.Errorf("size %d: root at %d = %x, %v, want %x", size, old, got, err, want)
			}
			path, err := merkle.Consistency(tree, old, size)
			if err != nil {
				t.Fatal(err)
			}
			root, _ := merkle.RootAt(all, size)
			if err := merkle.VerifyConsistency(old, size, want, root, path); err != nil {
				t.Errorf("size %d: consistency from %d: %v", size, old, err)
			}
		}
		for index := uint64(0); index*tileWidth < size; index += 1 + index/2 {
			bundle := leaves[index*tileWidth : min((index+1)*tileWidth, size)]
			if err := tree.verifyBundle(index, bundle); err != nil {
				t.Errorf("size %d: bundle %d: %v", size, index, err)
			}
			lie := append([]merkle.Hash(nil), bundle...)
			lie[len(lie)-1][9] ^= 1
			if err := tree.verifyBundle(index, lie); !errors.Is(err, ErrTampered) {
				t.Errorf("size %d: a bundle %d with another record: %v", size, index, err)
			}
			if err := tree.verifyBundle(index, bundle[:len(bundle)-1]); !errors.Is(err, ErrTampered) {
				t.Errorf("size %d: bundle %d without its last record: %v", size, index, err)
			}
		}
		if _, err := tree.Node(0, size); err == nil {
			t.Errorf("size %d: a leaf beyond the end was given", size)
		}
		if _, err := tree.Node(63, 1); err == nil {
			t.Errorf("size %d: a node beyond the tree was given", size)
		}
	}
}

func TestReadingALogFromLeftToRightFetchesEachTileOnce(t *testing.T) {
	leaves := leavesOf(70_000)
	s := &tileServer{tree: merkle.NewTree(leaves), size: 70_000}
	tree, err := openTestTree(t, s)
	if err != nil {
		t.Fatal(err)
	}
	for index := uint64(0); index*tileWidth < s.size; index++ {
		if err := tree.verifyBundle(index, leaves[index*tileWidth:min((index+1)*tileWidth, s.size)]); err != nil {
			t.Fatal(err)
		}
	}
	// The border of three levels and the one full tile of level 1; leaves are
	// checked against it without their own tiles.
	if s.fetched != 4 {
		t.Errorf("%d tiles were fetched for 274 bundles, want 4", s.fetched)
	}
}

func TestNoAlteredTileIsBelieved(t *testing.T) {
	leaves := leavesOf(66_000)
	all := merkle.NewTree(leaves)
	for level := range uint8(3) {
		for _, full := range []bool{true, false} {
			s := &tileServer{tree: all, size: 66_000}
			s.alter = func(l uint8, index uint64, b []byte) []byte {
				if l == level && (len(b) == 8192) == full {
					b[len(b)/2] ^= 0x10
				}
				return b
			}
			tree, err := openTestTree(t, s)
			if err == nil {
				_, err = merkle.RootAt(tree, 1000)
			}
			if full && level == 2 { // there is none in so small a tree
				continue
			}
			var blamed *SourceError
			if !errors.Is(err, ErrTampered) || !errors.As(err, &blamed) || !strings.Contains(blamed.Resource, fmt.Sprintf("tile/%d/", level)) && full {
				t.Errorf("level %d, full %v: %v, want ErrTampered that names the tile", level, full, err)
			}
		}
	}
}

func TestHugeLogsAreRefusedBeforeTheyAreFetched(t *testing.T) {
	s := &tileServer{tree: merkle.NewTree(leavesOf(1)), size: 1}
	server := httptest.NewServer(s)
	defer server.Close()
	src, err := openURL(server.URL, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.close()
	_, err = openTree(t.Context(), src, mustCorpus(t, testPeer+"/main"), 1<<62, merkle.Hash{1})
	if !errors.Is(err, ErrTooLarge) || s.fetched != 0 {
		t.Errorf("a log of 2^62 records = %v after %d tiles, want ErrTooLarge after none", err, s.fetched)
	}
}
