package peer

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"arborist/document"
	"arborist/proof"
)

func TestALightClientStoresNothingAndVerifiesAll(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	long := entryOf(t, "doc:/long", textOf("long", 9000))
	a.publish("other", entryOf(t, "doc:/o", "Something else."))
	a.publish("main", long)
	root := long.Document.Root()
	server := httptest.NewServer(a.peer.Handler())
	defer server.Close()
	for _, name := range []string{"", "main", a.origin("main")} {
		doc, origin, err := b.peer.Get(t.Context(), server.URL, name, root)
		if err != nil || origin != a.origin("main") || !bytes.Equal(doc.Text(), long.Document.Text()) {
			t.Errorf("get in %q: %q, %v", name, origin, err)
		}
		p, err := b.peer.Prove(t.Context(), server.URL, name, root, 1)
		if err != nil || p.Claim.Chunk != 1 || p.Claim.Origin != a.origin("main") || !bytes.Equal(p.Proof.Text, long.Document.Chunk(1)) {
			t.Fatalf("prove in %q: %+v, %v", name, p.Claim, err)
		}
		file, err := p.Proof.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		key, err := proof.ParseVerifier(p.Key)
		if err != nil {
			t.Fatal(err)
		}
		verifyProof(t, file, key, root, 1)
	}
	for _, name := range []string{"", "main"} {
		if _, _, err := b.peer.Get(t.Context(), server.URL, name, document.Root{1}); !errors.Is(err, ErrMissing) {
			t.Errorf("a root that is nowhere in %q = %v, want ErrMissing", name, err)
		}
		if _, err := b.peer.Prove(t.Context(), server.URL, name, root, 1<<40); !errors.Is(err, ErrMissing) {
			t.Errorf("a chunk that is nowhere in %q = %v, want ErrMissing", name, err)
		}
	}
	if infos, err := b.shared.Corpora().List(t.Context()); err != nil || len(infos) != 0 || b.documents() != 0 {
		t.Errorf("%d corpora and %d documents were stored, %v", len(infos), b.documents(), err)
	}
}

func TestALightClientBelievesNobody(t *testing.T) {
	a := newNode(t).up(nil)
	x, y := entryOf(t, "doc:/x", "The text that was asked for."), entryOf(t, "doc:/y", "Another text of the same.")
	a.publish("main", x, y)
	root := x.Document.Root()
	other := newNode(t).up(nil)
	other.publish("main", x, y)
	instead := func(n *node, path string) []byte { return fetchAs(t, n.peer.Handler(), n.origin("main")+"/"+path, "") }
	for _, c := range []struct {
		name, at string
		body     func([]byte) []byte
		want     error
	}{
		{"another document", "doc/", func([]byte) []byte { return instead(a, "doc/"+y.Document.Root().String()) }, ErrTampered},
		{"a changed text", "doc/", func(b []byte) []byte { b[len(b)-3] ^= 1; return b }, ErrTampered},
		{"half a text", "doc/", func(b []byte) []byte { return b[:len(b)-3] }, ErrTruncated},
		{"more than a text", "doc/", func(b []byte) []byte { return append(b, 'x') }, ErrMalformed},
		{"no element", "doc/", func([]byte) []byte { return []byte{0, 0} }, ErrMalformed},
		{"a giant header", "doc/", func([]byte) []byte { return []byte{0xFF, 0xFF} }, ErrMalformed},
		{"another proof", "proof/", func([]byte) []byte { return instead(a, "proof/"+y.Document.Root().String()+"/0") }, ErrTampered},
		{"another publisher's proof", "proof/", func([]byte) []byte { return instead(other, "proof/"+root.String()+"/0") }, ErrTampered},
		{"another publisher's key", "key", func([]byte) []byte { return instead(other, "key") }, ErrKey},
		{"a changed passage", "proof/", func(b []byte) []byte { return bytes.Replace(b, []byte("asked"), []byte("Asked"), 1) }, ErrTampered},
		{"no proof", "proof/", func([]byte) []byte { return []byte("hello") }, ErrMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newNode(t).up(nil)
			url := serverOf(t, a, func(path string, body []byte) []byte {
				if strings.HasPrefix(path, c.at) {
					return c.body(body)
				}
				return body
			})
			var err error
			if c.at == "doc/" {
				_, _, err = b.peer.Get(t.Context(), url, a.origin("main"), root)
			} else {
				_, err = b.peer.Prove(t.Context(), url, a.origin("main"), root, 0)
			}
			if !errors.Is(err, c.want) {
				t.Errorf("error = %v, want %v", err, c.want)
			}
		})
	}
}

func TestADocumentComesOutOfAPackWhereATreeHasNothingElse(t *testing.T) {
	a, b := newNode(t), newNode(t).up(nil)
	entries := entriesOf(t, "doc:/x", 520, 150)
	dir := folderOf(t, a, entries)
	files := http.FileServer(http.Dir(dir))
	var packs int64 // bytes of them that were sent
	serve := func(change func(r *http.Request, body []byte)) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := httptest.NewRecorder()
			change(r, nil)
			files.ServeHTTP(rec, r)
			change(r, rec.Body.Bytes())
			if strings.Contains(r.URL.Path, "/pack/") {
				packs += int64(rec.Body.Len())
			}
			maps.Copy(w.Header(), rec.Header())
			w.WriteHeader(rec.Code)
			w.Write(rec.Body.Bytes())
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	ranges := serve(func(*http.Request, []byte) {})
	whole := serve(func(r *http.Request, _ []byte) { r.Header.Del("Range") })
	for _, from := range []string{ranges, whole, "file:" + dir} {
		for _, i := range []int{0, 255, 256, 400, 519} {
			want := entries[i].Document
			packs = 0
			doc, origin, err := b.peer.Get(t.Context(), from, a.origin("main"), want.Root())
			if err != nil || origin != a.origin("main") || !bytes.Equal(doc.Text(), want.Text()) {
				t.Fatalf("document %d from %s: %v", i, from, err)
			}
			if from == ranges && packs > 1024 {
				t.Errorf("%d bytes of packs were sent for document %d, of %d", packs, i, len(want.Text()))
			}
		}
		if _, _, err := b.peer.Get(t.Context(), from, a.origin("main"), document.Root{1}); !errors.Is(err, ErrMissing) {
			t.Errorf("a root that is nowhere = %v, want ErrMissing", err)
		}
	}
	for at, want := range map[string]error{"/pack/": ErrTampered, "/entries/": ErrMalformed, "/checkpoint": ErrMalformed} {
		liar := serve(func(r *http.Request, body []byte) {
			if strings.Contains(r.URL.Path, at) && len(body) > 0 {
				body[len(body)-20] ^= 0x80
			}
		})
		if doc, _, err := b.peer.Get(t.Context(), liar, a.origin("main"), entries[519].Document.Root()); !errors.Is(err, want) {
			t.Errorf("a wrong byte in %s: %v, %v, want %v", at, doc, err, want)
		}
	}
	src, err := b.peer.open(t.Context(), ranges)
	if err != nil {
		t.Fatal(err)
	}
	defer src.close()
	for most, want := range map[int64]error{1000: ErrTreeDocuments, searchedLog: nil} {
		_, err := b.peer.packed(t.Context(), src, mustCorpus(t, a.origin("main")), entries[519].Document.Root(), &most)
		if !errors.Is(err, want) {
			t.Errorf("with a log that is too long: %v, want %v", err, want)
		}
	}
	if b.documents() != 0 {
		t.Errorf("%d documents were stored", b.documents())
	}
}
