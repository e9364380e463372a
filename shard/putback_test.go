package shard

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"arborist/document"
	"arborist/proof"
)

// A view is what a set shows of some places.
type view struct {
	History map[string][]Version
	Now     []Hit
	All     []Hit
}

func viewOf(t *testing.T, s *Shared, uris []string) (v view) {
	t.Helper()
	v.History = make(map[string][]Version)
	for _, uri := range uris {
		all, err := s.History(t.Context(), uri)
		if err != nil {
			t.Fatal(err)
		}
		v.History[uri] = all
	}
	for all, into := range map[bool]*[]Hit{false: &v.Now, true: &v.All} {
		r, err := s.Search(t.Context(), Query{Text: "number told", Limit: 1000, AllVersions: all})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Hits {
			h.File = nil
			*into = append(*into, h)
		}
	}
	return v
}

// Whatever file is lost, and whether its documents were current, replaced,
// withdrawn or in several corpora: what comes back is what was there, in the
// history of each place and, to the bit, in each search.
func TestPutBackRestoresWhatWasThere(t *testing.T) {
	dir, docs, uris := versioned(t)
	for number := range 4 {
		t.Run(fileName(number), func(t *testing.T) {
			copied := filepath.Join(t.TempDir(), "shards")
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			s := openTestShared(t, copied)
			before := viewOf(t, s, uris)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(copied, fileName(number))); err != nil {
				t.Fatal(err)
			}
			if err := SalvageShared(t.Context(), copied, t.TempDir(), Repair{Did: func(string) {}}); err != nil {
				t.Fatal(err)
			}
			s = openTestShared(t, copied)
			lost := map[document.Root]bool{}
			infos, err := s.Corpora().List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, info := range infos {
				missing, err := s.Missing(t.Context(), info)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range missing {
					lost[m.Header.Root] = true
				}
			}
			if len(lost) < 3 {
				t.Fatalf("%d documents are missing: the test tests too little", len(lost))
			}
			// In two steps, as batches come.
			var parts [2][]*document.Document
			for root := range lost {
				i := int(root[31]) % 2
				parts[i] = append(parts[i], docs[root])
			}
			for _, part := range append(parts[:], parts[0]) { // and once more, which changes nothing
				returns, err := s.PutBack(t.Context(), part)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range returns {
					if r.Lost > 0 {
						t.Errorf("%+v", r)
					}
				}
			}
			mustCheck(t, s)
			after := viewOf(t, s, uris)
			if !reflect.DeepEqual(before, after) {
				for _, uri := range uris {
					if !reflect.DeepEqual(before.History[uri], after.History[uri]) {
						t.Errorf("history of %s:\nwas %+v\nis  %+v", uri, before.History[uri], after.History[uri])
					}
				}
				t.Error("what is shown has changed")
			}
		})
	}
}

// versioned makes a set with places that had several versions, went back to
// older ones, and were withdrawn, in two corpora that share documents.
func versioned(t *testing.T) (dir string, docs map[document.Root]*document.Document, uris []string) {
	t.Helper()
	s := newShared(t, 4)
	first := newPublisher(t, s)
	signer, err := proof.NewSigner("12D3KooWTest/second", [32]byte{9})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Corpora().Create(t.Context(), "second", signer.Verifier()); err != nil {
		t.Fatal(err)
	}
	second := s.Publisher("12D3KooWTest/second", signer)
	docs = make(map[document.Root]*document.Document)
	at := func(n, place int) document.Entry {
		e := page(n)
		e.Location.URI = fmt.Sprintf("test:place/%d", place)
		e.Location.Title = fmt.Sprintf("page %d there", n)
		docs[e.Document.Root()] = e.Document
		return e
	}
	for place := range 6 {
		uris = append(uris, fmt.Sprintf("test:place/%d", place))
		for n := range 5 { // A B C D A
			put1(t, first, at(place*10+n%4, place))
		}
		put1(t, second, at(place*10, place), at(place*10+1, (place+1)%6))
	}
	for _, uri := range uris[:2] {
		if err := first.Withdraw(t.Context(), []string{uri}, time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
	}
	put1(t, first, at(99, 0)) // and something new where something was withdrawn
	mustCheck(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s.Dir(), docs, uris
}
