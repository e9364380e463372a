package shard

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"arborist/document"
)

// A model is what files should show: which document is current at each place.
type model struct {
	docs    map[document.Root]*document.Document
	current map[string]document.Root // corpus and URI
}

func (m *model) put(e document.Entry) {
	m.docs[e.Document.Root()] = e.Document
	m.current[e.Location.Corpus+"\x00"+e.Location.URI] = e.Document.Root()
}

// visible returns the documents that are current somewhere in any of the models.
func visible(all ...*model) []*document.Document {
	seen := make(map[document.Root]*document.Document)
	for _, m := range all {
		for _, root := range m.current {
			seen[root] = m.docs[root]
		}
	}
	return slices.Collect(maps.Values(seen))
}

func newModel() *model {
	return &model{docs: make(map[document.Root]*document.Document), current: make(map[string]document.Root)}
}

func (m *model) in(corpus string, root document.Root) bool {
	for place, r := range m.current {
		if r == root && len(place) > len(corpus) && place[:len(corpus)+1] == corpus+"\x00" {
			return true
		}
	}
	return false
}

// Documents come, are superseded, come back, and are shared from the private
// file: after each step both files together rank as one with everything does.
func TestDocumentsInTwoFilesCountOnceAfterEveryChange(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 5))
	pool := generated(t, 40)
	shared, private, second := newShared(t, 4), newPrivate(t), newPrivate(t)
	ours, theirs, others := newModel(), newModel(), newModel()
	for step := range 40 {
		for range 3 {
			e := pool[r.IntN(len(pool))]
			e.Location.URI = fmt.Sprintf("test:%d", r.IntN(20))
			switch r.IntN(4) {
			case 0:
				put1(t, private, e)
				theirs.put(e)
			case 1:
				put1(t, second, e)
				others.put(e)
			default:
				e.Location.Corpus = []string{"p/one", "p/two"}[r.IntN(2)]
				put1(t, shared, e)
				ours.put(e)
			}
		}
		files := append(shared.files, private, second)
		if step%3 == 1 {
			slices.Reverse(files)
		}
		ref := newReference(t, visible(ours, theirs, others))
		for range 3 {
			segments := []string{inventedWord(uint64(r.IntN(30))), inventedWord(uint64(r.IntN(300)))}
			q := Query{Text: segments[0] + " " + segments[1], Limit: 30}
			want, mode := ref.search(segments)
			got, err := Search(t.Context(), files, q)
			if err != nil {
				t.Fatal(err)
			}
			compareHits(t, fmt.Sprintf("step %d, query %q", step, q.Text), got, want, mode, 0, 30)

			q.Corpus = "p/one"
			want, mode = ref.searchIn(segments, func(root document.Root) bool { return ours.in(q.Corpus, root) })
			if got, err = Search(t.Context(), files, q); err != nil {
				t.Fatal(err)
			}
			compareHits(t, fmt.Sprintf("step %d, query %q in a corpus", step, q.Text), got, want, mode, 0, 30)
			for _, h := range got.Hits {
				if h.Location.Corpus != q.Corpus {
					t.Errorf("hit of corpus %q, asked for %q", h.Location.Corpus, q.Corpus)
				}
			}
		}
	}
	mustCheck(t, shared)
	mustCheck(t, private)
}

func TestCorpusFilterFindsInTheFileThatListsTheDocument(t *testing.T) {
	first, second := newPrivate(t), newPrivate(t)
	e := entry(t, "test:a", "one document in two files")
	put1(t, first, e)
	e.Location.Corpus = "p/one"
	put1(t, second, e)
	for _, files := range [][]*File{{first, second}, {second, first}} {
		r, err := Search(t.Context(), files, Query{Text: "document", Corpus: "p/one"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Total != 1 || len(r.Hits) != 1 || r.Hits[0].File != second {
			t.Errorf("%d in total, hits %+v", r.Total, r.Hits)
		}
	}
	r, err := Search(t.Context(), []*File{first, second}, Query{Text: "document", Corpus: "p/none"})
	if err != nil || r.Total != 0 || len(r.Hits) != 0 {
		t.Errorf("in a corpus that is not there: %+v, %v", r, err)
	}
}
