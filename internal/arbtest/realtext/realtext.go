// Package realtext gives benchmarks the real texts of the machine that they run
// on, queries made of their words, and the processor time that was used.
package realtext

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bytes returns how much text a benchmark takes: as many MiB as the environment
// variable BENCH_MB says, or otherwise.
func Bytes(otherwise int) int {
	if mb, err := strconv.Atoi(os.Getenv("BENCH_MB")); err == nil && mb > 0 {
		return mb << 20
	}
	return otherwise
}

// ErrFew: the machine has far less text than was asked for.
var ErrFew = errors.New("too little text on this machine")

// Texts returns texts of this machine, documentation and source code, up to a
// number of bytes, in an order that is the same on each call.
func Texts(most int) (texts [][]byte, size int, err error) {
	for _, root := range []string{"/usr/share/doc", "/usr/lib/python3.11", "/usr/local/go/src", "/usr/local/go/api", "/usr/share/perl", "/usr/include"} {
		filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || size >= most {
				return filepath.SkipAll
			}
			if !e.Type().IsRegular() || !slices.Contains([]string{".md", ".txt", ".html", ".go", ".py", ".h", ".pm", ".pod", ".rst", ""}, filepath.Ext(path)) {
				return nil
			}
			raw, err := os.ReadFile(path)
			if err != nil || len(raw) > 4<<20 || len(raw) < 200 || bytes.IndexByte(raw[:200], 0) >= 0 {
				return nil
			}
			texts = append(texts, raw)
			size += len(raw)
			return nil
		})
	}
	if size < most/4 {
		return nil, size, ErrFew
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	return texts, size, nil
}

// A Query is words or one phrase to look for.
type Query struct {
	Parts []string // words; of a phrase the whole of it
	Text  string   // as arborist takes it
}

// Queries makes queries of a kind, "or", "and" or "phrase", of words that stand
// in the texts. Those of kind "or" have one word more, which no text has.
func Queries(texts [][]byte, kind string, n int) (all []Query) {
	r := rand.New(rand.NewPCG(9, 9))
	for len(all) < n {
		words := strings.FieldsFunc(string(texts[r.IntN(len(texts))]), func(c rune) bool {
			return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
		})
		if len(words) < 20 {
			continue
		}
		var q Query
		at := r.IntN(len(words) - 8)
		switch kind {
		case "phrase":
			q.Parts = []string{strings.Join(words[at:at+2+r.IntN(2)], " ")}
			q.Text = `"` + q.Parts[0] + `"`
		default:
			for range 2 + r.IntN(3) {
				q.Parts = append(q.Parts, words[r.IntN(len(words))])
			}
			if kind == "or" {
				q.Parts = append(q.Parts, "qqxqq")
			}
			q.Text = strings.Join(q.Parts, " ")
		}
		all = append(all, q)
	}
	return all
}

// AllQueries makes n queries of each kind.
func AllQueries(texts [][]byte, kinds []string, n int) map[string][]Query {
	all := make(map[string][]Query)
	for _, kind := range kinds {
		all[kind] = Queries(texts, kind, n)
	}
	return all
}

// CPU returns the processor time that this process has used.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Percentile returns the p-th of a hundred of the durations, in milliseconds.
func Percentile(all []time.Duration, p int) float64 {
	all = slices.Sorted(slices.Values(all))
	return float64(all[min(len(all)-1, len(all)*p/100)]) / float64(time.Millisecond)
}

// Size returns the bytes of all files below a folder.
func Size(dir string) (n int64) {
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
