package car

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"arborist/document"
)

func newItem(t testing.TB, text string, uris ...string) Item {
	t.Helper()
	d, err := document.New([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	item := Item{Document: d}
	for i, uri := range uris {
		item.Locations = append(item.Locations, document.Location{URI: uri, Title: "Title " + uri, Source: "test", FetchedAt: time.Unix(1_700_000_000+int64(i), 0).UTC()})
	}
	return item
}

// longText has about n lines, of which none is like another.
func longText(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Line %d of a long text speaks of %x and of %x.\n\n", i, r.Uint64(), r.Uint64())
	}
	return b.String()
}

// written returns an archive of the items, and its root.
func written(t testing.TB, items ...Item) ([]byte, string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "a.car"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := NewWriter(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range items {
		if err := w.Add(item); err != nil {
			t.Fatal(err)
		}
	}
	root, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(b)) != w.Bytes() {
		t.Fatalf("Bytes() = %d, the file has %d", w.Bytes(), len(b))
	}
	return b, root
}

func read(ctx context.Context, b []byte) (items []Item, err error) {
	a, err := Open(ctx, bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		return nil, err
	}
	err = a.Each(ctx, func(item Item) error {
		items = append(items, item)
		return nil
	})
	return items, err
}

func checkSame(t *testing.T, got, want []Item) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d documents, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Document.Header() != want[i].Document.Header() || !bytes.Equal(got[i].Document.Text(), want[i].Document.Text()) {
			t.Fatalf("document %d is %s, want %s", i, got[i].Document.Root(), want[i].Document.Root())
		}
		if fmt.Sprint(got[i].Locations) != fmt.Sprint(want[i].Locations) {
			t.Fatalf("document %d is at %v, want %v", i, got[i].Locations, want[i].Locations)
		}
	}
}

// A document of over 8,192 chunks and an archive of more documents need lists.
func TestDocumentsComeBackAsTheyWere(t *testing.T) {
	many := []Item{newItem(t, longText(110_000), "https://example.org/long")}
	for i := range 3 {
		many = append(many, newItem(t, fmt.Sprintf("Document %d", i), fmt.Sprintf("https://example.org/%d", i)))
	}
	if n := many[0].Document.Chunks(); n <= maxLinks {
		t.Fatalf("the long document has only %d chunks", n)
	}
	var crowd []Item
	for i := range maxLinks + 2 {
		crowd = append(crowd, newItem(t, fmt.Sprintf("One of many: %d", i)))
	}
	for name, items := range map[string][]Item{
		"none": nil, "one": {newItem(t, "Just this.", "https://example.org/")},
		"no place": {newItem(t, "Found nowhere.")}, "two places": {newItem(t, "Found twice.", "https://a.example/", "https://b.example/")},
		"long and short": many, "more than a list": crowd,
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := written(t, items...)
			got, err := read(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			checkSame(t, got, items)
		})
	}
}

