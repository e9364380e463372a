package peer

import (
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"arborist/document"
	"arborist/merkle"
	"arborist/proof"
)

// A published is a corpus as files: what a web server without any program of
// ours would serve, and what a hostile publisher can make by hand.
type published map[string][]byte

// publishFiles signs a log of lines, whatever they say, and lays out its
// resources. Packs hold the documents that texts has.
func publishFiles(t testing.TB, n *node, lines [][]byte, texts map[document.Root][]byte) published {
	t.Helper()
	id, err := loadIdentity(n.keyFile())
	if err != nil {
		t.Fatal(err)
	}
	signer, err := proof.NewSigner(n.origin("main"), [32]byte{7})
	if err != nil {
		t.Fatal(err)
	}
	corpus := mustCorpus(t, n.origin("main"))
	files := make(published)
	put := func(r resource, b []byte) {
		r.corpus = corpus
		files[r.path()] = b
	}
	statement, err := id.statement(signer.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	put(resource{kind: kindKey}, statement)
	size := uint64(len(lines))
	leaves := make([]merkle.Hash, size)
	for i, line := range lines {
		leaves[i] = merkle.LeafHash(line)
	}
	note, err := proof.SignCheckpoint(proof.Checkpoint{Origin: signer.Name(), Size: size, Root: merkle.Root(leaves)}, signer)
	if err != nil {
		t.Fatal(err)
	}
	put(resource{kind: kindCheckpoint}, note)
	for level := uint8(0); len(leaves) > 0; level++ {
		var above []merkle.Hash
		for i := 0; i < len(leaves); i += tileWidth {
			tile := leaves[i:min(i+tileWidth, len(leaves))]
			var b []byte
			for _, h := range tile {
				b = append(b, h[:]...)
			}
			put(resource{kind: kindTile, level: level, index: uint64(i / tileWidth), width: len(tile)}, b)
			if len(tile) == tileWidth {
				above = append(above, merkle.Root(tile))
			}
		}
		leaves = above
	}
	for i := 0; i < len(lines); i += tileWidth {
		var entries, pack []byte
		width := min(tileWidth, len(lines)-i)
		for _, line := range lines[i : i+width] {
			entries = binary.BigEndian.AppendUint16(entries, uint16(len(line)))
			entries = append(entries, line...)
			if r, err := proof.ParseRecord(line); err == nil && r.Op != proof.OpWithdraw {
				pack = appendElementHead(pack, r.Header)
				pack = append(pack, texts[r.Header.Root]...)
				put(resource{kind: kindDoc, root: r.Header.Root}, append(appendElementHead(nil, r.Header), texts[r.Header.Root]...))
			}
		}
		at := resource{index: uint64(i / tileWidth), width: width}
		at.kind = kindEntries
		put(at, entries)
		at.kind = kindPack
		put(at, pack)
	}
	return files
}

// serve serves the files and nothing else.
func (p published) serve(t testing.TB) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, ok := p[strings.TrimPrefix(r.URL.Path, PathPrefix)]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write(b)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// lineOf spells out a record without asking whether it may be one.
func lineOf(t testing.TB, r proof.Record) []byte {
	t.Helper()
	line, err := r.Line()
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func recordOf(e document.Entry, supersedes document.ID) proof.Record {
	return proof.NewRecord(e.Document.Header(), e.Location, supersedes)
}

func TestAFolderOfFilesCanBeFollowed(t *testing.T) {
	a, b := newNode(t), newNode(t).up(nil)
	var lines [][]byte
	texts := make(map[document.Root][]byte)
	all := entriesOf(t, "doc:/x", 520, 150)
	all[3].Location.URI = "doc:/" + strings.Repeat("u", proof.MaxURI-5)
	all[4].Location.Title = strings.Repeat("t", proof.MaxTitle)
	all[5].Location.Source = strings.Repeat("s", proof.MaxSource)
	for _, e := range all {
		lines = append(lines, lineOf(t, recordOf(e, document.ID{})))
		texts[e.Document.Root()] = e.Document.Text()
	}
	url := publishFiles(t, a, lines, texts).serve(t)
	if res := b.sync(url, a.origin("main")); res.Documents != 520 || res.Size != 520 {
		t.Errorf("sync = %+v", res)
	}
}

func TestAPublisherCannotSignAwayTheRules(t *testing.T) {
	x, y := entryOf(t, "doc:/1", "The first text."), entryOf(t, "doc:/1", "Another text.")
	good := lineOf(t, recordOf(x, document.ID{}))
	texts := map[document.Root][]byte{x.Document.Root(): x.Document.Text(), y.Document.Root(): y.Document.Text()}
	lie := func(change func(*document.Header)) []byte {
		h := x.Document.Header()
		change(&h)
		return lineOf(t, proof.NewRecord(h, x.Location, document.ID{}))
	}
	for _, c := range []struct {
		name  string
		lines [][]byte
		want  []error
	}{
		{"a URI added twice", [][]byte{good, lineOf(t, recordOf(y, document.ID{}))}, []error{ErrMalformed}},
		{"the same record twice", [][]byte{good, good}, []error{ErrMalformed}},
		{"superseding what is not there", [][]byte{lineOf(t, recordOf(y, x.Document.Header().ID()))}, []error{ErrMalformed}},
		{"withdrawing what is not there", [][]byte{lineOf(t, recordOf(x, document.ID{}).Withdrawal(testTime))}, []error{ErrMalformed}},
		{"not a record", [][]byte{[]byte("hello")}, []error{ErrMalformed}},
		{"an empty line", [][]byte{{}}, []error{ErrMalformed}},
		{"a second spelling", [][]byte{append([]byte(" "), good...)}, []error{ErrMalformed}},
		{"a chunk count that is wrong", [][]byte{lie(func(h *document.Header) { h.Chunks = 2 })}, []error{ErrTampered}},
		{"a text of 64 MiB that is not there", [][]byte{lie(func(h *document.Header) { h.Bytes = document.MaxBytes })}, []error{ErrTruncated}},
		{"another root", [][]byte{lie(func(h *document.Header) { h.Root[5] ^= 1 })}, []error{ErrTruncated, ErrTampered}},
		{"a newer chunker", [][]byte{lie(func(h *document.Header) { h.Chunker = "block-v9" })}, []error{ErrNewer}},
		{"a newer norm", [][]byte{lie(func(h *document.Header) { h.Norm = "norm-v9" })}, []error{ErrNewer}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := newNode(t), newNode(t).up(nil)
			url := publishFiles(t, a, c.lines, texts).serve(t)
			grown := heapGrowth(func() {
				_, err := b.peer.Sync(t.Context(), url, a.origin("main"), nil)
				checkBlame(t, err, url+PathPrefix, a.origin("main"), c.want)
			})
			if grown > 16<<20 {
				t.Errorf("%d MiB were allocated", grown>>20)
			}
			if got := b.size(a.origin("main")); got != 0 {
				t.Errorf("the log moved to %d", got)
			}
			// Content that was served under its right root may stay, as verified
			// as any; anything else must not.
			for root := range texts {
				if has, _ := b.shared.Has(t.Context(), []document.Root{root}); has[0] {
					return
				}
			}
			if b.documents() != 0 {
				t.Error("a document was stored that nobody published")
			}
		})
	}
}
