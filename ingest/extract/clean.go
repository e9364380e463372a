package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// clean removes the signs after headings that link to the headings themselves,
// such as "¶", and spells out what Markdown has no sign for.
func clean(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if c.DataAtom == atom.A && strings.HasPrefix(attribute(c, "href"), "#") && isMark(textOf(c, 16)) {
			n.RemoveChild(c)
		} else {
			next = spellOut(c)
			clean(c)
		}
		c = next
	}
}

// isMark reports whether a link's text is a sign without a meaning.
func isMark(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	return size == len(s) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// dropMenus removes blocks of links that stand before a page's first heading:
// where the whole body is taken, they are its menus.
func dropMenus(body *html.Node) {
	head := first(body, atom.H1)
	if head == nil {
		head = first(body, atom.H2)
	}
	if head != nil {
		dropMenusBefore(body, head)
	}
}

// dropMenusBefore returns true once it has met the heading.
func dropMenusBefore(n, head *html.Node) bool {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case c == head:
			return true
		case isMenu(c) && !contains(c, head):
			n.RemoveChild(c)
		case dropMenusBefore(c, head):
			return true
		}
		c = next
	}
	return false
}

func isMenu(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Ul, atom.Ol, atom.Div, atom.Table, atom.P:
		m := weigh(n)
		return m.all > 0 && 10*m.link >= 8*m.all
	}
	return false
}

func contains(n, inner *html.Node) bool {
	for ; inner != nil; inner = inner.Parent {
		if inner == n {
			return true
		}
	}
	return false
}
