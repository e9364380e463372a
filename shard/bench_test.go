package shard

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"arborist/document"
)

// benchTexts is real text where there is some, and invented text in any case.
func benchTexts(b *testing.B, n int) (docs []document.Entry, size int64) {
	docs = append(realTexts(b, n/2), generated(b, n/2)...)
	for _, d := range docs {
		size += int64(len(d.Document.Text()))
	}
	return docs, size
}

// rawDB is a SQLite file as fast as it is safe, with none of our tables.
func rawDB(b *testing.B, schema string) *sql.DB {
	b.Helper()
	db := sql.OpenDB(connector{name: "file:" + filepath.Join(b.TempDir(), "raw.db") + "?_txlock=immediate&_stmt_cache_size=16",
		driver: &sqlite3.SQLiteDriver{}})
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; " + schema); err != nil {
		b.Fatal(err)
	}
	return db
}

// BenchmarkPut stores documents in batches of 200 and, in the same run, the
// same bytes by hashing them and inserting them into a bare table, and by
// inserting them into a stock FTS5 table.
func BenchmarkPut(b *testing.B) {
	docs, size := benchTexts(b, 1000)
	batches := slices.Collect(slices.Chunk(docs, 200))
	for _, shards := range []int{1, 4} {
		b.Run(fmt.Sprintf("shards=%d", shards), func(b *testing.B) {
			b.SetBytes(size)
			var ours, raw, fts time.Duration
			for b.Loop() {
				s := newShared(b, shards)
				start := time.Now()
				for _, batch := range batches {
					if _, err := s.Put(context.Background(), batch); err != nil {
						b.Fatal(err)
					}
				}
				ours += time.Since(start)
				s.Close()
				raw += insertChunks(b, batches, "CREATE TABLE c (id INTEGER PRIMARY KEY, hash BLOB, text BLOB)",
					"INSERT INTO c (hash, text) VALUES (?, ?)", true)
				fts += insertChunks(b, batches, "CREATE VIRTUAL TABLE c USING fts5(text, tokenize='porter unicode61')",
					"INSERT INTO c (text) VALUES (?)", false)
			}
			b.ReportMetric(float64(ours)/float64(raw), "x-sha256+insert")
			b.ReportMetric(float64(ours)/float64(fts), "x-plain-fts5")
		})
	}
}

func insertChunks(b *testing.B, batches [][]document.Entry, schema, insert string, hash bool) time.Duration {
	b.Helper()
	db := rawDB(b, schema)
	defer db.Close()
	start := time.Now()
	for _, batch := range batches {
		tx, err := db.Begin()
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range batch {
			for i := range e.Document.Chunks() {
				args := []any{string(e.Document.Chunk(i))}
				if hash {
					sum := sha256.Sum256(e.Document.Chunk(i))
					args = []any{sum[:], e.Document.Chunk(i)}
				}
				if _, err := tx.Exec(insert, args...); err != nil {
					b.Fatal(err)
				}
			}
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

// BenchmarkSearch asks a set of shards and, in the same run, one stock FTS5
// table with everything, which gives rows without text or proof.
func BenchmarkSearch(b *testing.B) {
	docs, _ := benchTexts(b, 3000)
	stock := rawDB(b, "CREATE VIRTUAL TABLE c USING fts5(text, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2')")
	defer stock.Close()
	passages := 0
	tx, err := stock.Begin()
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range docs {
		for i := range e.Document.Chunks() {
			passages++
			if _, err := tx.Exec("INSERT INTO c (text) VALUES (?)", string(e.Document.Chunk(i))); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	queries := refQueries(docs, 200)
	for _, shards := range []int{1, 4, 16} {
		s := newShared(b, shards)
		for batch := range slices.Chunk(docs, 500) {
			put1(b, s, batch...)
		}
		b.Run(fmt.Sprintf("shards=%d", shards), func(b *testing.B) {
			var ours, ranked []time.Duration
			for i := 0; b.Loop(); i++ {
				q := queries[i%len(queries)]
				start := time.Now()
				r, err := s.Search(context.Background(), Query{Text: q.text})
				if err != nil {
					b.Fatal(err)
				}
				ours = append(ours, time.Since(start))
				ranked = append(ranked, askStock(b, stock, q, r.Mode))
			}
			for _, p := range []int{50, 95} {
				b.ReportMetric(percentile(ours, p), fmt.Sprintf("p%d-ms", p))
				b.ReportMetric(percentile(ours, p)/percentile(ranked, p), fmt.Sprintf("p%d-x-order-by-rank", p))
			}
			b.ReportMetric(float64(passages), "passages")
		})
	}
}

func askStock(b *testing.B, db *sql.DB, q refQuery, mode string) time.Duration {
	b.Helper()
	var quoted []string
	for _, s := range q.segments {
		quoted = append(quoted, `"`+s+`"`)
	}
	start := time.Now()
	rows, err := db.Query("SELECT rowid FROM c WHERE c MATCH ? ORDER BY rank LIMIT 10", strings.Join(quoted, " "+strings.ToUpper(mode)+" "))
	if err != nil {
		b.Fatal(err)
	}
	for rows.Next() {
	}
	rows.Close()
	return time.Since(start)
}

func percentile(all []time.Duration, p int) float64 {
	all = slices.Sorted(slices.Values(all))
	return float64(all[min(len(all)-1, len(all)*p/100)]) / float64(time.Millisecond)
}
