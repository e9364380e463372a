package markdown

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// blank is white space between words.
func (w *writer) blank() {
	if w.inCode == 0 {
		w.writeCode() // what comes next is no part of it
	}
	w.space = w.gap == noGap
}

// text writes a text with its white space collapsed.
func (w *writer) text(s string) {
	for i := 0; i < len(s); {
		if isSpace(s[i]) {
			w.blank()
			for i++; i < len(s) && isSpace(s[i]); i++ {
			}
			continue
		}
		from := i
		for i++; i < len(s) && !isSpace(s[i]); i++ {
		}
		if w.inCode > 0 {
			w.codeWord(s[from:i])
		} else {
			w.word(s[from:i], i == len(s))
		}
	}
}

// codeWord adds a word to the code that is waiting.
func (w *writer) codeWord(s string) {
	if len(w.code) == 0 || w.gap != noGap || len(w.marks) != w.codeMarks || slices.ContainsFunc(w.marks, func(m mark) bool { return m.over }) {
		w.start('`')
		w.codeMarks = len(w.marks)
	} else if w.space {
		w.code = append(w.code, ' ')
	}
	w.space = false
	w.code = append(w.code, s...)
}

// isSpecial reports whether a character may need a backslash.
func isSpecial(c byte) bool {
	switch c {
	case '\\', '`', '*', '_', '[', ']', '(', ')', '<', '>', '&', '#', '+', '-', '=', '|', ':', '.', '~':
		return true
	}
	return false
}

// word writes a word, escaped. With cut nobody knows what comes behind it: other
// text may follow without white space.
func (w *writer) word(s string, cut bool) {
	if len(w.code) > 0 || w.gap != noGap || w.space || len(w.marks) > 0 {
		first, _ := utf8.DecodeRuneInString(s)
		w.start(first)
	}
	if n := len(w.out); n > 0 && w.out[n-1] == '<' && n > w.plain && beginsTag(s[0]) {
		w.out = append(w.out[:n-1], `\<`...)
	}
	at, from := len(w.out), 0
	for i := 0; i < len(s); i++ {
		if !isSpecial(s[i]) {
			continue
		}
		if s[i] == '_' {
			run := i + len(s[i:]) - len(strings.TrimLeft(s[i:], "_"))
			if w.underscores(s, i, run, at, cut) {
				w.out = append(append(w.out, s[from:i]...), strings.Repeat(`\_`, run-i)...)
				from = run
			}
			i = run - 1
			continue
		}
		if w.escapes(s, i, at, cut) {
			w.out = append(append(w.out, s[from:i]...), '\\')
			from = i
		}
	}
	w.out = append(w.out, s[from:]...)
}

// escapes reports whether s[i] would be read as a sign of Markdown's. The word s
// begins in out at at.
func (w *writer) escapes(s string, i, at int, cut bool) bool {
	first := i == 0 && at == w.line // on its line
	last := i+1 == len(s)
	switch c := s[i]; c {
	case '\\', '`':
		return true
	case '*':
		return first || len(w.marks) > 0 || !w.alone(s, i, i+1, at, cut)
	case '[':
		return first || w.inLink()
	case ']':
		return w.inLink()
	case '(':
		return i > 0 && s[i-1] == ']' || i == 0 && at > 0 && w.out[at-1] == ']'
	case '<':
		return !last && beginsTag(s[i+1])
	case '>':
		return first
	case '&':
		rest := strings.TrimLeftFunc(s[i+1:], isNameOfEntity)
		return rest == "" && cut || rest != "" && rest[0] == ';'
	case '#':
		return first && strings.Trim(s, "#") == "" || i == 0 && w.flat > 0 && !w.cell
	case '+':
		return first && last
	case '-', '=', ':':
		return first && strings.Trim(s, "-=|:") == ""
	case '|':
		return w.cell || first && strings.Trim(s, "-=|:") == ""
	case '~':
		return first
	case '.', ')':
		return last && w.line >= 0 && i+at-w.line <= 9 && i+at > w.line && areDigits(s[:i]) && areDigits(w.out[w.line:at])
	}
	return false
}

// underscores reports whether the underscores s[i:run] are to be escaped: those
// inside words are read as they stand.
func (w *writer) underscores(s string, i, run, at int, cut bool) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	if i == 0 {
		before, _ = utf8.DecodeLastRune(w.out[:at])
	}
	after, _ := utf8.DecodeRuneInString(s[run:])
	if isWord(before) && isWord(after) {
		return false
	}
	return i == 0 && at == w.line || !w.alone(s, i, run, at, cut)
}

// alone reports whether white space stands on both sides of s[i:end].
func (w *writer) alone(s string, i, end, at int, cut bool) bool {
	return i == 0 && at > 0 && w.out[at-1] == ' ' && end == len(s) && !cut
}

func (w *writer) inLink() bool {
	for _, m := range w.marks {
		if m.kind == link && m.open {
			return true
		}
	}
	return false
}

// escapeTitle gives the title of a link between its quotation marks.
func escapeTitle(s string) (out []byte) {
	for _, c := range []byte(s) {
		if c == '"' || c == '\\' || c == '&' || c == '|' {
			out = append(out, '\\')
		}
		out = append(out, c)
	}
	return out
}

func beginsTag(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '/' || c == '!' || c == '?'
}

func isNameOfEntity(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' || r == '#'
}

func areDigits[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
