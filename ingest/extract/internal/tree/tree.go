// Package tree builds the tree of a page of HTML in a fraction of the time that
// x/net/html takes, where the page is plain.
//
// A page is plain where its tree follows from its tags and the ends that HTML
// lets one leave out: nothing is moved out of a table, no formatting is closed by
// the end of something else, and there is no template, select, SVG or MathML. That
// holds for nearly every page that a program wrote. For such a page [Parse] gives
// the tree that html.Parse gives, node for node (FuzzTheTreeIsTheParsers holds it to
// that); of any other page it says so, and the standard's whole algorithm is to be
// asked.
//
// Work is bounded: by the page's size, by the number of tags times the depth at which
// it gives up, and by the bytes that are copied.
package tree

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"arborist/ingest/extract/markup"
)

// A page that goes over one of these is not plain.
const (
	maxDepth      = 500     // open elements; x/net/html gives up at 512
	maxAttributes = 64      // of one tag: each is compared with those before it
	maxJoined     = 1 << 20 // bytes copied to join text to the text before it
	maxDoctype    = 1 << 10 // bytes
)

// space is HTML's white space.
const space = " \t\r\n\f"

// Parse gives the tree of a page, and false where the page is not plain, or has more
// start tags or more end tags than most. The strings of the tree are parts of one
// copy of the page.
func Parse(page []byte, most int) (*html.Node, bool) {
	if bytes.IndexByte(page, 0) >= 0 {
		return nil, false
	}
	if bytes.IndexByte(page, '\r') >= 0 { // wherever it stands, it counts as a line's end
		page = bytes.ReplaceAll(page, []byte("\r\n"), []byte("\n"))
		page = bytes.ReplaceAll(page, []byte("\r"), []byte("\n"))
	}
	page = page[:len(page):len(page)]
	b := &builder{
		page: page, text: string(page), most: most, tokens: markup.New(page),
		doc: &html.Node{Type: html.DocumentNode}, mode: (*builder).initial,
	}
	b.tokens.Scripts = true // as html.Parse does
	if !b.build() {
		return nil, false
	}
	return b.doc, true
}

// A builder builds one tree.
type builder struct {
	page   []byte // without room behind it
	text   string // the same
	tokens *markup.Tokenizer
	most   int // start tags, and end tags
	starts int // start tags read
	ends   int // end tags read
	joined int // bytes copied to join text

	doc    *html.Node
	open   []*html.Node // elements whose end has not come, the root first
	form   *html.Node   // whose end tag has not come
	quirks bool         // a table may stand in a paragraph
	mode   func(*builder) (again bool)
	odd    bool // the page is not plain: the tree is worth nothing

	// The current token: its kind, the element that a tag names, with its name in
	// lower case, and what of a text is left to be taken in.
	kind markup.Kind
	tag  atom.Atom
	name string
	rest string

	nodes []html.Node // taken for nodes to come
	attrs []html.Attribute
}

// build reads the page to its end and reports whether it is plain.
func (b *builder) build() bool {
	for !b.odd {
		switch b.kind = b.tokens.Next(); b.kind {
		case markup.End:
			return len(b.open) > 1 && b.open[1].DataAtom == atom.Body
		case markup.Cut, markup.Other:
			return false
		case markup.StartTag, markup.EndTag:
			b.readName()
		case markup.Text:
			b.rest = html.UnescapeString(b.part(b.tokens.Data))
		}
		for again := true; again && !b.odd; {
			again = b.mode(b)
		}
	}
	return false
}

func (b *builder) readName() {
	if b.kind == markup.StartTag {
		b.starts++
	} else {
		b.ends++
	}
	b.odd = b.odd || max(b.starts, b.ends) > b.most
	b.name = b.lower(b.tokens.Data)
	if b.tag = atom.Lookup([]byte(b.name)); b.tag != 0 {
		b.name = b.tag.String()
	}
}

// part gives a part of the page as a string, without copying it.
func (b *builder) part(p []byte) string {
	at := cap(b.page) - cap(p)
	return b.text[at : at+len(p)]
}

// lower gives a name of the page with ASCII letters in lower case.
func (b *builder) lower(name []byte) string {
	for _, c := range name {
		if 'A' <= c && c <= 'Z' {
			lower := bytes.Clone(name)
			for i, c := range lower {
				if 'A' <= c && c <= 'Z' {
					lower[i] = c + 'a' - 'A'
				}
			}
			return string(lower)
		}
	}
	return b.part(name)
}

// is reports whether the current token is a tag of that kind for one of these
// elements.
func (b *builder) is(kind markup.Kind, tags ...atom.Atom) bool {
	if b.kind != kind {
		return false
	}
	for _, t := range tags {
		if t == b.tag {
			return true
		}
	}
	return false
}

// takeBlank takes the white space that the current text begins with, and reports
// whether there is more.
func (b *builder) takeBlank() (white string, more bool) {
	rest := strings.TrimLeft(b.rest, space)
	white = b.rest[:len(b.rest)-len(rest)]
	b.rest = rest
	return white, rest != ""
}
