package words

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

// A judged is a collection with queries and, for each, the gain of documents.
type judged struct {
	docs, queries []string
	docIDs        []string
	gains         []map[string]float64 // by query, then document ID
}

// collection reads one of the collections that shared/data/README.md describes.
func collection(t testing.TB, name string) judged {
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
	var c judged
	number := make(map[string]int)
	rows(t, unzipped, func(r []string) {
		c.docIDs, c.docs = append(c.docIDs, r[0]), append(c.docs, r[1])
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
		number[r[0]] = len(c.queries)
		c.queries, c.gains = append(c.queries, r[1]), append(c.gains, map[string]float64{})
	})
	file("qrels.tsv", func(r []string) {
		gain, err := strconv.ParseFloat(r[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		c.gains[number[r[0]]][r[1]] = gain
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

func joined(docs []string) string { return strings.Join(docs, "\n") }

// measures are of one ranking, or the means of many.
type measures struct{ nDCG10, averagePrecision, recall100 float64 }

// measure compares a ranking of document IDs with the gains: discount log2, gain
// as given, ideal from all judged documents; relevant is what gains at all.
func measure(ranking []string, gains map[string]float64) measures {
	var m measures
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
			m.averagePrecision += found / float64(i+1)
			if i < 100 {
				m.recall100++
			}
		}
	}
	if relevant > 0 {
		m.nDCG10 = dcg / ideal
		m.averagePrecision /= relevant
		m.recall100 /= relevant
	}
	return m
}
