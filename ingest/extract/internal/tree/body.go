package tree

import (
	"strings"

	"golang.org/x/net/html/atom"

	"arborist/ingest/extract/markup"
)

// inBody is the mode of what stands in the body and in cells.
func (b *builder) inBody() (again bool) {
	switch b.kind {
	case markup.Text:
		b.bodyText(b.rest)
	case markup.Comment:
		b.addComment(b.top())
	case markup.StartTag:
		b.bodyStart()
	case markup.EndTag:
		b.bodyEnd()
	default:
		b.odd = true
	}
	return false
}

// bodyText adds text.
func (b *builder) bodyText(text string) {
	top := b.top()
	if isPre(top.DataAtom) && top.FirstChild == nil {
		text = withoutLine(text)
	}
	if text != "" {
		b.addText(top, text)
	}
}

// withoutLine gives text without a line's end at its start, which does not count
// where white space does.
func withoutLine(text string) string {
	return strings.TrimPrefix(strings.TrimPrefix(text, "\r"), "\n")
}

func isPre(tag atom.Atom) bool { return tag == atom.Pre || tag == atom.Listing }

// bodyStart takes a start tag.
func (b *builder) bodyStart() {
	switch kindOf(b.tag) {
	case block:
		b.closeParagraph()
		b.add()
	case formatting:
		b.odd = b.odd || b.tag == atom.Nobr || b.tag == atom.A && b.inLink()
		b.add()
	case void:
		b.addVoid()
	case odd:
		b.odd = true
	case tablePart: // outside of a table it is nothing
	default:
		b.otherStart()
	}
}

// otherStart takes a start tag with a rule of its own.
func (b *builder) otherStart() {
	switch b.tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		b.closeParagraph()
		if isHeading(b.top().DataAtom) {
			b.closeFrom(len(b.open) - 1)
		}
		b.add()
	case atom.Li, atom.Dd, atom.Dt:
		b.closeItem()
		b.closeParagraph()
		b.add()
	case atom.Form:
		if b.form == nil {
			b.closeParagraph()
			b.add()
			b.form = b.top()
		}
	case atom.Button:
		b.odd = b.odd || b.find(defaultScope, atom.Button) >= 0
		b.add()
	case atom.Hr:
		b.closeParagraph()
		b.addVoid()
	case atom.Textarea, atom.Iframe, atom.Noembed:
		b.addContent()
	case atom.Table:
		if !b.quirks {
			b.closeParagraph()
		}
		b.add()
		b.mode = (*builder).inTable
	default:
		if !b.addOfHead() {
			b.add()
		}
	}
}

// closeParagraph closes an open p.
func (b *builder) closeParagraph() {
	if i := b.find(buttonScope, atom.P); i >= 0 {
		b.closeFrom(i)
	}
}

// closeItem closes the item that the current tag's item follows, where its end tag
// was left out.
func (b *builder) closeItem() {
	for i := len(b.open) - 1; i >= 0; i-- {
		switch tag := b.open[i].DataAtom; {
		case tag == b.tag, b.tag != atom.Li && (tag == atom.Dd || tag == atom.Dt):
			b.closeFrom(i)
			return
		case tag == atom.Address, tag == atom.Div, tag == atom.P:
		case isSpecial(tag):
			return
		}
	}
}

// inLink reports whether a link is open that another one would end.
func (b *builder) inLink() bool {
	return b.find(func(tag atom.Atom) bool { return tag == atom.Td || tag == atom.Th || tag == atom.Caption }, atom.A) >= 0
}

// bodyEnd takes an end tag.
func (b *builder) bodyEnd() {
	switch kindOf(b.tag) {
	case block:
		b.endBlock()
		return
	case formatting:
		b.endFormatting()
		return
	}
	switch b.tag {
	case atom.Body, atom.Html:
		b.endBody()
	case atom.Form:
		b.endForm()
	case atom.Button:
		b.endBlock()
	case atom.Li:
		b.endAt(b.find(listScope, atom.Li))
	case atom.Dd, atom.Dt:
		b.endAt(b.find(defaultScope, b.tag))
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		b.endAt(b.find(defaultScope, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6))
	case atom.Br, atom.Template, atom.Applet, atom.Marquee, atom.Object, atom.Select:
		b.odd = true
	default:
		b.endOther()
	}
}

// endBlock takes the end tag of a block. That of a p without a start is a p.
func (b *builder) endBlock() {
	if b.tag == atom.P {
		if b.find(buttonScope, atom.P) < 0 {
			b.imply(atom.P)
		}
		b.closeParagraph()
		return
	}
	b.endAt(b.find(defaultScope, b.tag))
}

// endAt closes the elements from a place of the stack on, if there is one.
func (b *builder) endAt(i int) {
	if i >= 0 {
		b.closeFrom(i)
	}
}

// endFormatting takes the end tag of a formatting element, which must be the
// innermost one.
func (b *builder) endFormatting() {
	for i := len(b.open) - 1; i >= 0; i-- {
		switch tag := b.open[i].DataAtom; {
		case tag == b.tag:
			b.open = b.open[:i]
			return
		case isFormatting(tag), isSpecial(tag):
			b.odd = b.odd || b.isOpen(b.tag)
			return
		}
	}
}

func (b *builder) isOpen(tag atom.Atom) bool {
	return b.find(func(atom.Atom) bool { return false }, tag) >= 0
}

func (b *builder) endBody() {
	if b.find(defaultScope, atom.Body) < 0 {
		return
	}
	if b.mode = (*builder).afterBody; b.tag == atom.Html {
		b.mode = (*builder).afterHTML
	}
}

// endForm ends a form that is the innermost element but for items and paragraphs.
func (b *builder) endForm() {
	form := b.form
	b.form = nil
	i := b.find(defaultScope, atom.Form)
	if form == nil || i < 0 || b.open[i] != form {
		return
	}
	for isImplied(b.top().DataAtom) {
		b.open = b.open[:len(b.open)-1]
	}
	b.odd = b.odd || b.top() != form
	b.open = b.open[:len(b.open)-1]
}

// endOther takes an end tag that has no rule of its own.
func (b *builder) endOther() {
	for i := len(b.open) - 1; i >= 0; i-- {
		n := b.open[i]
		if n.DataAtom == b.tag && n.Data == b.name {
			b.closeFrom(i)
			return
		}
		if isSpecial(n.DataAtom) {
			return
		}
	}
}
