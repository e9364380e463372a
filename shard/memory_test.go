package shard_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arborist/internal/arbtest/realtext"
)

// BenchmarkMemory ingests BENCH_MB of text, several GB where there is room, and
// reports the memory of the process after each quarter of it: it must not grow.
// The text is real, 32 MiB of this machine, recombined: each document is
// paragraphs of several texts. Run it with -benchtime 1x.
func BenchmarkMemory(b *testing.B) {
	texts, _, err := realtext.Texts(32 << 20)
	if err != nil {
		b.Skip(err)
	}
	most := realtext.Bytes(256 << 20)
	for b.Loop() {
		s := newSet(b, filepath.Join(b.TempDir(), "shards"))
		r, done, quarter := rand.New(rand.NewPCG(3, 3)), 0, 1
		in, err := realtext.Into(b.Context(), s, func(yield func([]byte) bool) {
			for done < most {
				text := recombined(r, texts)
				if done += len(text); !yield(text) {
					return
				}
				if done >= quarter*most/4 {
					b.ReportMetric(residentMB(b), fmt.Sprintf("rss-MB-at-%d-of-4", quarter))
					quarter++
				}
			}
		})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(residentMB(b), "rss-MB-at-end")
		b.ReportMetric(float64(done)/float64(1<<20), "MB")
		b.ReportMetric(float64(done)/float64(1<<20)/in.CPU.Seconds(), "MB/cpu-s")
		s.Close()
	}
}

// recombined makes a text of a few paragraphs of each of some texts.
func recombined(r *rand.Rand, texts [][]byte) []byte {
	var out []byte
	for range 1 + r.IntN(6) {
		text := texts[r.IntN(len(texts))]
		from := r.IntN(len(text))
		out = append(append(out, text[from:min(len(text), from+1+r.IntN(20<<10))]...), "\n\n"...)
	}
	return out
}

// residentMB returns the most memory that the process had since it was asked last.
func residentMB(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	var kb float64
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kb); err == nil {
			break
		}
	}
	// Best effort: without it the figure is the most since the start.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	return kb / 1024
}
