package document

// ChunkerName names the rule that [Cut] follows. It stands in every header, so
// a change of the rule needs a new name.
const ChunkerName = "block-v1"

// A Span is a chunk's place in the canonical text: bytes [Start, End).
type Span struct{ Start, End int }

// Bounds of a chunk in bytes. Only a text shorter than minChunk gives a
// shorter one. Measured on documentation, these give a mean of about 1 KiB.
const (
	minChunk = 384
	maxChunk = 1536
)

// A lineClass says how good a place for a cut the start of a line is.
type lineClass uint8

const (
	classLine    lineClass = iota // any other line
	classBlock                    // a paragraph, a fence, or what follows a fence
	classHeading                  // a heading
)

// Cut cuts canonical text into chunks by the rule block-v1, which
// docs/formats.md defines. The spans partition the text in order: joining the
// chunks gives it back byte for byte. Every chunk has 1 to 1536 bytes, no cut
// falls inside a UTF-8 character, no chunk but the first starts with a line
// end, and an edit moves only cuts near it.
//
// Text that is not canonical is partitioned as well, but its chunks then keep
// only the bounds of their length. Cut takes linear time.
func Cut(text []byte) []Span {
	if len(text) == 0 {
		return nil
	}
	lines := lineScanner{text: text}
	spans := make([]Span, 0, len(text)/1024+1)
	start := 0
	for len(text)-start > maxChunk {
		low, high := start+minChunk, min(start+maxChunk, len(text)-minChunk)
		end, found := bestLine(text, lines.window(low, high))
		if !found {
			end = bestInLine(text, low, high)
		}
		spans = append(spans, Span{start, end})
		start = end
	}
	return append(spans, Span{start, len(text)})
}

// bestLine returns the best of the line starts of a window: the highest class,
// then the smallest hash, then the first.
func bestLine(text []byte, lines []lineStart) (at int, found bool) {
	var class lineClass
	for _, l := range lines {
		class = max(class, l.class)
	}
	var p picker
	for _, l := range lines {
		if l.class == class {
			p.offer(text, l.at)
		}
	}
	return p.at, len(lines) > 0
}
