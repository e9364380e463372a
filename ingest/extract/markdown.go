package extract

import (
	"bytes"
	"strings"
)

// markdownTitle returns the first first-level heading near the start, or "".
func markdownTitle(text []byte) string {
	lines := 0
	for line := range bytes.Lines(text[:min(len(text), 64<<10)]) {
		if lines++; lines > 200 {
			break
		}
		if rest, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("# ")); ok {
			return strings.TrimSpace(strings.TrimRight(string(rest), "#"))
		}
	}
	return ""
}
