package shard_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"arborist/internal/arbtest/realtext"
	"arborist/shard"
)

// scaleTexts returns 48 MiB of real text, or as much as BENCH_MB says.
func scaleTexts(b *testing.B) (texts [][]byte, size int) {
	texts, size, err := realtext.Texts(realtext.Bytes(48 << 20))
	if errors.Is(err, realtext.ErrFew) {
		b.Skip(err)
	}
	return texts, size
}

func newSet(b *testing.B, dir string) *shard.Shared {
	if err := shard.CreateShared(dir, 16); err != nil {
		b.Fatal(err)
	}
	s, err := shard.OpenShared(dir)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkScale ingests real text into 16 shards and into one plain FTS5
// table with content, then asks both the same queries. Run it with -benchtime 1x.
func BenchmarkScale(b *testing.B) {
	for b.Loop() {
		texts, size := scaleTexts(b)
		dir := filepath.Join(b.TempDir(), "shards")
		s := newSet(b, dir)
		in, err := realtext.Into(b.Context(), s, slices.Values(texts))
		if err != nil {
			b.Fatal(err)
		}
		raw := shard.RawDB(b, "PRAGMA temp_store=MEMORY; CREATE VIRTUAL TABLE c USING fts5(text, tokenize='porter unicode61 remove_diacritics 2')")
		plain, plainCPU := insertAll(b, raw, texts)
		s.Close()
		b.ReportMetric(float64(in.Passages), "passages")
		b.ReportMetric(float64(in.CPU)/float64(plainCPU), "ingest-cpu-x-fts5")
		b.ReportMetric(float64(plain)/float64(in.Took), "ingest-rate-x-fts5")
		b.ReportMetric(float64(in.Passages)/in.CPU.Seconds(), "passages/cpu-s")
		b.ReportMetric(float64(realtext.Size(dir))/float64(size), "disk-bytes/byte")
		if s, err = shard.OpenShared(dir); err != nil {
			b.Fatal(err)
		}
		kinds := []string{"or", "and", "phrase"}
		asked := realtext.AllQueries(canonical(texts), kinds, 150)
		// Who asks does not hold all texts in memory, where each collection of
		// garbage would mark them.
		texts = nil
		runtime.GC()
		for _, kind := range kinds {
			var ours, theirs []time.Duration
			for _, q := range asked[kind] {
				start := realtext.CPU()
				if _, err := s.Search(context.Background(), shard.Query{Text: q.Text}); err != nil {
					b.Fatal(err)
				}
				ours = append(ours, realtext.CPU()-start)
			}
			// Not in turns: what the sorter of FTS5 frees, malloc puts in order when
			// it is asked next, which was most of the time of our OR queries.
			for _, q := range asked[kind] {
				theirs = append(theirs, askPlain(b, raw, q, kind))
			}
			for _, p := range []int{50, 95} {
				b.ReportMetric(realtext.Percentile(ours, p), fmt.Sprintf("%s-p%d-cpu-ms", kind, p))
				b.ReportMetric(realtext.Percentile(ours, p)/realtext.Percentile(theirs, p), fmt.Sprintf("%s-p%d-x-fts5", kind, p))
			}
		}
		s.Close()
		raw.Close()
	}
}

func canonical(texts [][]byte) (all [][]byte) {
	for _, d := range realtext.Documents(texts) {
		all = append(all, d.Text())
	}
	return all
}

// insertAll inserts the passages of texts into a table, 200 documents a
// transaction, and returns what that took. Making the documents does not count.
func insertAll(b *testing.B, db *sql.DB, texts [][]byte) (took, cpu time.Duration) {
	for part := range slices.Chunk(texts, 200) {
		docs := realtext.Documents(part)
		start, startCPU := time.Now(), realtext.CPU()
		tx, err := db.Begin()
		if err != nil {
			b.Fatal(err)
		}
		for _, d := range docs {
			for i := range d.Chunks() {
				if _, err := tx.Exec("INSERT INTO c (text) VALUES (?)", string(d.Chunk(i))); err != nil {
					b.Fatal(err)
				}
			}
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
		took, cpu = took+time.Since(start), cpu+realtext.CPU()-startCPU
	}
	return took, cpu
}

// askPlain asks the table and returns the processor time that it took.
func askPlain(b *testing.B, db *sql.DB, q realtext.Query, kind string) time.Duration {
	quoted := make([]string, len(q.Parts))
	for i, p := range q.Parts {
		quoted[i] = `"` + p + `"`
	}
	between := " AND "
	if kind == "or" {
		between = " OR "
	}
	start := realtext.CPU()
	rows, err := db.Query("SELECT rowid FROM c WHERE c MATCH ? ORDER BY rank LIMIT 10", strings.Join(quoted, between))
	if err != nil {
		b.Fatal(err)
	}
	for rows.Next() {
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		b.Fatal(err)
	}
	return realtext.CPU() - start
}
