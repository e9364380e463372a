package document

import (
	"crypto/sha256"
	"slices"
	"strings"
	"testing"
)

// A chunkerVector gives a text as parts to repeat, so that the file stays small.
type chunkerVector struct {
	Name   string     `json:"name"`
	Text   []textPart `json:"text"`
	Bytes  int        `json:"bytes"`
	SHA256 hexBytes   `json:"sha256"`
	Ends   []int      `json:"ends"` // where each chunk ends
}

type textPart struct {
	Repeat int    `json:"repeat"`
	Part   string `json:"part"`
}

func (v chunkerVector) text() []byte {
	var b strings.Builder
	for _, p := range v.Text {
		b.WriteString(strings.Repeat(p.Part, p.Repeat))
	}
	return []byte(b.String())
}

// numbered returns n parts that differ, so that their hashes do.
func numbered(n int, part func(word string) string) []textPart {
	words := strings.Fields("root leaf chunk shard corpus record peer proof path node size head note key log tile")
	var b strings.Builder
	for i := range n {
		b.WriteString(part(words[i%16] + " " + words[i/16%16]))
	}
	return []textPart{{1, b.String()}}
}

func chunkerTable() []chunkerVector {
	one := func(repeat int, part string) []textPart { return []textPart{{repeat, part}} }
	with := func(parts []textPart, more ...textPart) []textPart { return append(parts, more...) }
	end := textPart{1, "end"}
	paragraph := func(w string) string {
		return strings.TrimSpace(strings.Repeat("A sentence about the "+w+". ", 1+len(w)%4)) + "\n\n"
	}
	return []chunkerVector{
		{Name: "shortest", Text: one(1, "a")},
		{Name: "1536 bytes are one chunk", Text: one(1536, "x")},
		{Name: "1537 bytes are two, ties go to the first", Text: one(1537, "x")},
		{Name: "ties in a long run", Text: one(6000, "x")},
		{Name: "characters of two bytes", Text: one(3000, "é")},
		{Name: "characters without words", Text: numbered(200, func(w string) string { return strings.ReplaceAll(w, " ", "") })},
		{Name: "words", Text: with(numbered(300, func(w string) string { return w + " " }), end)},
		{Name: "sentences", Text: with(numbered(120, func(w string) string { return "The " + w + " is kept. Is the " + w + " kept? " }), end)},
		{Name: "sentences of East Asian text", Text: with(numbered(90, func(w string) string { return "木の" + w + "は保存される。本当！ " }), end)},
		{Name: "lines", Text: with(numbered(200, func(w string) string { return "The " + w + " is kept. And so on\n" }), end)},
		{Name: "paragraphs", Text: with(numbered(60, paragraph), end)},
		{Name: "headings before paragraphs", Text: with(numbered(40, func(w string) string {
			return "## The " + w + "\n\n" + paragraph(w) + paragraph(w+" again")
		}), end)},
		{Name: "a heading after a heading is not cut off", Text: with(numbered(40, func(w string) string {
			return "# The " + w + "\n## Of it\n" + paragraph(w)
		}), end)},
		{Name: "seven number signs, or no space, are no heading", Text: with(numbered(40, func(w string) string {
			return "####### " + w + "\n\n#" + w + "\n\n" + paragraph(w) + paragraph(w+" again")
		}), end)},
		{Name: "fences", Text: with(numbered(90, func(w string) string {
			return "The " + w + ":\n```go\nx := 1\n\n# no heading\n```\nText behind it.\n"
		}), end)},
		{Name: "fences of other lengths and kinds inside", Text: with(numbered(150, func(w string) string {
			return "~~~~ " + w + "\n```\n\n~~~\n\n~~~~ x\n~~~~~\nText.\n"
		}), end)},
		{Name: "backticks with text behind them are no fence", Text: with(numbered(300, func(w string) string {
			return "```" + w + "``` inline\n\nText.\nMore\n\n"
		}), end)},
		{Name: "a lost fence ends at a heading", Text: with(numbered(40, func(w string) string {
			return "```\n" + w + "\n\nText.\n\n# comment\n\n## Heading\n\nText.\n\n"
		}), end)},
		{Name: "indentation over a window", Text: []textPart{{1, "a\n"}, {5000, " "}, {1, "b"}}},
		{Name: "indented code", Text: with(numbered(120, func(w string) string { return "if " + w + " {\n\t\t    return\n\t}\n" }), end)},
		{Name: "abbreviations without a space are no sentence", Text: with(numbered(200, func(w string) string { return w + ".x!y?z " }), end)},
	}
}

func TestChunkerVectors(t *testing.T) {
	table := chunkerTable()
	for i := range table {
		text := table[i].text()
		sum := sha256.Sum256(text)
		table[i].Bytes, table[i].SHA256 = len(text), sum[:]
		for _, s := range referenceCut(text) { // not Cut itself: see TestCutFollowsTheRule
			table[i].Ends = append(table[i].Ends, s.End)
		}
	}
	about := "Chunk boundaries. The text is each part, repeated and joined; ends are byte offsets."
	for i, v := range vectors(t, "chunker.json", about, ChunkerName, table) {
		text := v.text()
		if sum := sha256.Sum256(text); len(text) != v.Bytes || !slices.Equal(sum[:], v.SHA256) || !IsNormal(text) {
			t.Errorf("%s: %d bytes, SHA-256 %x, canonical %v", v.Name, len(text), sum, IsNormal(text))
		}
		var ends []int
		for _, s := range Cut(text) {
			ends = append(ends, s.End)
		}
		if !slices.Equal(ends, v.Ends) || v.Name != table[i].Name {
			t.Errorf("%s: chunks end at %v, want %v", v.Name, ends, v.Ends)
		}
	}
}
