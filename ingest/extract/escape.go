package extract

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
)

// Characters for private use that stand for others on their way through the
// converter, which would write < and > as entities and escape every _: text
// that no one can search for and that is hard to read.
const (
	lessThan    = "\uf8f0"
	greaterThan = "\uf8f1"
	underscore  = "\uf8f2"
)

// stripPrivate removes a page's own use of these, and of the two characters
// that the converter uses so. Pages use them as icons.
var stripPrivate = strings.NewReplacer("\a", "", "\uf002", "", lessThan, "", greaterThan, "", underscore, "")

func withoutPrivate(text string) string {
	// Few texts hold any: two quick looks save a slow one at each character.
	if strings.IndexByte(text, '\a') < 0 && strings.IndexByte(text, lessThan[0]) < 0 {
		return text
	}
	return stripPrivate.Replace(text)
}

// hide takes < and > and the _ inside words past the converter.
func hide(_ converter.Context, text string) string {
	if !strings.ContainsAny(text, "<>_") {
		return text
	}
	var b strings.Builder
	var before rune
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch r {
		case '<':
			b.WriteString(lessThan)
		case '>':
			b.WriteString(greaterThan)
		case '_':
			size = len(text[i:]) - len(strings.TrimLeft(text[i:], "_"))
			after, _ := utf8.DecodeRuneInString(text[i+size:])
			sign := "_"
			if isWord(before) && isWord(after) {
				sign = underscore
			}
			b.WriteString(strings.Repeat(sign, size))
		default:
			b.WriteString(text[i : i+size])
		}
		before = r
		i += size
	}
	return b.String()
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// show brings them back, escaped where Markdown would read a tag, an address
// or a quote.
func show(_ converter.Context, text []byte) []byte {
	if !bytes.Contains(text, []byte(lessThan[:2])) {
		return text // none of them is in it
	}
	out := make([]byte, 0, len(text))
	for line := range bytes.Lines(text) {
		if rest := bytes.TrimLeft(line, " "); bytes.HasPrefix(rest, []byte(greaterThan)) {
			out = append(append(out, line[:len(line)-len(rest)]...), '\\')
			line = rest
		}
		for {
			before, after, found := bytes.Cut(line, []byte(lessThan))
			out = append(out, before...)
			if !found {
				break
			}
			if r, _ := utf8.DecodeRune(after); unicode.IsLetter(r) || r == '/' || r == '!' || r == '?' {
				out = append(out, '\\')
			}
			out = append(out, '<')
			line = after
		}
	}
	out = bytes.ReplaceAll(out, []byte(underscore), []byte("_"))
	return bytes.ReplaceAll(out, []byte(greaterThan), []byte(">"))
}
