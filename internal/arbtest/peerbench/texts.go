package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// vocabulary is how many different words the texts are made of.
const vocabulary = 100_000

// A writer invents prose whose words are as frequent as those of a language.
type writer struct {
	r    *rand.Rand
	zipf *rand.Zipf
}

func newWriter(seed uint64) *writer {
	r := rand.New(rand.NewPCG(seed, 7))
	return &writer{r, rand.NewZipf(r, 1.1, 4, vocabulary-1)}
}

// text returns so many bytes, in paragraphs.
func (w *writer) text(bytes int) []byte {
	b := make([]byte, 0, bytes+32)
	for paragraph := 0; len(b) < bytes; {
		b = appendWord(b, w.zipf.Uint64())
		if paragraph++; paragraph > 60+w.r.IntN(60) {
			b, paragraph = append(b, ".\n\n"...), 0
		} else {
			b = append(b, ' ')
		}
	}
	return append(b[:bytes-1], '\n')
}

func appendWord(b []byte, n uint64) []byte {
	const syllables = "bakelimonurasetivozupidofugehajo"
	for n += 17; n > 0; n /= 16 {
		b = append(b, syllables[2*(n%16):2*(n%16)+2]...)
	}
	return b
}

// tree writes n documents, a hundred a folder, and returns their bytes.
func tree(dir string, n int, seed uint64, size func(*rand.Rand) int) (bytes int64, err error) {
	w := newWriter(seed)
	for i := range n {
		text := w.text(size(w.r))
		if err := writeDocument(dir, i, text); err != nil {
			return 0, err
		}
		bytes += int64(len(text))
	}
	return bytes, nil
}

func writeDocument(dir string, i int, text []byte) error {
	path := filepath.Join(dir, fmt.Sprintf("%03d", i/100), fmt.Sprintf("%02d.txt", i%100))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

func small(r *rand.Rand) int { return 2<<10 + r.IntN(6<<10) }
