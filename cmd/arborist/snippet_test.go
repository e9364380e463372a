package main

import (
	"strings"
	"testing"
	"unicode"

	"arborist/daemon/api"
)

// TestSnippetIsOneLineWithNothingButBold: whatever stands in the passage and
// wherever the marks are.
func TestSnippetIsOneLineWithNothingButBold(t *testing.T) {
	text := "a\x1b[2Jb\nc\u009bd\u2028e\u202ef"
	h := api.Hit{Text: "x" + text + " y", Snippet: api.Snippet{Text: text, Start: 1}}
	for a := range len(text) {
		for b := a + 1; b <= len(text); b++ {
			h.Snippet.Marks = [][2]int{{a, b}}
			got := snippetLine(h, true)
			plain := strings.TrimSuffix(strings.NewReplacer(boldOn, "", boldOff, "").Replace(got), "\n")
			if strings.Count(got, boldOn) != 1 || strings.ContainsFunc(plain, unicode.IsControl) || strings.ContainsRune(plain, 0x202e) {
				t.Fatalf("marks %v: %q", h.Snippet.Marks, got)
			}
		}
	}
	h.Snippet.Marks = [][2]int{{0, 1}}
	if got, want := snippetLine(h, true), "   │ … \x1b[1ma\x1b[22m[2Jb cd ef …\n"; got != want {
		t.Errorf("bold: %q, want %q", got, want)
	}
	if got, want := snippetLine(h, false), "   │ … a[2Jb cd ef …\n"; got != want {
		t.Errorf("plain: %q, want %q", got, want)
	}
	for _, marks := range [][][2]int{{{5, 900}}, {{-1, 2}}, {{3, 1}}} {
		h.Snippet.Marks = marks // of a daemon that is not ours
		snippetLine(h, true)
	}
}
