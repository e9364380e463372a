package document

import (
	"bytes"
	"unicode/utf8"
)

// ChunkerName names the rule that [Cut] follows. It stands in every header, so
// a change of the rule needs a new name.
const ChunkerName = "block-v1"

// A Span is a chunk's place in the canonical text: bytes [Start, End).
type Span struct{ Start, End int }

// Bounds of a chunk in bytes. Only a text shorter than minChunk gives a
// shorter one.
const (
	minChunk = 512
	maxChunk = 2048
)

// hashWindow is how many bytes before a cut decide between cuts of one class.
const hashWindow = 32

// Cut cuts canonical text into chunks by the rule block-v1, which
// docs/formats.md defines. The spans partition the text in order: joining the
// chunks gives it back byte for byte. Every chunk has 1 to 2048 bytes, no cut
// falls inside a UTF-8 character, and an edit moves only cuts near it.
func Cut(text []byte) []Span {
	if len(text) == 0 {
		return nil
	}
	marks := markLines(text)
	var spans []Span
	start := 0
	for len(text)-start > maxChunk {
		end := bestCut(text, marks, start+minChunk, min(start+maxChunk, len(text)-minChunk))
		spans = append(spans, Span{start, end})
		start = end
		for len(marks) > 0 && marks[0].at <= start {
			marks = marks[1:]
		}
	}
	return append(spans, Span{start, len(text)})
}

// A lineMark is a line start at which a chunk may start, and its class.
type lineMark struct {
	at      int
	section bool // a heading, a fence's start, or the block after a fence
	block   bool // the line follows a blank line outside a fence
}

// markLines finds the starts of all lines that are not blank.
func markLines(text []byte) []lineMark {
	var marks []lineMark
	var fence []byte
	afterBlank, afterFence := false, false
	for at := 0; at < len(text); {
		line := text[at:]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line = line[:n]
		}
		if len(line) == 0 {
			afterBlank = true
			at++
			continue
		}
		m := lineMark{at: at}
		marker := fenceMarker(line)
		if fence == nil {
			m.section = marker != nil || afterFence || isHeading(line)
			m.block = afterBlank
			afterFence = false
			fence = marker
		} else if closesFence(line, marker, fence) {
			fence, afterFence = nil, true
		}
		marks = append(marks, m)
		afterBlank = false
		at += len(line) + 1
	}
	return marks
}

// isHeading reports whether a line is an ATX heading: 1 to 6 "#", then a
// space or nothing.
func isHeading(line []byte) bool {
	rest := bytes.TrimLeft(line, "#")
	n := len(line) - len(rest)
	return n >= 1 && n <= 6 && (len(rest) == 0 || rest[0] == ' ')
}

// fenceMarker returns the run of at least three "`" or "~" that starts a line
// after up to three spaces, or nil.
func fenceMarker(line []byte) []byte {
	line = bytes.TrimLeft(line, " ")
	if len(line) < 3 || line[0] != '`' && line[0] != '~' {
		return nil
	}
	n := len(line) - len(bytes.TrimLeft(line, string(line[:1])))
	if n < 3 {
		return nil
	}
	return line[:n]
}

func closesFence(line, marker, fence []byte) bool {
	return len(marker) >= len(fence) && marker[0] == fence[0] && len(bytes.TrimLeft(line, " ")) == len(marker)
}

// bestCut returns the cut in [low, high] with the highest class, of those the
// one with the smallest hash, of those the first.
func bestCut(text []byte, marks []lineMark, low, high int) int {
	best, bestClass, bestHash := high, 0, uint64(0)
	offer := func(at, class int) {
		if class < bestClass {
			return
		}
		if h := cutHash(text, at); class > bestClass || h < bestHash {
			best, bestClass, bestHash = at, class, h
		}
	}
	for _, m := range marks {
		if m.at > high {
			break
		}
		if m.at < low {
			continue
		}
		switch {
		case m.section:
			offer(m.at, 6)
		case m.block:
			offer(m.at, 5)
		default:
			offer(m.at, 4)
		}
	}
	if bestClass > 0 {
		return best
	}
	for at := low; at <= high; at++ {
		switch {
		case !utf8.RuneStart(text[at]) || isBlank(text[at]):
		case isSentenceEnd(text[:at]):
			offer(at, 3)
		case text[at-1] == ' ' && !isBlank(text[at-2]):
			offer(at, 2)
		default:
			offer(at, 1)
		}
	}
	if bestClass == 0 {
		for !utf8.RuneStart(text[best]) {
			best--
		}
	}
	return best
}

func isSentenceEnd(before []byte) bool {
	n := len(before)
	if before[n-1] == ' ' {
		c := before[n-2]
		return c == '.' || c == '!' || c == '?'
	}
	last := string(before[n-3:])
	return last == "。" || last == "！" || last == "？"
}

// cutHash is the 64-bit FNV-1a hash of the bytes before a cut.
func cutHash(text []byte, at int) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range text[max(0, at-hashWindow):at] {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}
