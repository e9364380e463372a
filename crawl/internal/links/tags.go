package links

import (
	"bytes"

	"arborist/ingest/extract/markup"
)

// A tagName is one that matters here.
type tagName int

const (
	otherTag tagName = iota
	linkTag          // a, area
	relTag           // link
	frameTag         // iframe, frame
	baseTag
	metaTag
	templateTag
)

// nameOf gives what a tag is to us.
func nameOf(name []byte) tagName {
	if len(name) > len("template") {
		return otherTag
	}
	var lower [len("template")]byte
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	switch string(lower[:len(name)]) {
	case "a", "area":
		return linkTag
	case "link":
		return relTag
	case "frame", "iframe":
		return frameTag
	case "base":
		return baseTag
	case "meta":
		return metaTag
	case "template":
		return templateTag
	}
	return otherTag
}

// tags finds the start tags of a page that may hold a reference. A tag that the
// end of the page cuts off is none. What stands in noscript and noframes is read:
// we run no scripts and know no frames, and these hold links made for us. What
// stands in a template is a draft for scripts, unless it is a shadow root, which
// is shown.
type tags struct {
	tokens *markup.Tokenizer
	open   int // templates
	draft  int // the first of them whose content is not shown, counted from 1; 0: none
}

func tagsOf(text []byte, xhtml bool) *tags {
	t := &tags{tokens: markup.New(text)}
	t.tokens.XML = xhtml
	return t
}

// next gives the next tag that matters, with its attributes. It reports false at
// the end of the page.
func (t *tags) next() (tag tagName, attrs []markup.Attribute, ok bool) {
	for {
		switch t.tokens.Next() {
		case markup.StartTag:
			switch tag := nameOf(t.tokens.Data); {
			case tag == templateTag:
				t.openTemplate()
			case tag != otherTag && t.draft == 0:
				return tag, t.tokens.Attributes(), true
			}
		case markup.EndTag:
			if t.open > 0 && nameOf(t.tokens.Data) == templateTag {
				t.closeTemplate()
			}
		case markup.End, markup.Cut:
			return otherTag, nil, false
		}
	}
}

func (t *tags) openTemplate() {
	attrs := t.tokens.Attributes()
	if t.tokens.XML && t.tokens.SelfClosing {
		return
	}
	t.open++
	if t.draft == 0 && !isShadowRoot(attrs) {
		t.draft = t.open
	}
}

func (t *tags) closeTemplate() {
	if t.draft == t.open {
		t.draft = 0
	}
	t.open--
}

// isShadowRoot reports whether a template with these attributes is shown as the
// content of the element that it stands in.
func isShadowRoot(attrs []markup.Attribute) bool {
	for _, a := range attrs {
		if named(a.Name, "shadowrootmode") {
			return bytes.EqualFold(a.Value, []byte("open")) || bytes.EqualFold(a.Value, []byte("closed"))
		}
	}
	return false
}
