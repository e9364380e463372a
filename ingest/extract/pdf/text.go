package pdf

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// divided is how PDFium marks a hyphen at the end of a line: the next line
// follows it without a line end.
const divided = '\x02'

// ligatures are the characters that stand for several letters of a word.
var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st", "\r\n", "\n", "\r", "\n")

// cleanPage gives the lines of a page without what no text should hold.
func cleanPage(raw string) string {
	text := strings.Map(func(r rune) rune {
		switch {
		case r == divided || r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), r == '\u00ad', r == '\ufeff', r == '\ufffe', r == '\uffff':
			return -1
		}
		return r
	}, ligatures.Replace(strings.ToValidUTF8(raw, "\ufffd")))
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// joinWords puts divided words together. The hyphen was a part of the word where
// the rest of the text writes it so and never without, and where it stands
// between other characters than letters of one case.
func joinWords(text string) string {
	if !strings.ContainsRune(text, divided) {
		return text
	}
	known := map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) }) {
		known[strings.ToLower(word)] = true
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, string(divided))
		b.WriteString(before)
		if !found {
			return b.String()
		}
		left, right := lastLetters(before), firstLetters(after)
		whole := strings.ToLower(left + right)
		if !oneCase(left, right) || known[strings.ToLower(left)+"-"+strings.ToLower(right)] && !known[whole] {
			b.WriteByte('-')
		}
		text = after
	}
}

// lastLetters and firstLetters give the letters at an end of a text.
func lastLetters(s string) string {
	return s[len(strings.TrimRightFunc(s, unicode.IsLetter)):]
}

func firstLetters(s string) string {
	return s[:len(s)-len(strings.TrimLeftFunc(s, unicode.IsLetter))]
}

// oneCase reports whether two parts of a word are written in letters of one case
// where they meet.
func oneCase(left, right string) bool {
	l, _ := utf8.DecodeLastRuneInString(left)
	r, _ := utf8.DecodeRuneInString(right)
	return unicode.IsLower(l) && unicode.IsLower(r) || unicode.IsUpper(l) && unicode.IsUpper(r)
}