// The root names everything: whatever changes, it does too.
func TestTheSameDocumentsGiveTheSameArchive(t *testing.T) {
	item := newItem(t, "# Quarry\n\nStone is cut here.\n", "https://example.org/quarry")
	b, root := written(t, item)
	if again, _ := written(t, item); !bytes.Equal(b, again) {
		t.Fatal("a second archive has other bytes")
	}
	const want = "bafyreic66tkjgss3e67juudlmkyxu2ld6moburneshd3vak7ytovjlhy5y"
	if root != want {
		t.Errorf("the root is %s, was %s", root, want)
	}
	// Others find the leaf under the CID that its document's tree gives it.
	leaf, err := item.Document.Tree().Node(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := linkOf(codecRaw, leaf)
	if !bytes.Contains(b, append(l[:], 0)) {
		t.Error("no block has the CID of the leaf")
	}
	if header := linkOf(codecRaw, item.Document.Header().ID()); !bytes.Contains(b, header[:]) {
		t.Error("no block has the document ID as its CID")
	}
}

// TestNoTamperedArchiveGivesAnotherDocument changes, drops and adds each byte.
func TestNoTamperedArchiveGivesAnotherDocument(t *testing.T) {
	items := []Item{newItem(t, longText(40), "https://example.org/a"), newItem(t, "Short.", "https://example.org/b")}
	b, _ := written(t, items...)
	try := func(what string, at int, bad []byte) {
		got, err := read(t.Context(), bad)
		if err == nil {
			t.Fatalf("%s at byte %d was taken: %d documents", what, at, len(got))
		}
		if !errors.Is(err, ErrFormat) {
			t.Fatalf("%s at byte %d: %v does not wrap ErrFormat", what, at, err)
		}
		checkSame(t, got, items[:len(got)])
	}
	for i := range b {
		flipped := bytes.Clone(b)
		flipped[i] ^= 1 << (i % 8)
		try("a changed bit", i, flipped)
		try("a missing byte", i, append(bytes.Clone(b[:i]), b[i+1:]...))
		if i%7 == 0 {
			try("a cut", i, b[:i])
			try("a byte more", i, append(append(bytes.Clone(b[:i]), 0), b[i:]...))
		}
	}
}

// rooted returns an archive of these blocks, in this order, with roots.
func rooted(roots []link, blocks ...[]byte) []byte {
	b := frame(nil, encodeHeader(roots))
	for _, block := range blocks {
		codec := byte(codecDagCBOR)
		if len(block) > 0 && (block[0] <= 1 || bytes.HasPrefix(block, []byte("arborist-document/"))) {
			codec = codecRaw
		}
		l := linkTo(codec, block)
		b = frame(b, append(l[:], block...))
	}
	return b
}

// parts returns the blocks of a document of one chunk: chunk, header, manifest.
func parts(d *document.Document) (chunk, header []byte, m manifest) {
	chunk, header = append([]byte{0}, d.Chunk(0)...), d.Header().Text()
	return chunk, header, manifest{chunks: []link{linkTo(codecRaw, chunk)}, header: linkTo(codecRaw, header)}
}

func TestArchivesOfOthersAreRead(t *testing.T) {
	item := newItem(t, "Alone.")
	chunk, header, m := parts(item.Document)
	block := m.encode()
	c := collection{documents: []link{linkTo(codecDagCBOR, block)}}
	for name, b := range map[string][]byte{
		"root first":      rooted([]link{linkTo(codecDagCBOR, c.encode())}, c.encode(), block, header, chunk),
		"manifest a root": rooted([]link{linkTo(codecDagCBOR, block)}, block, chunk, header),
		"blocks twice":    rooted([]link{linkTo(codecDagCBOR, block)}, chunk, block, chunk, header, block),
		"blocks of others": rooted([]link{linkTo(codecDagCBOR, block)}, []byte{0xa0}, chunk, block, header,
			[]byte{1, 2, 3}),
	} {
		got, err := read(t.Context(), b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkSame(t, got, []Item{item})
	}
}

// Each archive here has honest blocks that say something that does not hold.
func TestLyingArchivesAreRefused(t *testing.T) {
	d := newItem(t, "Alone.").Document
	chunk, header, m := parts(d)
	other := newItem(t, "Another one.").Document
	archive := func(m manifest, blocks ...[]byte) []byte {
		block := m.encode()
		return rooted([]link{linkTo(codecDagCBOR, block)}, append(blocks, block)...)
	}
	with := func(change func(*manifest)) manifest {
		changed := m
		change(&changed)
		return changed
	}
	again := collection{documents: []link{linkTo(codecDagCBOR, m.encode()), linkTo(codecDagCBOR, m.encode())}}
	for name, b := range map[string][]byte{
		"the header of another document": archive(with(func(m *manifest) { m.header = linkTo(codecRaw, other.Header().Text()) }), chunk, other.Header().Text()),
		"no chunks":                      archive(with(func(m *manifest) { m.chunks = nil }), header),
		"a chunk twice":                  archive(with(func(m *manifest) { m.chunks = []link{m.chunks[0], m.chunks[0]} }), chunk, header),
		"a node as a chunk":              archive(with(func(m *manifest) { m.chunks = []link{linkTo(codecRaw, []byte{1, 2})} }), []byte{1, 2}, header),
		"a chunk behind another byte":    archive(with(func(m *manifest) { m.chunks = []link{linkTo(codecRaw, append([]byte{1}, chunk[1:]...))} }), append([]byte{1}, chunk[1:]...), header),
		"a chunk that is not there":      archive(m, header),
		"a header that is not there":     archive(m, chunk),
		"a header that is none":          archive(with(func(m *manifest) { m.header = linkTo(codecRaw, chunk) }), chunk),
		"a list as a chunk":              archive(with(func(m *manifest) { m.chunks = []link{linkTo(codecDagCBOR, []byte{0xa0})} }), []byte{0xa0}, header),
		"a chunk as a list":              archive(with(func(m *manifest) { m.lists = true }), chunk, header),
		"a document twice":               rooted([]link{linkTo(codecDagCBOR, again.encode())}, again.encode(), m.encode(), chunk, header),
		"no root":                        rooted(nil, chunk),
		"a root that is not there":       rooted([]link{linkTo(codecDagCBOR, m.encode())}, chunk, header),
		"a raw root":                     rooted([]link{linkTo(codecRaw, chunk)}, chunk),
		"a map of another form":          rooted([]link{linkTo(codecDagCBOR, []byte{0xa0})}, []byte{0xa0}),
		"nothing":                        nil,
		"a length of 2 GiB":              {0x80, 0x80, 0x80, 0x80, 0x08},
		"an endless length":              bytes.Repeat([]byte{0xff}, 100),
		"CARv2":                          {0x0a, 0xa1, 0x67, 'v', 'e', 'r', 's', 'i', 'o', 'n', 0x02},
		"not an archive":                 []byte("PK\x03\x04 and so on, and so on, and so on"),
	} {
		if got, err := read(t.Context(), b); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %d documents, error %v", name, len(got), err)
		}
	}
}

// One value has one spelling: none of these blocks is read, though a lax reader
// of CBOR takes them for a manifest.
func TestASecondSpellingIsRefused(t *testing.T) {
	_, _, m := parts(newItem(t, "Alone.").Document)
	good := m.encode()
	if _, err := decodeManifest(good); err != nil {
		t.Fatal(err)
	}
	swap := func(old, new string) []byte { return bytes.Replace(good, []byte(old), []byte(new), 1) }
	for name, b := range map[string][]byte{
		"a long head of the map":   swap("\xa4", "\xb8\x04"),
		"a map without length":     append(swap("\xa4", "\xbf"), 0xff),
		"a long head of a text":    swap("\x66chunks", "\x78\x06chunks"),
		"an unknown key":           swap("\x66chunks", "\x66chonks"),
		"keys in another order":    append([]byte{0xa4, 0x69}, append([]byte("locations\x80"), good[1:len(good)-11]...)...),
		"bytes behind the end":     append(bytes.Clone(good), 0),
		"an identity CID":          swap("\xd8\x2a\x58\x25\x00\x01\x55\x12\x20", "\xd8\x2a\x58\x25\x00\x01\x55\x00\x20"),
		"a CID without its zero":   swap("\xd8\x2a\x58\x25\x00", "\xd8\x2a\x58\x25\x01"),
		"a long head of the tag":   swap("\xd8\x2a\x58\x25", "\xd9\x00\x2a\x58\x25"),
		"an unknown format":        swap("arborist-document/1", "arborist-document/2"),
		"text that is not UTF-8":   swap("\x66chunks", "\x66chunk\xff"),
		"a number where text goes": swap("\x66chunks", "\x06chunks"),
	} {
		if bytes.Equal(b, good) {
			t.Fatalf("%s: nothing was changed", name)
		}
		if _, err := decodeManifest(b); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A few bytes that claim much cost little.
func TestClaimsCostNothing(t *testing.T) {
	manifest := append(appendHead(appendText([]byte{0xa4}, "chunks"), majorArray, maxLinks), 0)
	for name, b := range map[string][]byte{
		"an array of 8,192 links in one byte": manifest,
		"an array of 2^63":                    appendHead(appendText([]byte{0xa4}, "chunks"), majorArray, 1<<63),
		"a text of 2^63":                      appendHead([]byte{0xa4}, majorText, 1<<63),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := decodeManifest(b); !errors.Is(err, ErrFormat) {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc
		if allocated > 64<<10 {
			t.Errorf("%s: %d bytes were allocated", name, allocated)
		}
	}
}

func TestReadingEndsWithItsContext(t *testing.T) {
	b, _ := written(t, newItem(t, "Alone."))
	ctx, cancel := context.WithCancel(t.Context())
	a, err := Open(ctx, bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := Open(ctx, bytes.NewReader(b), int64(len(b)), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v", err)
	}
	if err := a.Each(ctx, func(Item) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Each: %v", err)
	}
}

// brokenReader gives other bytes once it was read whole: a file that changes.
type brokenReader struct {
	good []byte
	off  bool
}

func (r *brokenReader) ReadAt(b []byte, at int64) (int, error) {
	n, err := bytes.NewReader(r.good).ReadAt(b, at)
	if r.off && n > 0 {
		b[0] ^= 1
	}
	return n, err
}

func TestAFileThatChangesIsNoticed(t *testing.T) {
	b, _ := written(t, newItem(t, "Alone."))
	r := &brokenReader{good: b}
	a, err := Open(t.Context(), r, int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.off = true
	if err := a.Each(t.Context(), func(Item) error { return nil }); !errors.Is(err, ErrFormat) {
		t.Errorf("error %v", err)
	}
}

func FuzzRead(f *testing.F) {
	b, _ := written(f, newItem(f, longText(5), "https://example.org/a"), newItem(f, "Short."))
	f.Add(b)
	chunk, header, m := parts(newItem(f, "Alone.").Document)
	f.Add(rooted([]link{linkTo(codecDagCBOR, m.encode())}, chunk, header, m.encode()))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := Open(t.Context(), bytes.NewReader(b), int64(len(b)), nil)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		err = a.Each(t.Context(), func(item Item) error {
			if d, err := document.Verify(item.Document.Header(), item.Document.Text()); err != nil || d.Root() != item.Document.Root() {
				t.Fatalf("a document that does not verify: %v", err)
			}
			return nil
		})
		if err != nil && !errors.Is(err, ErrFormat) {
			t.Fatal(err)
		}
	})
}

// FuzzBlocks holds every decoder to one spelling.
func FuzzBlocks(f *testing.F) {
	_, _, m := parts(newItem(f, "Alone.").Document)
	m.locations = newItem(f, "x", "https://example.org/").Locations
	f.Add(m.encode())
	f.Add((&collection{documents: m.chunks}).encode())
	f.Add(encodeList(m.chunks))
	f.Add(encodeHeader([]link{linkOf(codecDagCBOR, [sha256.Size]byte{1})}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := decodeManifest(b); err == nil && !bytes.Equal(m.encode(), b) {
			t.Errorf("a second spelling of a manifest: %x", b)
		}
		if c, err := decodeCollection(b); err == nil && !bytes.Equal(c.encode(), b) {
			t.Errorf("a second spelling of a collection: %x", b)
		}
		if l, err := decodeList(b, codecRaw); err == nil && !bytes.Equal(encodeList(l), b) {
			t.Errorf("a second spelling of a list: %x", b)
		}
		if roots, err := decodeHeader(b); err == nil && !bytes.Equal(encodeHeader(roots), b) {
			t.Errorf("a second spelling of a header: %x", b)
		}
	})
}
