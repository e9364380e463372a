package document

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// benchTexts returns texts of about 1 MiB: real documentation of the Go
// distribution, and made-up extremes.
func benchTexts(b *testing.B) map[string][]byte {
	b.Helper()
	texts := map[string][]byte{
		"one-line":    []byte(strings.Repeat("Some words make a sentence. And so does this one, with more of them! ", 1<<20/68)),
		"no-space":    []byte(strings.Repeat("QmFzZTY0IGhhcyBubyB3b3JkcyBhbmQgbm8gbGluZXM", 1<<20/43)),
		"cjk":         []byte(strings.Repeat("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。\n\n", 1<<20/101)),
		"vietnamese":  []byte(strings.Repeat("Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền.\n", 1<<20/104)),
		"hindi":       []byte(strings.Repeat("सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता प्राप्त है।\n", 1<<20/202)),
		"short-lines": []byte(strings.Repeat("a\nb\n", 1<<20/4)),
	}
	name := filepath.Join(goRoot(b), "doc", "godebug.md")
	if text, err := os.ReadFile(name); err == nil {
		texts["markdown"] = []byte(strings.Repeat(string(text), 1<<20/len(text)))
	} else {
		b.Logf("no real documentation: %v", err)
	}
	return texts
}

func benchmarkTexts(b *testing.B, f func(b *testing.B, text []byte)) {
	for name, text := range benchTexts(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			f(b, text)
		})
	}
}

func BenchmarkNormalizeCanonical(b *testing.B) {
	benchmarkTexts(b, func(b *testing.B, text []byte) {
		text = Normalize(text)
		for b.Loop() {
			Normalize(text)
		}
	})
}

func BenchmarkNormalize(b *testing.B) {
	benchmarkTexts(b, func(b *testing.B, text []byte) {
		text = []byte(strings.ReplaceAll(string(text), "\n", "\r\n") + " \n")
		for b.Loop() {
			Normalize(text)
		}
	})
}

func BenchmarkIsNormal(b *testing.B) {
	benchmarkTexts(b, func(b *testing.B, text []byte) {
		text = Normalize(text)
		for b.Loop() {
			IsNormal(text)
		}
	})
}

func BenchmarkCut(b *testing.B) {
	benchmarkTexts(b, func(b *testing.B, text []byte) {
		text = Normalize(text)
		for b.Loop() {
			Cut(text)
		}
	})
}

func BenchmarkNew(b *testing.B) {
	benchmarkTexts(b, func(b *testing.B, text []byte) {
		for b.Loop() {
			if _, err := New(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	benchmarkTexts(b, func(b *testing.B, text []byte) {
		d, err := New(text)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := Verify(d.Header(), d.Text()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
