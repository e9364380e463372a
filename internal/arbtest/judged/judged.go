// Package judged reads the collections of judged queries that the benchmarks of
// ranking use, and measures rankings by them.
package judged

import (
	"bufio"
	"compress/gzip"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A Collection is a collection with queries and, for each, the gain of documents.
type Collection struct {
	Docs, Queries []string
	IDs           []string             // of Docs
	Gains         []map[string]float64 // by query, then document ID
}

// Load reads one of the collections that shared/data/README.md describes.
func Load(t testing.TB, name string) Collection {
	t.Helper()
	dir := filepath.Join("/work/shared/data/ir", name)
	f, err := os.Open(filepath.Join(dir, "docs.tsv.gz"))
	if err != nil {
		t.Skipf("without the collection %s: %v", name, err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var c Collection
	number := make(map[string]int)
	rows(t, unzipped, func(r []string) {
		c.IDs, c.Docs = append(c.IDs, r[0]), append(c.Docs, r[1])
	})
	file := func(name string, each func([]string)) {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rows(t, f, each)
	}
	file("q.tsv", func(r []string) {
		number[r[0]] = len(c.Queries)
		c.Queries, c.Gains = append(c.Queries, r[1]), append(c.Gains, map[string]float64{})
	})
	file("qrels.tsv", func(r []string) {
		gain, err := strconv.ParseFloat(r[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		c.Gains[number[r[0]]][r[1]] = gain
	})
	return c
}

func rows(t testing.TB, r io.Reader, each func([]string)) {
	t.Helper()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		each(strings.Split(lines.Text(), "\t"))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// Measures are of one ranking, or the means of many.
type Measures struct{ NDCG10, AveragePrecision, Recall100 float64 }

// Measure compares a ranking of document IDs with the gains: discount log2, gain
// as given, ideal from all judged documents; relevant is what gains at all.
func Measure(ranking []string, gains map[string]float64) Measures {
	var m Measures
	var dcg, ideal, relevant, found float64
	best := make([]float64, 0, len(gains))
	for _, g := range gains {
		best = append(best, g)
		if g > 0 {
			relevant++
		}
	}
	slices.Sort(best)
	slices.Reverse(best)
	for i, g := range best[:min(10, len(best))] {
		ideal += g / math.Log2(float64(i+2))
	}
	for i, id := range ranking {
		g := gains[id]
		if i < 10 {
			dcg += g / math.Log2(float64(i+2))
		}
		if g > 0 {
			found++
			m.AveragePrecision += found / float64(i+1)
			if i < 100 {
				m.Recall100++
			}
		}
	}
	if relevant > 0 {
		m.NDCG10 = dcg / ideal
		m.AveragePrecision /= relevant
		m.Recall100 /= relevant
	}
	return m
}
