package peer

import (
	"strings"
	"testing"

	"arborist/document"
	"arborist/merkle"
)

const (
	testPeer = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
	testRoot = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
	testOld  = "bafkreif6ko2p22cdlxyc4vjlynq5lgmj4f7h47bfdi5obsqjsq2tvtccce"
)

func TestEveryPathNamesOneResource(t *testing.T) {
	corpus, err := ParseCorpusID(testPeer + "/main")
	if err != nil {
		t.Fatal(err)
	}
	root, err := document.ParseRoot(testRoot)
	if err != nil {
		t.Fatal(err)
	}
	old, err := document.ParseRoot(testOld)
	if err != nil {
		t.Fatal(err)
	}
	p := testPeer + "/main/"
	for path, want := range map[string]resource{
		"corpora":                                {kind: kindCorpora},
		p + "key":                                {kind: kindKey, corpus: corpus},
		p + "checkpoint":                         {kind: kindCheckpoint, corpus: corpus},
		p + "tile/0/000":                         {kind: kindTile, corpus: corpus, width: 256},
		p + "tile/7/x001/x234/067":               {kind: kindTile, corpus: corpus, level: 7, index: 1234067, width: 256},
		p + "tile/1/001.p/255":                   {kind: kindTile, corpus: corpus, level: 1, index: 1, width: 255},
		p + "tile/entries/000.p/1":               {kind: kindEntries, corpus: corpus, width: 1},
		p + "pack/x001/000":                      {kind: kindPack, corpus: corpus, index: 1000, width: 256},
		p + "filter":                             {kind: kindFilter, corpus: corpus},
		p + "fuse/0a" + strings.Repeat("00", 31): {kind: kindFuse, corpus: corpus, sum: merkle.Hash{10}},
		p + "doc/" + testRoot:                    {kind: kindDoc, corpus: corpus, root: root},
		p + "delta/" + testRoot + "/" + testOld:  {kind: kindDelta, corpus: corpus, root: root, old: old},
		p + "proof/" + testRoot + "/0":           {kind: kindProof, corpus: corpus, root: root},
		p + "proof/" + testRoot + "/100200":      {kind: kindProof, corpus: corpus, root: root, chunk: 100200},
	} {
		got, ok := parseResource(path)
		if !ok || got != want {
			t.Errorf("parseResource(%q) = %+v, %v, want %+v", path, got, ok, want)
		}
		if got.path() != path {
			t.Errorf("path of %q = %q", path, got.path())
		}
	}
}

func TestOtherSpellingsNameNothing(t *testing.T) {
	p := testPeer + "/main/"
	for _, path := range []string{
		"", "/", "corpora/", "/corpora", "Corpora", "corpora/x",
		testPeer, testPeer + "/", testPeer + "/main", testPeer + "/main/",
		testPeer + "/../key", testPeer + "/./key", testPeer + "/-a/key",
		testPeer + "/" + strings.Repeat("a", 65) + "/key", testPeer + "//key",
		testPeer + "/a b/key", testPeer + "/ä/key", testPeer + "/a%2fb/key", testPeer + "/a\x00/key",
		// The same key as a CID, an RSA-like hash ID, no ID at all.
		"QmcgpsyWgH8Y8ajJz1Cu72KnS5uo2Aa2LpzU7kinSupNKC/main/key", "x/main/key",
		p + "key/", p + "keys", p + "key/x", p + "checkpoint/",
		p + "filter/", p + "filter/x", p + "fuse", p + "fuse/", p + "fuse/0A" + strings.Repeat("00", 31), p + "fuse/" + strings.Repeat("00", 31), p + "fuse/" + strings.Repeat("00", 33), p + "fuse/" + strings.Repeat("0g", 32),
		p + "tile", p + "tile/", p + "tile/0", p + "tile/0/", p + "tile/0/0", p + "tile/0/00", p + "tile/0/0000",
		p + "tile/00/000", p + "tile/+1/000", p + "tile/8/000", p + "tile/64/000", p + "tile/-1/000", p + "tile/0/x000/000",
		p + "tile/0/001/000", p + "tile/0/x001/x000", p + "tile/0/xx01/000", p + "tile/0/+01",
		p + "tile/0/000.p/0", p + "tile/0/000.p/256", p + "tile/0/000.p/01", p + "tile/0/000.p/", p + "tile/0/000.p",
		p + "tile/0/000.p/1/", p + "tile/0/000.p/1.p/1", p + "tile/0/x999/x999/x999/x999/x999/x999/999",
		p + "tile/entries", p + "tile/entries/", p + "tile/entries/x000/000", p + "tile/entries/000/x",
		p + "pack/", p + "pack/0", p + "doc/", p + "doc/" + testRoot + "/", p + "doc/" + strings.ToUpper(testRoot),
		p + "delta/" + testRoot, p + "delta/" + testRoot + "/", p + "delta//" + testRoot, p + "delta/" + testRoot + "/" + testOld + "/", p + "delta/" + testRoot + "/0",
		p + "doc/" + testRoot + "\n", p + "proof/" + testRoot, p + "proof/" + testRoot + "/", p + "proof/" + testRoot + "/00",
		p + "proof/" + testRoot + "/-1", p + "proof/" + testRoot + "/18446744073709551616",
		p + "ipfs/" + testRoot, p + strings.Repeat("a", 5000),
	} {
		if r, ok := parseResource(path); ok {
			t.Errorf("parseResource(%.200q) = %+v, want nothing", path, r)
		}
	}
}

func TestTilePathsAreThoseOfC2SP(t *testing.T) {
	for _, c := range []struct {
		index uint64
		width int
		want  string
	}{
		{0, 256, "000"}, {999, 256, "999"}, {1000, 256, "x001/000"}, {1234067, 256, "x001/x234/067"},
		{273, 112, "273.p/112"}, {1234067, 1, "x001/x234/067.p/1"},
	} {
		if got := tilePath(c.index, c.width); got != c.want {
			t.Errorf("tilePath(%d, %d) = %q, want %q", c.index, c.width, got, c.want)
		}
	}
}

func FuzzParsedPathsHaveOneSpelling(f *testing.F) {
	p := testPeer + "/main/"
	for _, s := range []string{
		"corpora", p + "key", p + "checkpoint", p + "tile/0/x001/x234/067.p/3", p + "tile/entries/000", p + "pack/000.p/9",
		p + "doc/" + testRoot, p + "proof/" + testRoot + "/12", p + "tile/0/000.p/000", "x/y/z",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if r, ok := parseResource(s); ok && r.path() != s {
			t.Errorf("parseResource(%q) is spelt %q", s, r.path())
		}
	})
}
