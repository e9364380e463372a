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
// A segment with a space was quoted; another one that is several words is a
// phrase while all words are looked for.
func (r *reference) searchIn(segments []string, filter func(document.Root) bool) (hits []refHit, mode string) {
	var phrases, parts [][]string
	add := func(to *[][]string, tokens []string) {
		if len(tokens) > 0 && !slices.ContainsFunc(*to, func(t []string) bool { return slices.Equal(t, tokens) }) {
			*to = append(*to, tokens)
		}
	}
	for _, s := range segments {
		tokens := r.tokens(s)
		add(&phrases, tokens)
		if strings.Contains(s, " ") {
			add(&parts, tokens)
			continue
		}
		for _, t := range tokens {
			add(&parts, []string{t})
		}
	}
	hits, mode = r.rank(phrases, true, filter), ModeAnd
	if len(hits) == 0 && len(parts) > 1 {
		hits, mode = r.rank(parts, false, filter), ModeOr
	}
	return hits, mode
}

// rank scores the passages that have all phrases, or any.
func (r *reference) rank(phrases [][]string, every bool, filter func(document.Root) bool) (hits []refHit) {
	n := float64(len(r.passages))
	average := r.words / n
	found, weight := make([]map[int]int, len(phrases)), make([]float64, len(phrases))
	for i, p := range phrases {
		found[i] = r.counts(p)
		times := 0.0
		for _, f := range found[i] {
			times += float64(f)
		}
		df := float64(len(found[i]))
		weight[i] = math.Log1p((n-df+0.5)/(df+0.5)) * min(4, times/max(df, 1))
	}
	for doc, p := range r.passages {
		matched, score := 0, 0.0
		for i, counts := range found {
			f := float64(counts[doc])
			if f == 0 {
				continue
			}
			matched++
			score += float64(weight[i] * (float64(f*(1.2+1)) / (f + float64(1.2*(float64(1-0.75)+float64(0.75*(float64(p.length)/average)))))))
		}
		if filter(p.root) && (matched == len(phrases) || matched > 0 && !every) {
			hits = append(hits, refHit{p.root, p.index, math.Float64bits(score)})
		}
	}
	slices.SortFunc(hits, func(a, b refHit) int {
		return cmp.Or(cmp.Compare(math.Float64frombits(b.score), math.Float64frombits(a.score)),
			bytes.Compare(a.root[:], b.root[:]), cmp.Compare(a.index, b.index))
	})
	return hits
}
