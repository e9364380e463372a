package extract

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// When an article is taken for one of several entries of its page: an answer
// among others, a definition, a post. The extractor looks for the one piece with
// the most prose, and gives one of them.
const (
	minEntries = 3  // alike, beside each other
	minText    = 40 // bytes of a text that says where an article comes from
)

// An entry is one of several elements beside each other that are alike.
type entry struct {
	prose  int // bytes
	others *int
	within *entry // nil: in no other
}

// entries knows the texts of a page that are in one, by the innermost; nil are
// those that stand in several places. The extractor may make the nodes anew.
type entries map[string]*entry

// entriesOf looks for them in a page, before the extractor takes it apart.
func entriesOf(doc *html.Node) entries {
	found := entries{}
	found.walk(doc, nil)
	return found
}

// walk returns how many bytes of prose are in n, which is within an entry, or nil.
func (found entries) walk(n *html.Node, within *entry) (prose int) {
	totals := alike(n)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			size := visibleBytes(c.Data)
			if within != nil && size >= minText {
				if _, twice := found[c.Data]; twice {
					found[c.Data] = nil
				} else {
					found[c.Data] = within
				}
			}
			prose += size
		case c.Type != html.ElementNode || c.DataAtom == atom.A || isFrame(c) || isInvisible(c):
		case totals[kindOf(c)] != nil:
			e := &entry{within: within, others: totals[kindOf(c)]}
			e.prose = found.walk(c, e)
			*e.others += e.prose
			prose += e.prose
		default:
			prose += found.walk(c, within)
		}
	}
	return prose
}

// An entryKind is what makes two elements alike.
type entryKind struct {
	tag   atom.Atom
	class string
}

// kindOf gives the kind of an element, zero where it may be no entry: what stands
// in a div without a class may be anything.
func kindOf(n *html.Node) entryKind {
	k := entryKind{n.DataAtom, attribute(n, "class")}
	switch n.DataAtom {
	case atom.Dd, atom.Dl, atom.Li, atom.Article, atom.Section, atom.Details:
		return k
	case atom.Div:
		if k.class != "" {
			return k
		}
	}
	return entryKind{}
}

// alike counts the children of n by kind, and gives a sum for each kind of which
// there are enough, nil where there is none.
func alike(n *html.Node) map[entryKind]*int {
	var counts map[entryKind]int
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if k := kindOf(c); k.tag != 0 {
			if counts == nil {
				counts = map[entryKind]int{}
			}
			counts[k]++
		}
	}
	var totals map[entryKind]*int
	for k, n := range counts {
		if n >= minEntries {
			if totals == nil {
				totals = map[entryKind]*int{}
			}
			totals[k] = new(int)
		}
	}
	return totals
}

// hold reports whether all that an article says is in one entry, while the others
// beside it say half as much or more.
func (found entries) hold(article *html.Node) bool {
	var all *entry
	for n := range article.Descendants() {
		if n.Type != html.TextNode || visibleBytes(n.Data) < minText {
			continue
		}
		e, known := found[n.Data]
		switch {
		case known && e == nil:
			continue // it may be anywhere
		case all == nil:
			all = e
		default:
			all = common(all, e)
		}
		if all == nil {
			return false
		}
	}
	for e := all; e != nil; e = e.within {
		if 2*(*e.others-e.prose) >= e.prose {
			return true
		}
	}
	return false
}

// common gives the innermost entry that both are in.
func common(a, b *entry) *entry {
	around := map[*entry]bool{}
	for ; a != nil; a = a.within {
		around[a] = true
	}
	for ; b != nil && !around[b]; b = b.within {
	}
	return b
}
