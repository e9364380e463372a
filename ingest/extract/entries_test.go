package extract

import (
	"fmt"
	"strings"
	"testing"
)

// Of a page with several answers the extractor finds the longest.
func TestAPageOfSeveralEntriesKeepsThemAll(t *testing.T) {
	answer := func(i, paragraphs int) string {
		var b strings.Builder
		for k := range paragraphs {
			fmt.Fprintf(&b, "<p>What is said on matter %d, which has a long description, with commas, and more. Its value is %d.</p>", i, k)
		}
		return b.String()
	}
	const count = 8
	for name, entry := range map[string]string{
		"answers":     "<div class=q><h3>Question %d</h3><div class=a>%s</div></div>",
		"definitions": "<dl><dt>Question %d<dd>%s</dl>",
		"items":       "<ul><li><b>Question %d</b>%s",
		"posts":       "<article><h2>Question %d</h2>%s</article>",
	} {
		var b strings.Builder
		b.WriteString("<title>Questions</title><h1>Questions</h1>")
		for i := range count {
			paragraphs := 2
			if i == 3 {
				paragraphs = 9
			}
			fmt.Fprintf(&b, strings.TrimPrefix(entry, map[bool]string{true: "<ul>"}[i > 0]), i, answer(i, paragraphs))
		}
		got := string(extractPage(t, b.String()).Markdown)
		for i := range count {
			if n := strings.Count(got, fmt.Sprintf("on matter %d,", i)); n < 2 || !strings.Contains(got, fmt.Sprint("Question ", i)) {
				t.Errorf("%s: %d paragraphs of entry %d", name, n, i)
			}
		}
	}
	// An article with others beside it that are not alike, and one of whose parts are.
	article := "<div class=story>" + answer(1, 12) + "<ul><li>" + answer(2, 1) + "<li>" + answer(3, 1) + "<li>" + answer(4, 1) + "</ul></div>"
	page := "<title>A story</title><div class=side>" + answer(7, 2) + "</div>" + article + strings.Repeat("<div class=teaser><p>A teaser, short, with commas, and no more than that.</p></div>", 5)
	if got := extractPage(t, page); got.Extractor != articleExtractor || strings.Contains(string(got.Markdown), "matter 7") {
		t.Errorf("%s: %s", got.Extractor, got.Markdown)
	}
}
