package shard

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"arborist/document"
)

// scaleBytes is how much real text the benchmark at scale takes: 48 MiB, or as
// many as the environment variable BENCH_MB says.
func scaleBytes() int {
	if mb, err := strconv.Atoi(os.Getenv("BENCH_MB")); err == nil && mb > 0 {
		return mb << 20
	}
	return 48 << 20
}

// machineTexts returns texts of this machine, most of them documentation and
// source code, up to a number of bytes.
func machineTexts(b *testing.B, most int) (texts [][]byte, size int) {
	for _, root := range []string{"/usr/share/doc", "/usr/lib/python3.11", "/usr/local/go/src", "/usr/local/go/api", "/usr/share/perl", "/usr/include"} {
		filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || size >= most {
				return filepath.SkipAll
			}
			if !e.Type().IsRegular() || !slices.Contains([]string{".md", ".txt", ".html", ".go", ".py", ".h", ".pm", ".pod", ".rst", ""}, filepath.Ext(path)) {
				return nil
			}
			raw, err := os.ReadFile(path)
			if err != nil || len(raw) > 4<<20 || len(raw) < 200 || strings.ContainsRune(string(raw[:200]), 0) {
				return nil
			}
			texts = append(texts, raw)
			size += len(raw)
			return nil
		})
	}
	if size < most/4 {
		b.Skipf("only %d bytes of text on this machine", size)
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	return texts, size
}

// cpu returns the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func fileBytes(b *testing.B, pattern string) (n int64) {
	b.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			b.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// BenchmarkScale ingests real text into 16 shards and into one plain FTS5
// table with content, then asks both the same queries. Run it with -benchtime 1x.
func BenchmarkScale(b *testing.B) {
	texts, size := machineTexts(b, scaleBytes())
	for b.Loop() {
		dir := b.TempDir()
		if err := CreateShared(filepath.Join(dir, "shards"), 16); err != nil {
			b.Fatal(err)
		}
		s, err := OpenShared(filepath.Join(dir, "shards"))
		if err != nil {
			b.Fatal(err)
		}
		start, startCPU := time.Now(), cpu()
		var docs []document.Entry
		var batch []document.Entry
		passages := 0
		flush := func() {
			if _, err := s.Put(context.Background(), batch); err != nil {
				b.Fatal(err)
			}
			docs, batch = append(docs, batch...), nil
		}
		pending := 0
		for i, text := range texts {
			d, err := document.New(text)
			if err != nil {
				continue
			}
			passages += d.Chunks()
			batch = append(batch, document.Entry{Document: d, Location: document.Location{URI: fmt.Sprintf("test:%d", i), Source: "test", FetchedAt: fetched}})
			if pending += len(text); pending > 8<<20 {
				flush()
				pending = 0
			}
		}
		flush()
		ours, oursCPU := time.Since(start), cpu()-startCPU
		raw := rawDB(b, "PRAGMA temp_store=MEMORY; CREATE VIRTUAL TABLE c USING fts5(text, tokenize='porter unicode61 remove_diacritics 2')")
		start, startCPU = time.Now(), cpu()
		for part := range slices.Chunk(docs, 200) {
			tx, err := raw.Begin()
			if err != nil {
				b.Fatal(err)
			}
			for _, e := range part {
				for i := range e.Document.Chunks() {
					if _, err := tx.Exec("INSERT INTO c (text) VALUES (?)", string(e.Document.Chunk(i))); err != nil {
						b.Fatal(err)
					}
				}
			}
			if err := tx.Commit(); err != nil {
				b.Fatal(err)
			}
		}
		plain, plainCPU := time.Since(start), cpu()-startCPU
		b.ReportMetric(float64(passages), "passages")
		b.ReportMetric(float64(oursCPU)/float64(plainCPU), "ingest-cpu-x-fts5")
		b.ReportMetric(float64(plain)/float64(ours), "ingest-rate-x-fts5")
		b.ReportMetric(float64(passages)/oursCPU.Seconds(), "passages/cpu-s")
		s.Close()
		b.ReportMetric(float64(fileBytes(b, filepath.Join(dir, "shards", "*.db")))/float64(size), "disk-bytes/byte")
		if s, err = OpenShared(filepath.Join(dir, "shards")); err != nil {
			b.Fatal(err)
		}
		for _, kind := range []string{"or", "and", "phrase"} {
			var a, z []time.Duration
			for _, q := range scaleQueries(docs, kind, 150) {
				startCPU := cpu()
				if _, err := s.Search(context.Background(), Query{Text: q.text}); err != nil {
					b.Fatal(err)
				}
				a = append(a, cpu()-startCPU)
				startCPU = cpu()
				askStock(b, raw, q, map[string]string{"or": "or"}[kind]+map[string]string{"and": "and", "phrase": "and"}[kind])
				z = append(z, cpu()-startCPU)
			}
			for _, p := range []int{50, 95} {
				b.ReportMetric(percentile(a, p), fmt.Sprintf("%s-p%d-cpu-ms", kind, p))
				b.ReportMetric(percentile(a, p)/percentile(z, p), fmt.Sprintf("%s-p%d-x-fts5", kind, p))
			}
		}
		s.Close()
		raw.Close()
	}
}

// scaleQueries makes queries of words that stand in the documents.
func scaleQueries(docs []document.Entry, kind string, n int) (all []refQuery) {
	r := rand.New(rand.NewPCG(9, 9))
	for len(all) < n {
		words := strings.FieldsFunc(string(docs[r.IntN(len(docs))].Document.Text()), func(c rune) bool {
			return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
		})
		if len(words) < 20 {
			continue
		}
		var q refQuery
		at := r.IntN(len(words) - 8)
		switch kind {
		case "phrase":
			q.segments = []string{strings.Join(words[at:at+2+r.IntN(2)], " ")}
			q.text = `"` + q.segments[0] + `"`
		default:
			for range 2 + r.IntN(3) {
				q.segments = append(q.segments, words[r.IntN(len(words))])
			}
			if kind == "or" {
				q.segments = append(q.segments, "qqxqq") // nothing has it
			}
			q.text = strings.Join(q.segments, " ")
		}
		all = append(all, q)
	}
	return all
}
