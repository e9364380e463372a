package words

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"arborist/internal/arbtest/judged"
)

// A reference is an exhaustive ranker of a whole collection, in memory. It says
// what an index with these terms can reach; the index itself is elsewhere.
type reference struct {
	c        judged.Collection
	postings map[string][]posting
	total    map[string]float64 // occurrences of a term everywhere
	lengths  []float64          // terms of each document
	average  float64
}

type posting struct {
	doc int
	tf  float64
}

func newReference(c judged.Collection) *reference {
	x := &reference{c: c, postings: make(map[string][]posting), total: make(map[string]float64)}
	var k Tokenizer
	for d, text := range c.Docs {
		n := 0.0
		k.Each([]byte(text), func(term []byte, _, _ int) {
			n++
			x.total[string(term)]++
			all := x.postings[string(term)]
			if len(all) > 0 && all[len(all)-1].doc == d {
				all[len(all)-1].tf++
				return
			}
			x.postings[string(term)] = append(all, posting{d, 1})
		})
		x.lengths = append(x.lengths, n)
		x.average += n / float64(len(c.Docs))
	}
	return x
}

// A setting is a way to score: BM25 with the weight of a term that is its IDF,
// log(1 + (N-n+½)/(n+½)), times its mean count in the documents that have it, at
// most limit. A limit of 1 is plain BM25.
type setting struct{ k1, b, limit float64 }

// chosen is what docs/decisions/007-words.md argues for.
func chosen() setting { return setting{k1: 1.2, b: 0.75, limit: 4} }

// rank returns the documents that have any term of the query, best first.
func (x *reference) rank(query string, s setting) []string {
	var k Tokenizer
	scores := make([]float64, len(x.c.Docs))
	seen := make(map[string]bool)
	for _, term := range k.Query([]byte(query)) {
		if seen[term.Text] {
			continue // saying it twice does not make it count twice
		}
		seen[term.Text] = true
		all := x.postings[term.Text]
		n, docs := float64(len(all)), float64(len(x.c.Docs))
		weight := math.Log1p((docs-n+0.5)/(n+0.5)) * min(s.limit, x.total[term.Text]/n)
		for _, p := range all {
			scores[p.doc] += weight * p.tf * (s.k1 + 1) / (p.tf + s.k1*(1-s.b+s.b*x.lengths[p.doc]/x.average))
		}
	}
	var docs []int
	for d, score := range scores {
		if score > 0 {
			docs = append(docs, d)
		}
	}
	slices.SortFunc(docs, func(p, q int) int {
		return cmp.Or(cmp.Compare(scores[q], scores[p]), cmp.Compare(p, q))
	})
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = x.c.IDs[d]
	}
	return ids
}

// quality is the mean over all queries.
func (x *reference) quality(s setting) judged.Measures {
	var mean judged.Measures
	for q, text := range x.c.Queries {
		m := judged.Measure(x.rank(text, s), x.c.Gains[q])
		mean.NDCG10 += m.NDCG10
		mean.AveragePrecision += m.AveragePrecision
		mean.Recall100 += m.Recall100
	}
	n := float64(len(x.c.Queries))
	return judged.Measures{NDCG10: mean.NDCG10 / n, AveragePrecision: mean.AveragePrecision / n, Recall100: mean.Recall100 / n}
}

// TestRankingBeatsOtherEngines holds the chosen setting, one for both
// collections, against the best that shared/data/README.md gives for others.
func TestRankingBeatsOtherEngines(t *testing.T) {
	for name, others := range map[string]judged.Measures{
		"cranfield": {NDCG10: .366, AveragePrecision: .302, Recall100: .754},
		"npl":       {NDCG10: .437, AveragePrecision: .286, Recall100: .613},
	} {
		t.Run(name, func(t *testing.T) {
			got := newReference(judged.Load(t, name)).quality(chosen())
			t.Logf("nDCG@10 %.4f, MAP %.4f, recall@100 %.4f", got.NDCG10, got.AveragePrecision, got.Recall100)
			if got.NDCG10 < others.NDCG10 || got.AveragePrecision < others.AveragePrecision || got.Recall100 < others.Recall100 {
				t.Errorf("%+v, others reach %+v", got, others)
			}
		})
	}
}

// BenchmarkQuality reports the surface around the chosen setting, and plain BM25.
func BenchmarkQuality(b *testing.B) {
	for _, name := range []string{"cranfield", "npl"} {
		b.Run(name, func(b *testing.B) {
			x := newReference(judged.Load(b, name))
			for _, limit := range []float64{1, 4, 1e9} {
				for _, k1 := range []float64{0.9, 1.2, 1.5, 2} {
					for _, length := range []float64{0.3, 0.45, 0.6, 0.75, 0.9} {
						b.Run(fmt.Sprintf("limit=%g/k1=%g/b=%g", limit, k1, length), func(b *testing.B) {
							var m judged.Measures
							for b.Loop() {
								m = x.quality(setting{k1, length, limit})
							}
							b.ReportMetric(m.NDCG10, "nDCG@10")
							b.ReportMetric(m.AveragePrecision, "MAP")
							b.ReportMetric(m.Recall100, "recall@100")
						})
					}
				}
			}
		})
	}
}

func TestMeasuresAreThoseOfTheDefinition(t *testing.T) {
	gains := map[string]float64{"a": 3, "b": 1, "c": 0}
	got := judged.Measure([]string{"b", "x", "a", "c"}, gains)
	dcg := 1 + 3/math.Log2(4)
	ideal := 3 + 1/math.Log2(3)
	want := judged.Measures{NDCG10: dcg / ideal, AveragePrecision: (1 + 2.0/3) / 2, Recall100: 1}
	if math.Abs(got.NDCG10-want.NDCG10) > 1e-12 || math.Abs(got.AveragePrecision-want.AveragePrecision) > 1e-12 || got.Recall100 != 1 {
		t.Errorf("measures %+v, want %+v", got, want)
	}
}
