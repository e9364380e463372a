package document

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"arborist/merkle"
)

func testHeader() Header {
	return Header{Root: Root(merkle.LeafHash([]byte("chunk"))), Chunks: 1, Bytes: 5, Norm: NormName, Chunker: ChunkerName}
}

// badHeaders names variations of a good header's text that are refused.
func badHeaders() map[string]string {
	good := string(testHeader().Text())
	replace := func(old, with string) string { return strings.Replace(good, old, with, 1) }
	swap := strings.Replace(replace("chunks 1\n", ""), "bytes 5\n", "bytes 5\nchunks 1\n", 1)
	return map[string]string{
		"empty":                "",
		"later version":        replace("document/1", "document/2"),
		"no last newline":      strings.TrimSuffix(good, "\n"),
		"blank line behind":    good + "\n",
		"line behind":          good + "x 1\n",
		"blank line before":    "\n" + good,
		"CRLF":                 strings.ReplaceAll(good, "\n", "\r\n"),
		"byte order mark":      "\uFEFF" + good,
		"fields swapped":       swap,
		"field missing":        replace("norm norm-v2\n", ""),
		"field twice":          replace("chunks 1\n", "chunks 1\nchunks 1\n"),
		"key in upper case":    replace("chunks", "Chunks"),
		"two spaces":           replace("chunks 1", "chunks  1"),
		"tab":                  replace("chunks 1", "chunks\t1"),
		"space at line end":    replace("chunks 1", "chunks 1 "),
		"leading zero":         replace("chunks 1", "chunks 01"),
		"plus sign":            replace("chunks 1", "chunks +1"),
		"negative":             replace("chunks 1", "chunks -1"),
		"underscore":           replace("bytes 5", "bytes 5_0"),
		"hexadecimal":          replace("bytes 5", "bytes 0x5"),
		"fraction":             replace("bytes 5", "bytes 5.0"),
		"no number":            replace("bytes 5", "bytes "),
		"number over 64 bits":  replace("bytes 5", "bytes 18446744073709551616"),
		"no chunks":            replace("chunks 1", "chunks 0"),
		"chunks without bytes": replace("chunks 1", "chunks 6"),
		"too many bytes":       replace("bytes 5", "bytes 67108865"),
		"root of zeros":        replace(testHeader().Root.String(), Root{}.String()),
		"root in upper case":   replace(testHeader().Root.String(), strings.ToUpper(testHeader().Root.String())),
		"root cut":             replace(testHeader().Root.String(), testHeader().Root.String()[:58]),
		"no norm":              replace("norm-v2", ""),
		"norm in upper case":   replace("norm-v2", "Norm-v2"),
		"norm of 33 letters":   replace("norm-v2", strings.Repeat("n", 33)),
		"chunker with a space": replace("block-v1", "block v1"),
		"over the limit":       good + strings.Repeat("x", maxHeader),
	}
}

func TestHeaderHasOneSpelling(t *testing.T) {
	want := "arborist-document/1\nroot " + testHeader().Root.String() + "\nchunks 1\nbytes 5\nnorm norm-v2\nchunker block-v1\n"
	if got := testHeader().Text(); string(got) != want {
		t.Errorf("Text = %q, want %q", got, want)
	}
	if id := testHeader().ID(); id != sha256.Sum256([]byte(want)) {
		t.Errorf("ID = %s is not the hash of the text", id)
	}
	for name, text := range badHeaders() {
		if h, err := ParseHeader([]byte(text)); !errors.Is(err, ErrHeader) || h != (Header{}) {
			t.Errorf("%s: ParseHeader(%q) = %v, %v", name, text, h, err)
		}
	}
}

func TestHeaderSurvivesItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.Uint64Range(1, MaxBytes).Draw(t, "chunks")
		h := Header{
			Root:    Root(merkle.LeafHash(rapid.SliceOf(rapid.Byte()).Draw(t, "data"))),
			Chunks:  chunks,
			Bytes:   rapid.Uint64Range(chunks, MaxBytes).Draw(t, "bytes"),
			Norm:    rapid.StringMatching(`[a-z0-9-]{1,32}`).Draw(t, "norm"),
			Chunker: rapid.StringMatching(`[a-z0-9-]{1,32}`).Draw(t, "chunker"),
		}
		if again, err := ParseHeader(h.Text()); err != nil || again != h {
			t.Fatalf("ParseHeader(%q) = %v, %v", h.Text(), again, err)
		}
	})
}

// TestEveryBitOfAHeaderCounts: a flipped bit is refused or names another ID.
func TestEveryBitOfAHeaderCounts(t *testing.T) {
	text, id := testHeader().Text(), testHeader().ID()
	for i := range len(text) * 8 {
		flipped := bytes.Clone(text)
		flipped[i/8] ^= 1 << (i % 8)
		if h, err := ParseHeader(flipped); err == nil && (h.ID() == id || h == testHeader()) {
			t.Errorf("bit %d: %q is the same header", i, flipped)
		}
	}
}

func FuzzParseHeader(f *testing.F) {
	for _, text := range badHeaders() {
		f.Add([]byte(text))
	}
	f.Add(testHeader().Text())
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := ParseHeader(text)
		switch {
		case err != nil && (h != Header{} || !errors.Is(err, ErrHeader)):
			t.Fatalf("ParseHeader(%q) = %v, %v", text, h, err)
		case err == nil && (!bytes.Equal(h.Text(), text) || h.Chunks == 0 || h.Bytes < h.Chunks || h.Bytes > MaxBytes):
			t.Fatalf("ParseHeader(%q) = %v", text, h)
		}
	})
}
