package peer

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"arborist/document"
)

// Documents hands on what hashes to its header and nothing else, whoever sends it.
func TestDocumentsHandsOnWhatIsVerifiedAlone(t *testing.T) {
	a := newNode(t).up(listenTCP)
	a.publish("main", entriesOf(t, "doc:/x", 6, 200)...)
	records, err := a.shared.Corpora().Records(t.Context(), a.origin("main"), 0, 6)
	if err != nil {
		t.Fatal(err)
	}
	var wanted []Listed
	for i, r := range records {
		wanted = append(wanted, Listed{r.Header, uint64(i)})
	}
	nowhere, err := document.New([]byte("listed by nobody"))
	if err != nil {
		t.Fatal(err)
	}
	b := newNode(t).up(nil)
	ask := func(from, origin string) (roots []document.Root, err error) {
		err = b.peer.Documents(t.Context(), from, origin, append([]Listed{{nowhere.Header(), 6}, {nowhere.Header(), 2}}, wanted...), func(d *document.Document) error {
			roots = append(roots, d.Root())
			return nil
		})
		return roots, err
	}
	if roots, err := ask(a.addr(), a.origin("main")); err != nil || len(roots) != len(wanted) {
		t.Fatalf("%d documents, %v", len(roots), err)
	}
	if _, err := ask(a.addr(), a.origin("other")); !errors.Is(err, ErrNoCorpus) {
		t.Errorf("a corpus that is not served: %v", err)
	}
	for _, alt := range append(common(), alteration{"a text of 4 GiB", elementWith(-1, 1<<32-1), []error{ErrTampered}}) {
		t.Run(alt.name, func(t *testing.T) {
			change, hits := changing(ofKind(kindDoc), alt.alter)
			evil := newRelay(t, a, change)
			roots, err := ask(evil.addr, a.origin("main"))
			if len(roots) > 0 || hits.Load() == 0 {
				t.Fatalf("%d documents, %d altered, %v", len(roots), hits.Load(), err)
			}
			if alt.name != "zeros" { // which say that it has none
				checkBlame(t, err, evil.host.ID().String(), string(kindDoc), alt.want)
			}
		})
	}
	stop := errors.New("enough")
	calls := 0
	err = b.peer.Documents(t.Context(), a.addr(), a.origin("main"), wanted, func(*document.Document) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// Of a tree that has packs alone the documents come out of these, each verified: a
// log that lists something else at that place has none, and no lie about it brings
// another text.
func TestDocumentsComeOutOfThePacksOfATree(t *testing.T) {
	a, b := newNode(t), newNode(t).up(nil)
	var lines [][]byte
	texts := make(map[document.Root][]byte)
	var wanted []Listed
	for i, e := range entriesOf(t, "doc:/x", tileWidth+4, 200) { // a full bundle and a part of one
		lines = append(lines, lineOf(t, recordOf(e, document.ID{})))
		texts[e.Document.Root()] = e.Document.Text()
		wanted = append(wanted, Listed{e.Document.Header(), uint64(i)})
	}
	files := publishFiles(t, a, lines, texts)
	for name := range files {
		if strings.Contains(name, "/"+string(kindDoc)+"/") {
			delete(files, name)
		}
	}
	id := mustCorpus(t, a.origin("main"))
	first := resource{kind: kindEntries, corpus: id, width: tileWidth}
	second := first
	second.index, second.width = 1, 4
	pack := second
	pack.kind = kindPack
	ask := func(files published, wanted ...Listed) (n int, err error) {
		err = b.peer.Documents(t.Context(), files.serve(t), a.origin("main"), wanted, func(d *document.Document) error {
			if want := texts[d.Root()]; string(want) != string(d.Text()) {
				t.Errorf("document %s is another text", d.Root())
			}
			n++
			return nil
		})
		return n, err
	}
	if n, err := ask(files, wanted...); n != len(wanted) || err != nil {
		t.Fatalf("%d of %d documents, %v", n, len(wanted), err)
	}
	elsewhere := []Listed{{wanted[0].Header, 1}, {wanted[0].Header, tileWidth}, {wanted[0].Header, 9999}, {wanted[0].Header, 1<<64 - 1}}
	if n, err := ask(files, elsewhere...); n > 0 || err != nil {
		t.Errorf("at places that list another: %d documents, %v", n, err)
	}
	for name, change := range map[string]func(published){
		"a text of the pack":        func(p published) { p[pack.path()][len(p[pack.path()])-1] ^= 1 },
		"records in another order":  func(p published) { p[second.path()] = p[first.path()] },
		"a bundle that is cut":      func(p published) { p[second.path()] = p[second.path()][:9] },
		"a pack that is cut":        func(p published) { p[pack.path()] = p[pack.path()][:9] },
		"a checkpoint that is none": func(p published) { p[resource{kind: kindCheckpoint, corpus: id}.path()] = []byte("none") },
		"a bundle that is not text": func(p published) { p[second.path()] = bytes.Repeat([]byte{0xff}, 4096) },
		"a pack of the one before":  func(p published) { p[pack.path()] = p[resource{kind: kindPack, corpus: id, width: tileWidth}.path()] },
		"a bundle of many more":     func(p published) { p[second.path()] = bytes.Repeat(p[second.path()], 99999) },
	} {
		bad := make(published)
		for k, v := range files {
			bad[k] = bytes.Clone(v)
		}
		change(bad)
		if n, err := ask(bad, wanted[tileWidth+3]); n > 0 || err == nil {
			t.Errorf("%s: %d documents, %v", name, n, err)
		}
	}
}
