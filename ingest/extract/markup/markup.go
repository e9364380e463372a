// Package markup reads HTML as a run of tokens: the text, tags and comments that
// the tokenizer of x/net/html sees (FuzzTokensAreTheTokenizers holds it to that),
// in a fraction of the time. Nothing is copied or allocated for a token, text is
// passed over to the next "<", and each byte is looked at a bounded number of
// times.
package markup

import (
	"bytes"
	"strings"
)

// A Kind says what a token is.
type Kind int

const (
	End      Kind = iota // of the page
	Cut                  // the page ends inside of what would have been a tag, comment or declaration
	Text                 // between tags, or the content of an element that holds nothing but text
	StartTag             // with attributes
	EndTag
	Comment // between "<!--" and "-->"
	Doctype
	Other // an instruction, a CDATA section, or another declaration
)

// A Tokenizer goes through one page. Its settings must not change after the first
// call of Next.
type Tokenizer struct {
	// XML reads tags by XML's rules: there are CDATA sections, and <script/> is
	// complete.
	XML bool
	// Scripts reads the content of noscript and noframes as text, as a browser does
	// that runs scripts and knows frames.
	Scripts bool

	// Data is of the current token: the text as it stands, the name of a tag in the
	// letters of the page, or what a comment or doctype holds. It is a part of the
	// page.
	Data []byte
	// SelfClosing reports whether a start tag ends in a slash that is part of no
	// value.
	SelfClosing bool
	// Raw is set for text in which no character reference counts: the content of
	// script, style and the like, though not of title and textarea.
	Raw bool

	page  []byte
	pos   int
	inner string      // the element whose content comes next and is text, or ""
	attrs []Attribute // of the current start tag
	plain []byte      // attributes that nobody has asked for yet
}

// New returns a tokenizer of a page, which must not change.
func New(page []byte) *Tokenizer { return &Tokenizer{page: page} }

// Next goes to the next token. After [End] and [Cut] it must not be called again.
func (t *Tokenizer) Next() Kind {
	t.Raw = false
	if t.inner != "" {
		if t.content(); len(t.Data) > 0 {
			return Text
		}
	}
	from := t.pos
	for {
		at := bytes.IndexByte(t.page[t.pos:], '<')
		if at < 0 {
			t.pos = len(t.page)
		} else {
			t.pos += at
		}
		begins := t.pos+1 < len(t.page) && beginsMarkup(t.page[t.pos+1])
		switch {
		case t.pos == len(t.page) && from == t.pos:
			return End
		case t.pos == len(t.page), begins && from < t.pos:
			t.Data = t.page[from:t.pos]
			return Text
		case begins:
			t.pos += 2
			return t.markup(t.page[t.pos-1])
		}
		t.pos++ // this "<" is text
	}
}

// beginsMarkup reports whether "<" before c begins a tag, comment or declaration.
func beginsMarkup(c byte) bool { return isLetter(c) || c == '/' || c == '!' || c == '?' }

// markup reads what "<" and c begin, from behind c on.
func (t *Tokenizer) markup(c byte) Kind {
	switch {
	case c == '/' && t.pos < len(t.page) && isLetter(t.page[t.pos]):
		t.pos++
		return t.tag(EndTag)
	case c == '/' && t.pos == len(t.page):
		return Cut
	case c == '/', c == '?':
		return t.until(Other, '>')
	case c == '!':
		return t.declaration()
	}
	return t.tag(StartTag)
}

// tag reads a tag, from the second letter of its name on.
func (t *Tokenizer) tag(kind Kind) Kind {
	from := t.pos - 1
	for t.pos < len(t.page) && !endsName(t.page[t.pos]) {
		t.pos++
	}
	t.Data = t.page[from:t.pos]
	if !t.pastTag() {
		return Cut
	}
	if kind == StartTag {
		t.inner = t.textElement(t.Data)
		if t.XML && t.SelfClosing {
			t.inner = ""
		}
	}
	return kind
}

// pastTag goes past the ">" of a tag, from the end of its name on, and reports
// whether there was one.
func (t *Tokenizer) pastTag() (whole bool) {
	t.attrs, t.plain, t.SelfClosing = t.attrs[:0], nil, false
	rest := t.page[t.pos:]
	if len(rest) > 0 && rest[0] == '>' { // as in most tags
		t.pos++
		return true
	}
	end := bytes.IndexByte(rest, '>')
	if end < 0 {
		return false
	}
	// Without a quote before it, the first ">" ends the tag whatever stands there.
	quoted := bytes.IndexByte(rest[:end], '"') >= 0 || bytes.IndexByte(rest[:end], '\'') >= 0
	if !quoted && rest[end-1] != '/' {
		t.plain = rest[:end+1]
		t.pos += end + 1
		return true
	}
	var n int
	n, whole = t.readAttributes(rest)
	t.pos += n
	return whole
}

// until reads up to the next c, or to the end of the page.
func (t *Tokenizer) until(kind Kind, c byte) Kind {
	rest := t.page[t.pos:]
	i := bytes.IndexByte(rest, c)
	if i < 0 {
		t.pos = len(t.page)
		return Cut
	}
	t.Data = rest[:i]
	t.pos += i + 1
	return kind
}

// declaration reads what follows "<!".
func (t *Tokenizer) declaration() Kind {
	rest := t.page[t.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("--")):
		t.pos += 2
		return t.comment()
	case t.XML && bytes.HasPrefix(rest, []byte("[CDATA[")):
		i := bytes.Index(rest, []byte("]]>"))
		if i < 0 {
			t.pos = len(t.page)
			return Cut
		}
		t.Data = rest[:i]
		t.pos += i + 3
		return Other
	case len(rest) >= len("doctype") && strings.EqualFold(string(rest[:len("doctype")]), "doctype"):
		t.pos += len("doctype")
		return t.until(Doctype, '>')
	}
	return t.until(Other, '>')
}

// comment reads what follows "<!--": up to "-->", or "--!>"; ">" and "->" end it
// at its very start.
func (t *Tokenizer) comment() Kind {
	begin := t.pos
	for first := true; ; first = false {
		i := bytes.IndexByte(t.page[t.pos:], '>')
		if i < 0 {
			t.pos = len(t.page)
			return Cut
		}
		body := t.page[begin : t.pos+i]
		t.pos += i + 1
		if first && len(bytes.Trim(body, "-")) == 0 {
			t.Data = body[:max(0, len(body)-len("--"))]
			return Comment
		}
		for _, end := range []string{"--", "--!"} {
			if inner, found := bytes.CutSuffix(body, []byte(end)); found {
				t.Data = inner
				return Comment
			}
		}
	}
}

func isLetter(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }

// isSpace reports whether c is white space in a tag.
func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' }

func endsName(c byte) bool { return isSpace(c) || c == '/' || c == '>' }
