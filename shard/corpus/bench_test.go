package corpus

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"arborist/document"
	"arborist/merkle"
	"arborist/proof"
)

// benchSize is the length of the log that the benchmarks work on;
// ARBORIST_BENCH_RECORDS sets another.
func benchSize() int {
	if n, err := strconv.Atoi(os.Getenv("ARBORIST_BENCH_RECORDS")); err == nil {
		return n
	}
	return 100_000
}

const benchBatch = 200

// benchLog is an own log of n records, written in batches, each with its
// signed head on disk.
func benchLog(b *testing.B, n int) (*Store, *proof.Signer) {
	b.Helper()
	ctx := context.Background()
	s, err := Open(filepath.Join(b.TempDir(), "corpora.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	signer := testSigner(b, "main", 1)
	if _, err := s.Create(ctx, "main", signer.Verifier()); err != nil {
		b.Fatal(err)
	}
	for i := 0; i < n; i += benchBatch {
		if _, err := s.Append(ctx, signer.Name(), signer, numbered(min(benchBatch, n-i), i)); err != nil {
			b.Fatal(err)
		}
	}
	return s, signer
}

// BenchmarkAppend writes a whole log in batches of 200 and says what a record
// costs beside the bare hash of its line.
func BenchmarkAppend(b *testing.B) {
	n := benchSize()
	for b.Loop() {
		benchLog(b, n)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/record")
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkLog(b *testing.B) {
	ctx := context.Background()
	n := benchSize()
	s, signer := benchLog(b, n)
	origin := signer.Name()
	roots := make([]document.Root, 1000)
	for i := range roots {
		roots[i] = header(fmt.Sprintf("content %d", i*(n/len(roots)))).Root
	}
	b.Run("Prove", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := s.Prove(ctx, origin, roots[i%len(roots)]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Listed", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, _, err := s.Listed(ctx, roots[i%len(roots)]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Consistency", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := s.Consistency(ctx, origin, uint64(1+i*97%n), uint64(n)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Entries", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := s.Entries(ctx, origin, uint64(i%(n/tileWidth)), tileWidth); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("AppendOne", func(b *testing.B) {
		for i := n; b.Loop(); i++ {
			if _, err := s.Append(ctx, origin, signer, numbered(1, i)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("AppendUnchanged200", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := s.Append(ctx, origin, signer, numbered(benchBatch, i*benchBatch%(n-benchBatch))); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkExtend follows a whole log in one call.
func BenchmarkExtend(b *testing.B) {
	ctx := context.Background()
	n := benchSize()
	signer := testSigner(b, "main", 1)
	lines := make([][]byte, n)
	var tree merkle.Builder
	for i, r := range numbered(n, 0) {
		lines[i], _ = r.Line()
		tree.Append(merkle.LeafHash(lines[i]))
	}
	note, err := proof.SignCheckpoint(proof.Checkpoint{Origin: signer.Name(), Size: uint64(n), Root: tree.Root()}, signer)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(filepath.Join(b.TempDir(), "corpora.db"))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Follow(ctx, signer.Verifier()); err != nil {
			b.Fatal(err)
		}
		_, err = s.ExtendFrom(ctx, signer.Name(), note, func(from uint64) iter.Seq2[[]byte, error] { return sequence(lines[from:], nil) })
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "records/s")
}
