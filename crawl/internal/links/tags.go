package links

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// tags finds the start tags of a page that may hold a reference, and skips the
// rest without looking at more of it than it must: text is skipped to the next
// "<", a tag without quotes to the next ">". It sees the tags and attributes
// that the tokenizer of x/net/html sees (FuzzTagsAgreeWithTheTokenizer holds it
// to that) in a fraction of the time. Each byte is looked at a bounded number
// of times.
type tags struct {
	text  []byte
	pos   int
	cdata bool // XHTML: CDATA sections, and <script/> is complete
}

// A tagName is one that matters here.
type tagName int

const (
	otherTag tagName = iota
	linkTag          // a, area
	relTag           // link
	frameTag         // iframe, frame
	baseTag
	metaTag
)

// names gives what a tag is to us, and whether what follows it is raw text up
// to its end tag. noscript and noframes are raw to a browser that runs scripts
// and knows frames; we are neither, and these hold links made for us.
func names(name []byte) (tag tagName, raw string) {
	if len(name) > len("plaintext") {
		return otherTag, ""
	}
	var lower [len("plaintext")]byte
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	switch string(lower[:len(name)]) {
	case "a", "area":
		return linkTag, ""
	case "link":
		return relTag, ""
	case "frame":
		return frameTag, ""
	case "iframe":
		return frameTag, "iframe"
	case "base":
		return baseTag, ""
	case "meta":
		return metaTag, ""
	case "script":
		return otherTag, "script"
	case "style":
		return otherTag, "style"
	case "title":
		return otherTag, "title"
	case "textarea":
		return otherTag, "textarea"
	case "noembed":
		return otherTag, "noembed"
	case "xmp":
		return otherTag, "xmp"
	case "plaintext":
		return otherTag, "plaintext"
	}
	return otherTag, ""
}

// next gives the next tag that matters, with what stands between its name and
// its ">". It reports false at the end of the page; a tag that the end cuts off
// is none.
func (t *tags) next() (tag tagName, attrs []byte, ok bool) {
	for {
		at := bytes.IndexByte(t.text[t.pos:], '<')
		if at < 0 || t.pos+at+1 >= len(t.text) {
			t.pos = len(t.text)
			return otherTag, nil, false
		}
		t.pos += at + 1
		switch c := t.text[t.pos]; {
		case isLetter(c):
			if tag, attrs, ok := t.start(); ok {
				return tag, attrs, true
			}
		case c == '/':
			t.pos++
			t.end()
		case c == '!':
			t.pos++
			t.declaration()
		case c == '?':
			t.past('>')
		}
	}
}

// start reads a start tag whose name begins here, and what raw text follows it.
func (t *tags) start() (tag tagName, attrs []byte, ok bool) {
	from := t.pos
	for t.pos < len(t.text) && !endsName(t.text[t.pos]) {
		t.pos++
	}
	tag, raw := names(t.text[from:t.pos])
	from = t.pos
	selfClosing, whole := t.pastTag()
	if !whole {
		return otherTag, nil, false
	}
	attrs = t.text[from : t.pos-1]
	switch {
	case raw == "", t.cdata && selfClosing:
	case raw == "plaintext":
		t.pos = len(t.text)
	case raw == "script":
		t.pastScript()
	default:
		t.pastRaw(raw)
	}
	return tag, attrs, tag != otherTag
}

// end skips what follows "</".
func (t *tags) end() {
	switch {
	case t.pos >= len(t.text):
	case isLetter(t.text[t.pos]):
		for t.pos < len(t.text) && !endsName(t.text[t.pos]) {
			t.pos++
		}
		t.pastTag()
	default:
		t.past('>')
	}
}

// past goes past the next c, or to the end.
func (t *tags) past(c byte) {
	if i := bytes.IndexByte(t.text[t.pos:], c); i >= 0 {
		t.pos += i + 1
		return
	}
	t.pos = len(t.text)
}

// pastTag goes past the ">" of a tag, from the end of its name on.
func (t *tags) pastTag() (selfClosing, whole bool) {
	rest := t.text[t.pos:]
	end := bytes.IndexByte(rest, '>')
	if end < 0 {
		t.pos = len(t.text)
		return false, false
	}
	// Without a quote before it, the first ">" ends the tag whatever stands there.
	plain := bytes.IndexByte(rest[:end], '"') < 0 && bytes.IndexByte(rest[:end], '\'') < 0
	if plain && (end == 0 || rest[end-1] != '/') {
		t.pos += end + 1
		return false, true
	}
	a := attributeReader{text: rest}
	for a.next() {
	}
	t.pos += a.pos
	return a.selfClosing, a.whole
}

// declaration skips what follows "<!".
func (t *tags) declaration() {
	rest := t.text[t.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("--")):
		t.pos += 2
		t.pastComment()
	case t.cdata && bytes.HasPrefix(rest, []byte("[CDATA[")):
		if i := bytes.Index(rest, []byte("]]>")); i >= 0 {
			t.pos += i + 3
		} else {
			t.pos = len(t.text)
		}
	default:
		t.past('>')
	}
}

// pastComment goes past the end of a comment: "-->", or "--!>"; ">" and "->"
// end it at its very start.
func (t *tags) pastComment() {
	begin := t.pos
	for first := true; ; first = false {
		i := bytes.IndexByte(t.text[t.pos:], '>')
		if i < 0 {
			t.pos = len(t.text)
			return
		}
		body := t.text[begin : t.pos+i]
		t.pos += i + 1
		if first && len(bytes.Trim(body, "-")) == 0 || bytes.HasSuffix(body, []byte("--")) || bytes.HasSuffix(body, []byte("--!")) {
			return
		}
	}
}

// pastRaw goes to the end tag of an element whose content is text.
func (t *tags) pastRaw(name string) {
	for {
		i := bytes.Index(t.text[t.pos:], []byte("</"))
		if i < 0 {
			t.pos = len(t.text)
			return
		}
		t.pos += i
		if t.named(t.pos+2, name) {
			return
		}
		t.pos += 2
	}
}

// named reports whether a tag of that name stands at an offset: the name in any
// case, and then what ends a name.
func (t *tags) named(at int, name string) bool {
	end := at + len(name)
	return end < len(t.text) && strings.EqualFold(string(t.text[at:end]), name) && endsName(t.text[end])
}

func isLetter(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' }

func endsName(c byte) bool { return isSpace(c) || c == '/' || c == '>' }

// value gives an attribute's value with its character references resolved:
// raw itself where there are none.
func value(raw []byte) []byte {
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
