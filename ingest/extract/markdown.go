package extract

import (
	"bytes"
	"strings"
)

// titleWindow is how far into a Markdown text its title is looked for.
const titleWindow = 64 << 10

// markdownTitle returns the title in a text's front matter, else its first
// heading of the first level, else "".
func markdownTitle(text []byte) string {
	text = text[:min(len(text), titleWindow)]
	front, text := splitFrontMatter(text)
	for line := range bytes.Lines(front) {
		if value, found := bytes.CutPrefix(line, []byte("title:")); found {
			if title := strings.Trim(oneLine(string(value)), `"'`); title != "" {
				return title
			}
		}
	}
	fenced, before := false, ""
	for line := range bytes.Lines(text) {
		s := strings.TrimRight(string(line), " \t\r\n")
		switch bare := strings.TrimLeft(s, " "); {
		case strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~"):
			fenced = !fenced
		case fenced:
		case strings.HasPrefix(s, "# "):
			return oneLine(strings.TrimRight(s[2:], "# "))
		case before != "" && s != "" && strings.Trim(s, "=") == "":
			return before
		}
		before = oneLine(s)
	}
	return ""
}

// splitFrontMatter separates the lines between two "---" at the start.
func splitFrontMatter(text []byte) (front, rest []byte) {
	for _, end := range []string{"\n", "\r\n"} {
		inside, found := bytes.CutPrefix(text, []byte("---"+end))
		if !found {
			continue
		}
		if front, rest, closed := bytes.Cut(inside, []byte("\n---"+end)); closed {
			return front, rest
		}
	}
	return nil, text
}
