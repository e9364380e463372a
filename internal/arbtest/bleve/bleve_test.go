package bleve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search/query"

	"arborist/document"
	"arborist/internal/arbtest/realtext"
	"arborist/shard"
)

// BenchmarkBleve ingests real text into 16 shards, or BENCH_SHARDS, and, passage by passage, into
// a Bleve index that stores it (English analyzer, batches of 1,000), then asks
// both the same queries for ten hits with their text. Run it with -benchtime 1x.
func BenchmarkBleve(b *testing.B) {
	for b.Loop() {
		texts, size, err := realtext.Texts(realtext.Bytes(48 << 20))
		if err != nil {
			b.Skip(err)
		}
		dir := b.TempDir()
		shards := filepath.Join(dir, "shards")
		number := 16
		if n, err := strconv.Atoi(os.Getenv("BENCH_SHARDS")); err == nil {
			number = n
		}
		if err := shard.CreateShared(shards, number); err != nil {
			b.Fatal(err)
		}
		s, err := shard.OpenShared(shards)
		if err != nil {
			b.Fatal(err)
		}
		in, err := realtext.Into(b.Context(), s, slices.Values(texts))
		if err != nil {
			b.Fatal(err)
		}
		docs := realtext.Documents(texts)
		start, startCPU := time.Now(), realtext.CPU()
		index := build(b, filepath.Join(dir, "bleve"), docs)
		took, cpu := time.Since(start), realtext.CPU()-startCPU
		b.ReportMetric(float64(in.Passages), "passages")
		b.ReportMetric(float64(cpu)/float64(in.CPU), "bleve-ingest-cpu-x-ours")
		b.ReportMetric(float64(took)/float64(in.Took), "bleve-ingest-time-x-ours")
		b.ReportMetric(float64(realtext.Size(shards))/float64(size), "disk-bytes/byte")
		b.ReportMetric(float64(realtext.Size(filepath.Join(dir, "bleve")))/float64(size), "bleve-disk-bytes/byte")
		kinds := []string{"or", "and", "phrase"}
		asked := realtext.AllQueries(texts, kinds, 150)
		// Who asks does not hold all texts in memory, where each collection of
		// garbage would mark them.
		docs, texts = nil, nil
		runtime.GC()
		for _, kind := range kinds {
			var ours, theirs []time.Duration
			for _, q := range asked[kind] {
				startCPU := realtext.CPU()
				if _, err := s.Search(context.Background(), shard.Query{Text: q.Text}); err != nil {
					b.Fatal(err)
				}
				ours = append(ours, realtext.CPU()-startCPU)
				startCPU = realtext.CPU()
				ask(b, index, kind, q)
				theirs = append(theirs, realtext.CPU()-startCPU)
			}
			for _, p := range []int{50, 95} {
				b.ReportMetric(realtext.Percentile(ours, p)/realtext.Percentile(theirs, p), fmt.Sprintf("%s-p%d-x-bleve", kind, p))
			}
		}
		index.Close()
		s.Close()
	}
}

func build(b *testing.B, path string, docs []*document.Document) bleve.Index {
	index, err := bleve.New(path, textMapping())
	if err != nil {
		b.Fatal(err)
	}
	batch, n := index.NewBatch(), 0
	for _, d := range docs {
		for i := range d.Chunks() {
			n++
			if err := batch.Index(strconv.Itoa(n), map[string]string{"text": string(d.Chunk(i))}); err != nil {
				b.Fatal(err)
			}
			if batch.Size() < 1000 {
				continue
			}
			if err := index.Batch(batch); err != nil {
				b.Fatal(err)
			}
			batch.Reset()
		}
	}
	if err := index.Batch(batch); err != nil {
		b.Fatal(err)
	}
	return index
}

func textMapping() mapping.IndexMapping {
	field := bleve.NewTextFieldMapping()
	field.Analyzer, field.IncludeInAll, field.DocValues = en.AnalyzerName, false, false
	doc := bleve.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt("text", field)
	m := bleve.NewIndexMapping()
	m.DefaultMapping = doc
	return m
}

func ask(b *testing.B, index bleve.Index, kind string, q realtext.Query) {
	var asked query.Query
	if kind == "phrase" {
		phrase := bleve.NewMatchPhraseQuery(q.Parts[0])
		phrase.SetField("text")
		asked = phrase
	} else {
		var all []query.Query
		for _, p := range q.Parts {
			m := bleve.NewMatchQuery(p)
			m.SetField("text")
			all = append(all, m)
		}
		if asked = query.Query(bleve.NewDisjunctionQuery(all...)); kind == "and" {
			asked = bleve.NewConjunctionQuery(all...)
		}
	}
	r := bleve.NewSearchRequest(asked)
	r.Fields = []string{"text"}
	if _, err := index.Search(r); err != nil {
		b.Fatal(err)
	}
}
