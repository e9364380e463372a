package markup

import (
	"bytes"
	"strings"
)

// longestTextElement is the longest name that textElement knows.
const longestTextElement = len("plaintext")

// textElement gives the name of an element in lower case where its content is
// text up to its end tag, and "" where it is not.
func (t *Tokenizer) textElement(name []byte) string {
	if len(name) < len("xmp") || len(name) > longestTextElement {
		return ""
	}
	var lower [longestTextElement]byte
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	switch string(lower[:len(name)]) {
	case "script":
		return "script"
	case "style":
		return "style"
	case "title":
		return "title"
	case "textarea":
		return "textarea"
	case "iframe":
		return "iframe"
	case "noembed":
		return "noembed"
	case "xmp":
		return "xmp"
	case "plaintext":
		return "plaintext"
	case "noscript", "noframes":
		if t.Scripts {
			return string(lower[:len(name)])
		}
	}
	return ""
}

// content reads the content of an element that holds text, which may be empty.
// Without an end tag it goes to the end of the page.
func (t *Tokenizer) content() {
	name, from := t.inner, t.pos
	t.inner = ""
	switch name {
	case "plaintext":
		t.pos = len(t.page)
	case "script":
		t.pastScript()
	default:
		t.pastRaw(name)
	}
	t.Data = t.page[from:t.pos]
	t.Raw = name != "title" && name != "textarea"
}

// pastRaw goes to the end tag of an element whose content is text.
func (t *Tokenizer) pastRaw(name string) {
	for {
		i := bytes.Index(t.page[t.pos:], []byte("</"))
		if i < 0 {
			t.pos = len(t.page)
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
func (t *Tokenizer) named(at int, name string) bool {
	end := at + len(name)
	return end < len(t.page) && strings.EqualFold(string(t.page[at:end]), name) && endsName(t.page[end])
}
