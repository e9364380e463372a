package document

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func checkSpans(t interface {
	Helper()
	Fatalf(string, ...any)
}, text []byte, spans []Span,
) {
	t.Helper()
	at := 0
	for i, s := range spans {
		switch last := i == len(spans)-1; {
		case s.Start != at || s.End <= s.Start:
			t.Fatalf("chunk %d is %v after %d", i, s, at)
		case s.End-s.Start > maxChunk, s.End-s.Start < minChunk && len(text) > maxChunk:
			t.Fatalf("chunk %d of %d has %d bytes", i, len(spans), s.End-s.Start)
		case !last && (!utf8.RuneStart(text[s.End]) || text[s.End] == '\n'):
			t.Fatalf("chunk %d ends before %q", i, text[s.End:min(len(text), s.End+8)])
		}
		at = s.End
	}
	if at != len(text) {
		t.Fatalf("chunks end at %d of %d", at, len(text))
	}
}

func TestChunksPartitionTheText(t *testing.T) {
	for _, text := range []string{
		"", "a", strings.Repeat("x", maxChunk), strings.Repeat("x", maxChunk+1), strings.Repeat("é", 5000),
		strings.Repeat("Some words here. ", 900), strings.Repeat("line of text\n", 900),
		"a\n" + strings.Repeat(" ", 9000) + "b", strings.Repeat("段落。", 3000),
		strings.Repeat("# Heading\n\nText of it.\n\n```go\ncode\n\n# no heading\n```\n\n", 300),
	} {
		canonical := Normalize([]byte(text))
		checkSpans(t, canonical, Cut(canonical))
	}
}

func TestNewSatisfiesVerify(t *testing.T) {
	d, err := New([]byte(strings.Repeat("# Heading\n\nText of it.\n\n", 300)))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Verify(d.Header(), bytes.Clone(d.Text()))
	if err != nil {
		t.Fatal(err)
	}
	if again.Root() != d.Root() || d.Chunks() < 4 {
		t.Errorf("root %s, again %s, %d chunks", d.Root(), again.Root(), d.Chunks())
	}
}
