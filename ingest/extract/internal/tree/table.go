package tree

import (
	"golang.org/x/net/html/atom"

	"arborist/ingest/extract/markup"
)

// inTable is the mode between the parts of a table. What belongs to none of them
// would be moved out of the table.
func (b *builder) inTable() (again bool) {
	switch b.kind {
	case markup.Text:
		white, more := b.takeBlank()
		if b.odd = b.odd || more || !isTableFrame(b.top().DataAtom); !b.odd {
			b.addText(b.top(), white)
		}
		return false
	case markup.Comment:
		b.addComment(b.top())
		return false
	case markup.StartTag:
		return b.tableStart()
	case markup.EndTag:
		if b.tag == atom.Table {
			b.endTable()
			return false
		}
		b.odd = b.odd || kindOf(b.tag) != tablePart && b.tag != atom.Body && b.tag != atom.Html
		return false
	}
	b.odd = true
	return false
}

func (b *builder) tableStart() (again bool) {
	switch b.tag {
	case atom.Caption:
		b.clearTo(atom.Table)
		b.add()
		b.mode = (*builder).inCaption
	case atom.Colgroup:
		b.clearTo(atom.Table)
		b.add()
		b.mode = (*builder).inColumns
	case atom.Col:
		b.clearTo(atom.Table)
		b.imply(atom.Colgroup)
		b.mode = (*builder).inColumns
		return true
	case atom.Tbody, atom.Tfoot, atom.Thead:
		b.clearTo(atom.Table)
		b.add()
		b.mode = (*builder).inTableBody
	case atom.Td, atom.Th, atom.Tr:
		b.clearTo(atom.Table)
		b.imply(atom.Tbody)
		b.mode = (*builder).inTableBody
		return true
	case atom.Style, atom.Script:
		b.addContent()
	default:
		b.odd = true
	}
	return false
}

// endTable closes the innermost table; what it stands in says what comes next.
func (b *builder) endTable() {
	i := b.find(tableScope, atom.Table)
	if i < 0 {
		return
	}
	b.closeFrom(i)
	for i := len(b.open) - 1; i >= 0; i-- {
		switch b.open[i].DataAtom {
		case atom.Td, atom.Th:
			b.mode = (*builder).inCell
		case atom.Caption:
			b.mode = (*builder).inCaption
		case atom.Body:
			b.mode = (*builder).inBody
		case atom.Table, atom.Tr, atom.Tbody, atom.Thead, atom.Tfoot, atom.Colgroup:
			b.odd = true
		default:
			continue
		}
		return
	}
}

func (b *builder) inTableBody() (again bool) {
	switch {
	case b.is(markup.StartTag, atom.Tr):
		b.clearTo(atom.Tbody, atom.Thead, atom.Tfoot)
		b.add()
		b.mode = (*builder).inRow
		return false
	case b.is(markup.StartTag, atom.Td, atom.Th):
		b.clearTo(atom.Tbody, atom.Thead, atom.Tfoot)
		b.imply(atom.Tr)
		b.mode = (*builder).inRow
		return true
	case b.is(markup.EndTag, atom.Tbody, atom.Thead, atom.Tfoot):
		if b.find(tableScope, b.tag) >= 0 {
			b.clearTo(atom.Tbody, atom.Thead, atom.Tfoot)
			b.closeFrom(len(b.open) - 1)
			b.mode = (*builder).inTable
		}
		return false
	case b.is(markup.StartTag, atom.Caption, atom.Col, atom.Colgroup, atom.Tbody, atom.Tfoot, atom.Thead), b.is(markup.EndTag, atom.Table):
		i := b.find(tableScope, atom.Tbody, atom.Thead, atom.Tfoot)
		if i < 0 {
			return false
		}
		b.closeFrom(i)
		b.mode = (*builder).inTable
		return true
	}
	return b.inTable()
}

func (b *builder) inRow() (again bool) {
	switch {
	case b.is(markup.StartTag, atom.Td, atom.Th):
		b.clearTo(atom.Tr)
		b.add()
		b.mode = (*builder).inCell
		return false
	case b.is(markup.EndTag, atom.Tr):
		return b.endRow(false)
	case b.is(markup.EndTag, atom.Tbody, atom.Thead, atom.Tfoot):
		return b.find(tableScope, b.tag) >= 0 && b.endRow(true)
	case b.is(markup.StartTag, atom.Caption, atom.Col, atom.Colgroup, atom.Tbody, atom.Tfoot, atom.Thead, atom.Tr), b.is(markup.EndTag, atom.Table):
		return b.endRow(true)
	}
	return b.inTable()
}

// endRow closes the row, if there is one, for a token that then comes again.
func (b *builder) endRow(comesAgain bool) (again bool) {
	if b.find(tableScope, atom.Tr) < 0 {
		return false
	}
	b.clearTo(atom.Tr)
	b.closeFrom(len(b.open) - 1)
	b.mode = (*builder).inTableBody
	return comesAgain
}

func (b *builder) inCell() (again bool) {
	switch {
	case b.is(markup.EndTag, atom.Td, atom.Th):
		if i := b.find(tableScope, b.tag); i >= 0 {
			b.closeFrom(i)
			b.mode = (*builder).inRow
		}
		return false
	case b.is(markup.EndTag, atom.Body, atom.Html, atom.Caption, atom.Col, atom.Colgroup):
		return false
	case b.is(markup.EndTag, atom.Table, atom.Tbody, atom.Tfoot, atom.Thead, atom.Tr):
		if b.find(tableScope, b.tag) < 0 {
			return false
		}
	case b.kind != markup.StartTag || kindOf(b.tag) != tablePart || b.tag == atom.Head || b.tag == atom.Frame:
		return b.inBody()
	}
	i := b.find(tableScope, atom.Td, atom.Th)
	if i < 0 {
		b.odd = true
		return false
	}
	b.closeFrom(i)
	b.mode = (*builder).inRow
	return true
}

func (b *builder) inCaption() (again bool) {
	switch {
	case b.is(markup.EndTag, atom.Caption):
	case b.is(markup.EndTag, atom.Table), b.is(markup.StartTag, atom.Caption, atom.Col, atom.Colgroup, atom.Tbody, atom.Td, atom.Tfoot, atom.Thead, atom.Tr):
		again = true
	case b.is(markup.EndTag, atom.Body, atom.Html, atom.Col, atom.Colgroup, atom.Tbody, atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Tr):
		return false
	default:
		return b.inBody()
	}
	i := b.find(tableScope, atom.Caption)
	if i < 0 {
		return false
	}
	b.closeFrom(i)
	b.mode = (*builder).inTable
	return again
}

func (b *builder) inColumns() (again bool) {
	switch {
	case b.kind == markup.Comment:
		b.addComment(b.top())
		return false
	case b.kind == markup.Text:
		b.odd = b.odd || b.addBlank()
		return false
	case b.is(markup.StartTag, atom.Col):
		b.addVoid()
		return false
	case b.is(markup.EndTag, atom.Colgroup):
		again = false
	case b.is(markup.EndTag, atom.Col):
		return false
	default:
		again = true
	}
	if b.top().DataAtom != atom.Colgroup {
		b.odd = true
		return false
	}
	b.open = b.open[:len(b.open)-1]
	b.mode = (*builder).inTable
	return again
}

// isTableFrame reports whether white space may stand right in such an element.
func isTableFrame(tag atom.Atom) bool {
	switch tag {
	case atom.Table, atom.Tbody, atom.Tfoot, atom.Thead, atom.Tr:
		return true
	}
	return false
}
