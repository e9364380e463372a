package pdf

import (
	"path"
	"strings"
	"unicode"
)

// chooseTitle takes the title of a file's properties, unless it is the name of a
// file or of nothing, which programs put there by themselves; else the first
// line that has a word.
func chooseTitle(stated, text string) string {
	stated = strings.Join(strings.Fields(cleanPage(stated)), " ")
	stated = strings.TrimSpace(strings.TrimPrefix(stated, "Microsoft Word - "))
	if hasWord(stated) && !isFileName(stated) && !strings.EqualFold(stated, "untitled") {
		return stated
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); hasWord(line) {
			return line
		}
	}
	return ""
}

// hasWord reports whether there are three letters next to each other, or one of a
// script that needs no more for a word.
func hasWord(s string) bool {
	row := 0
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			return true
		case unicode.IsLetter(r):
			row++
		default:
			row = 0
		}
		if row == 3 {
			return true
		}
	}
	return false
}

func isFileName(s string) bool {
	switch strings.ToLower(path.Ext(s)) {
	case ".dvi", ".tex", ".ps", ".pdf", ".doc", ".docx", ".xls", ".xlsx", ".ppt", ".pptx", ".odt", ".rtf", ".txt", ".html", ".htm", ".indd", ".qxd":
		return true
	}
	return false
}
