package tree

import (
	"slices"

	"golang.org/x/net/html/atom"
)

// A scope says in which elements a search of the stack ends: an end tag does not
// reach out of them.
type scope func(atom.Atom) bool

// defaultScope leaves out elements that make a page odd.
func defaultScope(tag atom.Atom) bool {
	switch tag {
	case atom.Caption, atom.Html, atom.Table, atom.Td, atom.Th:
		return true
	}
	return false
}

func listScope(tag atom.Atom) bool {
	return tag == atom.Ol || tag == atom.Ul || defaultScope(tag)
}

func buttonScope(tag atom.Atom) bool { return tag == atom.Button || defaultScope(tag) }

func tableScope(tag atom.Atom) bool { return tag == atom.Table || tag == atom.Html }

// find gives the place on the stack of the innermost open element of these kinds,
// or -1 where there is none in scope.
func (b *builder) find(end scope, tags ...atom.Atom) int {
	for i := len(b.open) - 1; i >= 0; i-- {
		tag := b.open[i].DataAtom
		if slices.Contains(tags, tag) {
			return i
		}
		if end(tag) {
			return -1
		}
	}
	return -1
}

// closeFrom closes the elements from a place of the stack on. A formatting element
// that is closed so would be opened again behind it.
func (b *builder) closeFrom(i int) {
	for _, n := range b.open[i:] {
		b.odd = b.odd || isFormatting(n.DataAtom)
	}
	b.open = b.open[:i]
}

// clearTo closes what is open inside the innermost element of these kinds.
func (b *builder) clearTo(tags ...atom.Atom) {
	if i := b.find(func(tag atom.Atom) bool { return tag == atom.Html }, tags...); i >= 0 {
		b.closeFrom(i + 1)
		return
	}
	b.odd = true
}
