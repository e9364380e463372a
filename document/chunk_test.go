package document

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// checkSpans states everything that Cut promises of canonical text.
func checkSpans(t interface {
	Helper()
	Fatalf(string, ...any)
}, text []byte, spans []Span,
) {
	t.Helper()
	checkPartition(t, text, spans)
	for i, s := range spans[:max(0, len(spans)-1)] {
		if next := text[s.End:]; !utf8.RuneStart(next[0]) || next[0] == '\n' {
			t.Fatalf("chunk %d ends before %q", i, next[:min(len(next), 8)])
		}
	}
}

// checkPartition states what it promises of any bytes.
func checkPartition(t interface {
	Helper()
	Fatalf(string, ...any)
}, text []byte, spans []Span,
) {
	t.Helper()
	at := 0
	for i, s := range spans {
		switch {
		case s.Start != at || s.End <= s.Start:
			t.Fatalf("chunk %d is %v after %d", i, s, at)
		case s.End-s.Start > maxChunk, s.End-s.Start < minChunk && len(spans) > 1:
			t.Fatalf("chunk %d of %d has %d bytes", i, len(spans), s.End-s.Start)
		}
		at = s.End
	}
	if at != len(text) {
		t.Fatalf("chunks end at %d of %d", at, len(text))
	}
}

func TestCutFollowsTheRule(t *testing.T) {
	for name, text := range sampleTexts(t) {
		if len(text) == 0 {
			continue
		}
		spans := Cut(text)
		checkSpans(t, text, spans)
		if len(text) > 60_000 {
			text = Normalize(text[:60_000])
			spans = Cut(text)
		}
		if want := referenceCut(text); !slices.Equal(spans, want) {
			t.Errorf("%s: Cut = %v\nwant %v", name, spans, want)
		}
	}
	if spans := Cut(nil); len(spans) != 0 {
		t.Errorf("Cut of nothing = %v", spans)
	}
}

func TestCutPartitionsAnyBytes(t *testing.T) {
	pieces := []string{
		"# H\n", "## H\n\n", "```\n", "~~~ x\n", "\n", "a. ", "b ", "字。", "\t", "    ", "é",
		strings.Repeat("x", 300), strings.Repeat(" ", 700), strings.Repeat("\x80", 500), strings.Repeat("\n", 2000),
	}
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(t, "pieces"), ""))
		if len(raw) > 0 {
			checkPartition(t, raw, Cut(raw))
		}
		if text := Normalize(raw); len(text) > 0 {
			checkSpans(t, text, Cut(text))
			if got, want := Cut(text), referenceCut(text); !slices.Equal(got, want) {
				t.Fatalf("Cut = %v\nwant %v", got, want)
			}
		}
	})
}

func FuzzCut(f *testing.F) {
	for _, text := range sampleTexts(f) {
		f.Add(text[:min(len(text), 4000)])
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkPartition(t, text, Cut(text)) })
}

func TestMeanChunkIsAboutOneKiB(t *testing.T) {
	texts := sampleTexts(t)
	for _, name := range []string{"markdown", "one line", "cjk", "no space", "doc/godebug.md", "src/net/http/server.go"} {
		text, ok := texts[name]
		if !ok {
			continue // sampleTexts said why
		}
		if mean := len(text) / len(Cut(text)); mean < 850 || mean > 1150 {
			t.Errorf("%s: mean chunk has %d bytes", name, mean)
		}
	}
}

func TestHeadingsStayWithTheirText(t *testing.T) {
	text := sampleTexts(t)["markdown"]
	starts, last := 0, 0
	spans := Cut(text)
	for _, s := range spans {
		chunk := bytes.TrimSpace(text[s.Start:s.End])
		if text[s.Start] == '#' {
			starts++
		}
		if line := chunk[bytes.LastIndexByte(chunk, '\n')+1:]; isHeading(line) && s.End < len(text) {
			last++
		}
	}
	if starts*2 < len(spans) || last > len(spans)/50 {
		t.Errorf("of %d chunks %d start with a heading and %d end with one", len(spans), starts, last)
	}
}
