package shard

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"arborist/document"
	"arborist/shard/internal/words"
)

// A reference ranks passages in plain Go: BM25 as its authors write it down,
// over all words of all texts. It shares no code with the package but the
// tokenizer.
type reference struct {
	tokenizer words.Tokenizer
	passages  []refPassage
	words     float64
	at        map[string]map[int][]int // word → passage → positions
}

type refPassage struct {
	root   document.Root
	index  uint64
	length int
}

type refHit struct {
	root  document.Root
	index uint64
	score uint64 // bits
}

func newReference(t testing.TB, docs []*document.Document) *reference {
	t.Helper()
	r := &reference{at: make(map[string]map[int][]int)}
	seen := make(map[document.Root]bool)
	for _, d := range docs {
		if seen[d.Root()] {
			continue
		}
		seen[d.Root()] = true
		for i := range d.Chunks() {
			n, doc := 0, len(r.passages)
			r.tokenizer.Each(d.Chunk(i), func(term []byte, _, _ int) {
				word := string(term)
				if r.at[word] == nil {
					r.at[word] = make(map[int][]int)
				}
				r.at[word][doc] = append(r.at[word][doc], n)
				n++
			})
			r.passages = append(r.passages, refPassage{root: d.Root(), index: uint64(i), length: n})
			r.words += float64(n)
		}
	}
	return r
}

// tokens is what a query's piece of text means.
func (r *reference) tokens(text string) (all []string) {
	for _, t := range r.tokenizer.Query([]byte(text)) {
		all = append(all, t.Text)
	}
	return all
}

// counts returns in which passages a phrase stands, and how often.
func (r *reference) counts(phrase []string) map[int]int {
	found := make(map[int]int)
	for doc, starts := range r.at[phrase[0]] {
	next:
		for _, at := range starts {
			for i, word := range phrase[1:] {
				if !slices.Contains(r.at[word][doc], at+1+i) {
					continue next
				}
			}
			found[doc]++
		}
	}
	return found
}

// search ranks all passages that match, best first.
func (r *reference) search(segments []string) (hits []refHit, mode string) {
	return r.searchIn(segments, func(document.Root) bool { return true })
}

// searchIn is search for documents that pass a filter, which changes no score.
func (r *reference) searchIn(segments []string, filter func(document.Root) bool) (hits []refHit, mode string) {
	var phrases []map[int]int
	var seen []string
	for _, s := range segments {
		tokens := r.tokens(s)
		if key := strings.Join(tokens, "\x00"); len(tokens) > 0 && !slices.Contains(seen, key) {
			seen = append(seen, key)
			phrases = append(phrases, r.counts(tokens))
		}
	}
	n := float64(len(r.passages))
	average := r.words / n
	any, all := []refHit{}, []refHit{}
	for doc, p := range r.passages {
		matched, score := 0, 0.0
		for _, counts := range phrases {
			f := float64(counts[doc])
			if f == 0 {
				continue
			}
			matched++
			idf := math.Log1p((n - float64(len(counts)) + 0.5) / (float64(len(counts)) + 0.5))
			score += float64(idf * (float64(f*(1.2+1)) / (f + float64(1.2*(float64(1-0.75)+float64(0.75*(float64(p.length)/average)))))))
		}
		if !filter(p.root) {
			continue
		}
		h := refHit{p.root, p.index, math.Float64bits(score)}
		if matched > 0 {
			any = append(any, h)
		}
		if matched == len(phrases) {
			all = append(all, h)
		}
	}
	hits, mode = all, ModeAnd
	if len(all) == 0 && len(phrases) > 1 {
		hits, mode = any, ModeOr
	}
	slices.SortFunc(hits, func(a, b refHit) int {
		return cmp.Or(cmp.Compare(math.Float64frombits(b.score), math.Float64frombits(a.score)),
			bytes.Compare(a.root[:], b.root[:]), cmp.Compare(a.index, b.index))
	})
	return hits, mode
}
