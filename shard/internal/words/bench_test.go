package words

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"arborist/internal/arbtest/judged"
)

// BenchmarkEach takes English text apart, beside the splitting alone by the
// standard library.
func BenchmarkEach(b *testing.B) {
	text := []byte(strings.Join(judged.Load(b, "npl").Docs, "\n"))
	isBetween := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	var k Tokenizer
	var ours, fields time.Duration
	terms := 0
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		k.Each(text, func([]byte, int, int) { terms++ })
		ours += time.Since(start)
		start = time.Now()
		bytes.FieldsFunc(text, isBetween)
		fields += time.Since(start)
	}
	b.ReportMetric(float64(len(text))*float64(b.N)/1e6/ours.Seconds(), "MB/s")
	b.ReportMetric(float64(ours)/float64(fields), "x-FieldsFunc")
	b.ReportMetric(0, "ns/op") // of both together: says nothing
}

// BenchmarkLanguages takes text of 24 languages apart.
func BenchmarkLanguages(b *testing.B) {
	all := paragraphs(b)
	for _, lang := range slices.Sorted(maps.Keys(all)) {
		b.Run(lang, func(b *testing.B) {
			text := bytes.Join(all[lang], []byte("\n"))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var k Tokenizer
			for b.Loop() {
				k.Each(text, func([]byte, int, int) {})
			}
		})
	}
}
