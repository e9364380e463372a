package tree

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"arborist/ingest/extract/markup"
)

// The modes below are those of the HTML standard (13.2.6.4) up to the body. Each
// takes in the current token, or leaves it to the mode that it changes to (again).

func (b *builder) initial() (again bool) {
	switch b.kind {
	case markup.Doctype:
		b.doctype()
		b.mode = (*builder).beforeHTML
		return false
	case markup.Comment:
		b.addComment(b.doc)
		return false
	case markup.Text:
		if _, more := b.takeBlank(); !more {
			return false
		}
	}
	b.quirks = true
	b.mode = (*builder).beforeHTML
	return true
}

// doctype adds the doctype. What a long one means hangs on its letters: the parser
// itself is asked. It minds the case of a short one.
func (b *builder) doctype() {
	if name := strings.TrimLeft(b.part(b.tokens.Data), space); strings.EqualFold(name, "html") {
		b.doc.AppendChild(b.node(html.DoctypeNode, 0, "html"))
		b.quirks = name != "html"
		return
	}
	if b.odd = len(b.tokens.Data) > maxDoctype; b.odd {
		return
	}
	doc, err := html.Parse(strings.NewReader("<!DOCTYPE" + b.part(b.tokens.Data) + "><p><table>"))
	if err != nil || doc.FirstChild.Type != html.DoctypeNode {
		b.odd = true
		return
	}
	said := doc.FirstChild
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Table {
			b.quirks = n.Parent.DataAtom == atom.P
		}
	}
	doc.RemoveChild(said)
	b.doc.AppendChild(said)
}

func (b *builder) beforeHTML() (again bool) {
	switch b.kind {
	case markup.Comment:
		b.addComment(b.doc)
		return false
	case markup.Text:
		if _, more := b.takeBlank(); !more {
			return false
		}
	case markup.Doctype, markup.EndTag:
		b.odd = true
		return false
	}
	b.mode = (*builder).beforeHead
	b.open = append(b.open, b.doc)
	if b.is(markup.StartTag, atom.Html) {
		b.open[0] = b.addVoid()
		return false
	}
	b.open[0] = b.node(html.ElementNode, atom.Html, "html")
	b.doc.AppendChild(b.open[0])
	return true
}

func (b *builder) beforeHead() (again bool) {
	switch b.kind {
	case markup.Comment:
		b.addComment(b.top())
		return false
	case markup.Text:
		if _, more := b.takeBlank(); !more {
			return false
		}
	case markup.Doctype, markup.EndTag:
		b.odd = true
		return false
	}
	b.mode = (*builder).inHead
	if b.is(markup.StartTag, atom.Head) {
		b.add()
		return false
	}
	b.odd = b.is(markup.StartTag, atom.Html)
	b.imply(atom.Head)
	return true
}

func (b *builder) inHead() (again bool) {
	switch b.kind {
	case markup.Text:
		if !b.addBlank() {
			return false
		}
	case markup.Comment:
		b.addComment(b.top())
		return false
	case markup.Doctype:
		b.odd = true
		return false
	case markup.StartTag:
		if b.addOfHead() {
			return false
		}
		if b.tag == atom.Html || b.tag == atom.Head {
			b.odd = true
			return false
		}
	case markup.EndTag:
		switch b.tag {
		case atom.Head:
			b.open = b.open[:1]
			b.mode = (*builder).afterHead
		case atom.Body, atom.Html, atom.Br, atom.Template:
			b.odd = true
		}
		return false
	}
	b.open = b.open[:1]
	b.mode = (*builder).afterHead
	return true
}

// addBlank adds the white space that the current text begins with, and reports
// whether there is more.
func (b *builder) addBlank() (more bool) {
	white, more := b.takeBlank()
	if white != "" {
		b.addText(b.top(), white)
	}
	return more
}

// addOfHead adds an element of those that the head is made of, wherever it stands.
// It reports false where the current tag is none.
func (b *builder) addOfHead() bool {
	switch b.tag {
	case atom.Base, atom.Basefont, atom.Bgsound, atom.Link, atom.Meta:
		b.addVoid()
	case atom.Title, atom.Script, atom.Style, atom.Noframes, atom.Noscript:
		b.addContent()
	case atom.Template:
		b.odd = true
	default:
		return false
	}
	return true
}

func (b *builder) afterHead() (again bool) {
	switch b.kind {
	case markup.Text:
		if !b.addBlank() {
			return false
		}
	case markup.Comment:
		b.addComment(b.top())
		return false
	case markup.Doctype, markup.EndTag:
		b.odd = true
		return false
	case markup.StartTag:
		switch b.tag {
		case atom.Body:
			b.add()
			b.mode = (*builder).inBody
			return false
		case atom.Html, atom.Head, atom.Frameset, atom.Base, atom.Basefont, atom.Bgsound, atom.Link, atom.Meta,
			atom.Noframes, atom.Script, atom.Style, atom.Template, atom.Title:
			b.odd = true
			return false
		}
	}
	b.imply(atom.Body)
	b.mode = (*builder).inBody
	return true
}

// afterBody takes what comes after the body's end.
func (b *builder) afterBody() (again bool) {
	switch {
	case b.kind == markup.Text:
		if white, more := b.takeBlank(); more {
			b.odd = true
		} else {
			b.bodyText(white)
		}
	case b.kind == markup.Comment:
		b.addComment(b.open[0])
	case b.is(markup.EndTag, atom.Html):
		b.mode = (*builder).afterHTML
	default:
		b.odd = true
	}
	return false
}

// afterHTML takes what comes after the page's end.
func (b *builder) afterHTML() (again bool) {
	switch b.kind {
	case markup.Text:
		return b.afterBody()
	case markup.Comment:
		b.addComment(b.doc)
	default:
		b.odd = true
	}
	return false
}
