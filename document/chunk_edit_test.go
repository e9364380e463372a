package document

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

func percentile(sorted []int, p int) int { return sorted[min(len(sorted)-1, len(sorted)*p/100)] }

// TestEditMovesOnlyChunksNearIt is the point of cuts that depend on content:
// it counts chunks that the text before the edit did not have.
func TestEditMovesOnlyChunksNearIt(t *testing.T) {
	texts := sampleTexts(t)
	r := rand.New(rand.NewPCG(3, 4))
	edits := map[string]func(text []byte, at int) []byte{
		"a word replaced": func(text []byte, at int) []byte { return slices.Replace(text, at, at+1, []byte("word")...) },
		"a paragraph put in": func(text []byte, at int) []byte {
			return slices.Insert(text, at, bytes.Repeat([]byte("And more of it. "), 20)...)
		},
		"a line taken out": func(text []byte, at int) []byte { return slices.Delete(text, at, min(len(text), at+80)) },
	}
	for _, name := range []string{"markdown", "one line", "cjk", "no space", "doc/godebug.md", "src/net/http/server.go"} {
		text, ok := texts[name]
		if !ok {
			continue // sampleTexts said why
		}
		text = Normalize(text[:min(len(text), 60_000)])
		before := map[string]bool{}
		for _, s := range Cut(text) {
			before[string(text[s.Start:s.End])] = true
		}
		for kind, edit := range edits {
			var changed []int
			for range 60 {
				edited := Normalize(edit(bytes.Clone(text), r.IntN(len(text))))
				n := 0
				for _, s := range Cut(edited) {
					if !before[string(edited[s.Start:s.End])] {
						n++
					}
				}
				changed = append(changed, n)
			}
			slices.Sort(changed)
			sum := 0
			for _, n := range changed {
				sum += n
			}
			t.Logf("%s, %s: of %d chunks %.2f change, 95th percentile %d", name, kind, len(before), float64(sum)/60, percentile(changed, 95))
			if sum > 60*3 || percentile(changed, 95) > 6 {
				t.Errorf("%s, %s: %.2f chunks change, 95th percentile %d", name, kind, float64(sum)/60, percentile(changed, 95))
			}
		}
	}
}
