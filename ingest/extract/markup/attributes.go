package markup

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// An Attribute is one of a start tag, as it stands in the page: its name in the
// letters of the page, its value without quotes and with character references.
type Attribute struct{ Name, Value []byte }

// Attributes gives the attributes of the current start tag in their order. Where
// several have one name, the first counts. The slice is valid until the next token.
func (t *Tokenizer) Attributes() []Attribute {
	if t.plain != nil {
		t.readAttributes(t.plain)
		t.plain = nil
	}
	return t.attrs
}

// readAttributes reads the attributes of a tag from the end of its name on, by the
// rules of the HTML standard (13.2.5.32 to 13.2.5.40). It returns how many bytes
// they take with the ">" behind them, and whether that was found.
func (t *Tokenizer) readAttributes(text []byte) (n int, whole bool) {
	valueEnd := -1 // of the latest attribute that has a name
	for {
		n = skipSpace(text, n)
		if n >= len(text) {
			return n, false
		}
		if text[n] == '>' {
			slash := n - 1
			t.SelfClosing = slash >= 0 && text[slash] == '/' && slash != valueEnd-1
			return n + 1, true
		}
		from := n
		if text[n] == '=' {
			n++ // a name may begin with one
		}
		for n < len(text) && text[n] != '=' && !endsName(text[n]) {
			n++
		}
		a := Attribute{Name: text[from:n]}
		var end int
		a.Value, end, n = attributeValue(text, n)
		if len(a.Name) > 0 {
			t.attrs = append(t.attrs, a)
			valueEnd = end
		}
	}
}

// attributeValue reads the value that may follow an attribute's name, and returns
// the offsets where it ends and where what follows it begins.
func attributeValue(text []byte, n int) (value []byte, end, next int) {
	value, end = text[n:n], n
	if n = skipSpace(text, n); n >= len(text) {
		return value, end, n
	}
	switch text[n] {
	case '/':
		return value, end, n + 1
	case '=':
		n++
	default:
		return value, end, n
	}
	if n = skipSpace(text, n); n >= len(text) || text[n] == '>' {
		return value, end, n
	}
	from := n
	if quote := text[n]; quote == '"' || quote == '\'' {
		from++
		if i := bytes.IndexByte(text[from:], quote); i >= 0 {
			return text[from : from+i], from + i, from + i + 1
		}
		return text[from:], len(text), len(text)
	}
	for n < len(text) && !isSpace(text[n]) && text[n] != '>' {
		n++
	}
	return text[from:n], n, n
}

func skipSpace(text []byte, n int) int {
	for n < len(text) && isSpace(text[n]) {
		n++
	}
	return n
}

// Unescape gives an attribute's value with its character references resolved: raw
// itself where there are none.
func Unescape(raw []byte) []byte {
	ampersands := bytes.Count(raw, []byte("&"))
	switch plain := bytes.IndexByte(raw, '\r') < 0 && bytes.IndexByte(raw, 0) < 0; {
	case plain && ampersands == 0:
		return raw
	case plain && ampersands == bytes.Count(raw, []byte("&amp;")):
		return bytes.ReplaceAll(raw, []byte("&amp;"), []byte("&"))
	}
	// In attributes they follow rules of their own, which the tokenizer knows. A
	// value holds one kind of quotes at most, but for one without quotes.
	quote := `"`
	if bytes.IndexByte(raw, '"') >= 0 {
		quote = "'"
		if bytes.IndexByte(raw, '\'') >= 0 {
			raw = bytes.ReplaceAll(raw, []byte("'"), []byte("&#39;"))
		}
	}
	z := html.NewTokenizer(strings.NewReader("<a v=" + quote + string(raw) + quote + ">"))
	z.Next()
	_, v, _ := z.TagAttr()
	return v
}
