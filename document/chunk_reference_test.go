package document

import (
	"iter"
	"regexp"
	"slices"
	"strings"
)

// ranks of a cut, in the words of docs/formats.md.
const (
	rankNone = iota
	rankIndentation
	rankCharacter
	rankWord
	rankSentence
	rankLine
	rankBlock
	rankHeading
)

var (
	headingLine  = regexp.MustCompile("^#{1,6}( |$)")
	fenceOpening = regexp.MustCompile("^[ \t]*(?:(`{3,})[^`]*|(~{3,}).*)$")
	fenceClosing = regexp.MustCompile("^[ \t]*(`{3,}|~{3,})$")
)

// referenceLines returns the rank of each start of a line that is not blank.
func referenceLines(text string) map[int]int {
	ranks := map[int]int{}
	fence, previous, blank := "", "", false
	for at, line := range lineStarts(text) {
		if line == "" {
			blank = true
			continue
		}
		heading := headingLine.MatchString(line)
		if fence != "" && blank && heading && strings.HasPrefix(line, "##") {
			fence, previous = "", "fence"
		}
		ranks[at] = rankLine
		if fence != "" {
			if m := fenceClosing.FindStringSubmatch(line); m != nil && strings.HasPrefix(m[1], fence) {
				fence, previous = "", "fence"
			}
			blank = false
			continue
		}
		opening := fenceOpening.FindStringSubmatch(line)
		switch {
		case previous == "heading":
		case heading:
			ranks[at] = rankHeading
		case blank || previous == "fence" || opening != nil:
			ranks[at] = rankBlock
		}
		previous, blank = "", false
		if heading {
			previous = "heading"
		}
		if opening != nil {
			fence = opening[1] + opening[2]
		}
	}
	return ranks
}

// lineStarts yields each line and where it starts.
func lineStarts(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		at := 0
		for line := range strings.SplitSeq(text, "\n") {
			if !yield(at, line) {
				return
			}
			at += len(line) + 1
		}
	}
}

// referenceCut is the rule as docs/formats.md states it, position by position.
func referenceCut(text []byte) []Span {
	lines := referenceLines(string(text))
	rank := func(p int) int {
		if r, ok := lines[p]; ok {
			return r
		}
		before, after := string(text[p-5:p]), text[p]
		stripped, spaced := strings.CutSuffix(before, " ")
		ends := func(marks ...string) bool {
			return slices.ContainsFunc(marks, func(m string) bool { return strings.HasSuffix(stripped, m) })
		}
		switch {
		case after&0xC0 == 0x80 || after == '\n':
			return rankNone
		case after == ' ' || after == '\t':
			return rankIndentation
		case spaced && ends(".", "!", "?"), ends("。", "！", "？"):
			return rankSentence
		case spaced && !ends(" ", "\t", "\n"):
			return rankWord
		}
		return rankCharacter
	}
	var spans []Span
	start := 0
	for len(text)-start > 1536 {
		best, bestRank := 0, rankNone
		for p := start + 384; p <= start+1536 && p <= len(text)-384; p++ {
			r := rank(p)
			if r > bestRank || r == bestRank && r > rankNone && cutHash(text, p) < cutHash(text, best) {
				best, bestRank = p, r
			}
		}
		spans = append(spans, Span{start, best})
		start = best
	}
	return append(spans, Span{start, len(text)})
}
