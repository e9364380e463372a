package document

import (
	"fmt"
	"strings"
	"testing"
)

func TestCutAgreesWithPython(t *testing.T) {
	var (
		names []string
		stdin strings.Builder
		want  []string
	)
	for name, text := range sampleTexts(t) {
		if text = Normalize(text[:min(len(text), 20_000)]); len(text) == 0 {
			continue
		}
		names = append(names, name)
		fmt.Fprintf(&stdin, "%x\n", text)
		var ends []string
		for _, s := range Cut(text) {
			ends = append(ends, fmt.Sprint(s.End))
		}
		want = append(want, strings.Join(ends, " "))
	}
	answers := python(t, stdin.String(), "block_v1.py")
	if len(answers) != len(names) {
		t.Fatalf("%d answers for %d texts", len(answers), len(names))
	}
	for i, name := range names {
		if answers[i] != want[i] {
			t.Errorf("%s: chunks end at %s, Python has %s", name, want[i], answers[i])
		}
	}
}
