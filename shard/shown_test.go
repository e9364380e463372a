package shard

import (
	"path/filepath"
	"testing"

	"arborist/document"
)

// TestDocumentsInManyForeignFilesCountOnce: the result is that of one file with
// everything, to the bit, whichever file is larger and whatever is hidden there.
func TestDocumentsInManyForeignFilesCountOnce(t *testing.T) {
	all := []document.Entry{entry(t, "test:x", "owl in the forest"), entry(t, "test:y", "owl of the mountain, an owl"), entry(t, "test:z", "a forest"),
		entry(t, "test:v", "mountain and river")}
	fill := func(entries ...document.Entry) string {
		path := filepath.Join(t.TempDir(), "f.db")
		f, err := OpenFile(path, KindPrivate, "")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, e := range entries {
			put1(t, f, e)
		}
		return path
	}
	hidden := entry(t, "test:z", "what replaces the forest here")
	var foreign []*File
	for _, path := range []string{fill(all[0], all[1]), fill(all[1], all[2], all[3]), fill(all[0], all[2]), fill(all[2], hidden)} {
		f, err := OpenAdopted(path, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		foreign = append(foreign, f)
	}
	whole, err := OpenFile(fill(append(all, entry(t, "test:w", "what replaces the forest here"))...), KindPrivate, "")
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	for _, text := range []string{"owl", "forest", "owl forest", "mountain river", "replaces", "owl site:nowhere.example"} {
		for range 2 { // from nothing, and from what the first has left
			got, err := Search(t.Context(), foreign, Query{Text: text})
			want, errWant := Search(t.Context(), []*File{whole}, Query{Text: text})
			if err != nil || errWant != nil || got.Total != want.Total || len(got.Hits) != len(want.Hits) || len(got.Refused) != 0 {
				t.Fatalf("%s: %d of %d found, %v, %v", text, got.Total, want.Total, err, errWant)
			}
			for i := range got.Hits {
				if got.Hits[i].Root != want.Hits[i].Root || got.Hits[i].Score != want.Hits[i].Score {
					t.Errorf("%s: hit %d is %s %v, want %s %v", text, i, got.Hits[i].Root, got.Hits[i].Score, want.Hits[i].Root, want.Hits[i].Score)
				}
			}
		}
	}
}
