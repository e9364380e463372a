package shard

import (
	"context"
	"slices"
	"testing"

	"arborist/document"
	"arborist/internal/arbtest/judged"
)

// others are the best nDCG@10 that other engines reach on a collection: FTS5
// (porter unicode61), Xapian (stemming) and Bleve, by ../shared/data/README.md.
func others() map[string]float64 {
	return map[string]float64{"cranfield": .366, "npl": .437}
}

// qualityOf puts a collection into shards and asks its queries.
func qualityOf(t testing.TB, c judged.Collection, shards, limit int) (mean judged.Measures) {
	t.Helper()
	s := newShared(t, shards)
	ids := make(map[document.Root][]string)
	var docs []document.Entry
	for i, text := range c.Docs {
		d, err := document.New([]byte(text))
		if err != nil {
			continue // a document without text
		}
		ids[d.Root()] = append(ids[d.Root()], c.IDs[i])
		docs = append(docs, document.Entry{Document: d, Location: document.Location{URI: "test:" + c.IDs[i], Source: "test", FetchedAt: fetched}})
	}
	for batch := range slices.Chunk(docs, 1000) {
		put1(t, s, batch...)
	}
	for q, text := range c.Queries {
		r, err := s.Search(context.Background(), Query{Text: text, Any: true, Limit: limit})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		// A document is where its best passage is.
		var ranking []string
		seen := make(map[document.Root]bool)
		for _, h := range r.Hits {
			if !seen[h.Root] {
				seen[h.Root] = true
				ranking = append(ranking, ids[h.Root]...)
			}
		}
		m := judged.Measure(ranking, c.Gains[q])
		mean.NDCG10 += m.NDCG10
		mean.AveragePrecision += m.AveragePrecision
		mean.Recall100 += m.Recall100
	}
	n := float64(len(c.Queries))
	return judged.Measures{NDCG10: mean.NDCG10 / n, AveragePrecision: mean.AveragePrecision / n, Recall100: mean.Recall100 / n}
}

func TestRankingIsBetterThanThatOfOtherEngines(t *testing.T) {
	for name, other := range others() {
		t.Run(name, func(t *testing.T) {
			got := qualityOf(t, judged.Load(t, name), 4, 20)
			t.Logf("nDCG@10 %.4f", got.NDCG10)
			if got.NDCG10 <= other {
				t.Errorf("nDCG@10 %.4f, others reach %.3f", got.NDCG10, other)
			}
		})
	}
}

// BenchmarkQuality reports the quality of the ranking; time is not its point.
func BenchmarkQuality(b *testing.B) {
	for name := range others() {
		b.Run(name, func(b *testing.B) {
			c := judged.Load(b, name)
			for b.Loop() {
				got := qualityOf(b, c, 4, 1500)
				b.ReportMetric(got.NDCG10, "nDCG@10")
				b.ReportMetric(got.AveragePrecision, "MAP")
				b.ReportMetric(got.Recall100, "recall@100")
			}
		})
	}
}
