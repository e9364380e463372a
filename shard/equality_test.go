package shard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"arborist/document"
)

// A refQuery is a query with what its text means.
type refQuery struct {
	text     string
	segments []string
}

// refQueries makes n queries from the words of documents: one to five of them,
// single and in phrases, with one now and then that nothing has.
func refQueries(docs []document.Entry, n int) []refQuery {
	r := rand.New(rand.NewPCG(7, 7))
	var all []refQuery
	for len(all) < n {
		var q refQuery
		for range 1 + r.IntN(4) {
			words := strings.Fields(string(docs[r.IntN(len(docs))].Document.Text()))
			if len(words) < 8 {
				continue
			}
			at := r.IntN(len(words) - 4)
			segment := strings.ReplaceAll(words[at], `"`, "")
			switch r.IntN(8) {
			case 0:
				segment = strings.ReplaceAll(strings.Join(words[at:at+2+r.IntN(2)], " "), `"`, "")
				q.text += ` "` + segment + `"`
			case 1:
				segment = "qqxqq"
				q.text += " " + segment
			default:
				q.text += " " + segment
			}
			q.segments = append(q.segments, segment)
		}
		if strings.ContainsAny(strings.ToLower(q.text), "abcdefghijklmnopqrstuvwxyz") && len(q.text) < 500 {
			all = append(all, q)
		}
	}
	return all
}

func compareHits(t *testing.T, name string, r Results, want []refHit, mode string, offset, limit int) {
	t.Helper()
	if r.Mode != mode || r.Total != len(want) {
		t.Errorf("%s: mode %s with %d in total, want %s with %d", name, r.Mode, r.Total, mode, len(want))
	}
	want = want[min(offset, len(want)):min(offset+limit, len(want))]
	if len(r.Hits) != len(want) {
		t.Errorf("%s: %d hits, want %d", name, len(r.Hits), len(want))
		return
	}
	for i, h := range r.Hits {
		if got := (refHit{h.Root, h.Index, math.Float64bits(h.Score)}); got != want[i] {
			t.Errorf("%s: hit %d is chunk %d of %s with %v, want chunk %d of %s with %v", name, i,
				h.Index, h.Root, h.Score, want[i].index, want[i].root, math.Float64frombits(want[i].score))
			return
		}
	}
}

// A layout is one way to spread the same documents over files.
type layout struct {
	name  string
	files []*File
}

// layouts spreads documents, each of them current, over sets of shards and over
// private files in any way, some in several files.
func layouts(t *testing.T, docs []document.Entry) []layout {
	var all []layout
	old := make([]document.Entry, 0, len(docs)/5)
	for i := 0; i < len(docs); i += 5 {
		old = append(old, document.Entry{Document: newDocument(t, fmt.Sprintf("An older version, number %d, of what is there.", i)), Location: docs[i].Location})
	}
	for _, n := range []int{1, 4, 16, 64} {
		s := newShared(t, n)
		// Superseded documents must leave no trace in any number.
		put1(t, s, old...)
		put1(t, s, docs...)
		all = append(all, layout{fmt.Sprintf("%d shards", n), s.files})
	}
	private := make([]*File, 8)
	parts := make([][]document.Entry, len(private))
	r := rand.New(rand.NewPCG(3, 3))
	for _, d := range docs {
		at := r.IntN(len(parts))
		parts[at] = append(parts[at], d)
		if r.IntN(3) == 0 {
			parts[(at+3)%len(parts)] = append(parts[(at+3)%len(parts)], d)
		}
	}
	for i := range private {
		f, err := OpenFile(filepath.Join(t.TempDir(), "web.db"), KindPrivate, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		put1(t, f, parts[i]...)
		private[i] = f
	}
	all = append(all, layout{"8 files, a third of the documents twice", private})
	mixed := append(all[1].files[:4:4], private[0], private[5])
	return append(all, layout{"4 shards and 2 files with some of the same", mixed})
}

func TestEverySplitRanksAsOneFileDoes(t *testing.T) {
	docs := append(generated(t, 120), realTexts(t, 90)...)
	var contents []*document.Document
	for _, d := range docs {
		contents = append(contents, d.Document)
	}
	ref := newReference(t, contents)
	splits := layouts(t, docs)
	or, ties := 0, 0
	pages := []struct{ offset, limit int }{{0, 10}, {0, 1}, {3, 7}, {0, 100}, {40, 40}}
	for i, q := range refQueries(docs, 105) {
		want, mode := ref.search(q.segments)
		if mode == ModeOr {
			or++
		}
		if len(want) > 10 && want[9].score == want[10].score {
			ties++
		}
		for _, split := range splits {
			if len(split.files) > 16 && i%4 != 0 {
				continue // slow, and no other code than with fewer files
			}
			page := pages[i%len(pages)]
			r, err := Search(t.Context(), split.files, Query{Text: q.text, Offset: page.offset, Limit: page.limit})
			if err != nil {
				t.Fatalf("%s: query %q: %v", split.name, q.text, err)
			}
			compareHits(t, fmt.Sprintf("%s: query %q %+v", split.name, q.text, page), r, want, mode, page.offset, page.limit)
		}
	}
	t.Logf("%d passages; of the queries %d fell back to OR, %d had a tie at the tenth hit", len(ref.passages), or, ties)
	if or == 0 || or > 95 {
		t.Errorf("%d queries of 105 fell back to OR: the test tests too little", or)
	}
}

func TestThousandsOfEqualScoresAreOrderedByRoot(t *testing.T) {
	var docs []document.Entry
	var contents []*document.Document
	for i := range 2500 {
		docs = append(docs, entry(t, fmt.Sprintf("test:%d", i), fmt.Sprintf("alike %d", i)))
		contents = append(contents, docs[i].Document)
	}
	ref := newReference(t, contents)
	want, mode := ref.search([]string{"alike"})
	for _, n := range []int{1, 4} {
		s := newShared(t, n)
		put1(t, s, docs...)
		for _, offset := range []int{0, 1, 9, 600, 2490, 2500} {
			r, err := s.Search(t.Context(), Query{Text: "alike", Offset: offset, Limit: 20})
			if err != nil {
				t.Fatal(err)
			}
			compareHits(t, fmt.Sprintf("%d shards, offset %d", n, offset), r, want, mode, offset, 20)
		}
	}
}
