package words

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"testing"
	"unicode"
)

func english(b *testing.B) []byte {
	f, err := os.Open("/work/shared/data/ir/npl/docs.tsv.gz")
	if err != nil { b.Skip(err) }
	z, _ := gzip.NewReader(f)
	x, _ := io.ReadAll(z)
	return x
}
func BenchmarkEach(b *testing.B) {
	x := english(b)
	b.SetBytes(int64(len(x)))
	b.ReportAllocs()
	var t Tokenizer
	n := 0
	for b.Loop() { t.Each(x, func(w []byte, s, e int) { n += len(w) }) }
}
func BenchmarkFields(b *testing.B) {
	x := english(b)
	b.SetBytes(int64(len(x)))
	for b.Loop() { bytes.FieldsFunc(x, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) }
}
func BenchmarkLang(b *testing.B) {
	raw, err := os.ReadFile("/work/shared/data/lang/paragraphs.json")
	if err != nil { b.Skip(err) }
	var ps []struct{ Lang, Text string }
	json.Unmarshal(raw, &ps)
	by := map[string][]byte{}
	for _, p := range ps { by[p.Lang] = append(append(by[p.Lang], p.Text...), '\n') }
	for _, l := range []string{"de", "ru", "zh", "ja", "vi", "el"} {
		b.Run(l, func(b *testing.B) {
			b.SetBytes(int64(len(by[l])))
			b.ReportAllocs()
			var t Tokenizer
			for b.Loop() { t.Each(by[l], func(w []byte, s, e int) {}) }
		})
	}
}
