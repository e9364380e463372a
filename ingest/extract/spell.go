package extract

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// spellOut writes as text what a reader sees of an element and what Markdown has
// no sign for: quotation marks, exponents, formulas, the labels of a drawing. It
// gives the node to go on behind.
func spellOut(n *html.Node) (next *html.Node) {
	next = n.NextSibling
	switch n.DataAtom {
	case atom.Q:
		quote(n)
	case atom.Sup:
		raise(n)
	case atom.Math, atom.Span:
		if math := formulaIn(n); math != nil {
			return replaceFormula(n, math)
		}
	case atom.Svg:
		replace(n, newText(labels(n)))
	}
	return next
}

// quote puts quotation marks around what is in a q element, the inner ones within
// another.
func quote(n *html.Node) {
	open, end := "“", "”"
	for up := n.Parent; up != nil; up = up.Parent {
		if up.DataAtom == atom.Q {
			open, end = "‘", "’"
			break
		}
	}
	n.InsertBefore(newText(open), n.FirstChild)
	n.AppendChild(newText(end))
}

// raise marks an exponent or the number of a note with "^", without which 10⁶
// would be 106. What begins with a letter is no number: 10th.
func raise(n *html.Node) {
	text := n.FirstChild
	for text != nil && text.Type == html.ElementNode {
		text = text.FirstChild
	}
	if text == nil {
		return
	}
	digits := strings.TrimLeft(text.Data, "+-−–( \n\t")
	if digits != "" && '0' <= digits[0] && digits[0] <= '9' {
		n.InsertBefore(newText("^"), n.FirstChild)
	}
}

// formulaIn gives the formula that n is, or that is all there is in it: pages
// that draw their formulas hide them from the eye in an element of their own.
func formulaIn(n *html.Node) *html.Node {
	for n != nil && n.DataAtom == atom.Span && n.FirstChild == n.LastChild {
		n = n.FirstChild
	}
	if n != nil && n.DataAtom == atom.Math {
		return n
	}
	return nil
}

// replaceFormula writes a formula in the place of whole, in one line: as its author
// did in TeX where that is there, else as it is read. What is drawn of it behind
// that is dropped.
func replaceFormula(whole, math *html.Node) (next *html.Node) {
	tex := texOf(math)
	line := tex
	if line == "" {
		if line = textOf(math, maxFormula); len(line) < maxFormula {
			line = oneLine(linear(math))
		}
	}
	if s := whole.NextSibling; s != nil {
		picture := s.DataAtom == atom.Img && tex != "" && bareTeX(attribute(s, "alt")) == tex
		if picture || s.DataAtom == atom.Span && attribute(s, "aria-hidden") == "true" {
			s.Parent.RemoveChild(s)
		}
	}
	formula := newElement(atom.Var)
	formula.AppendChild(newText(line))
	replace(whole, formula)
	return formula.NextSibling
}

// replace puts a node in the place of another.
func replace(n, by *html.Node) {
	n.Parent.InsertBefore(by, n)
	n.Parent.RemoveChild(n)
}

func newText(s string) *html.Node { return &html.Node{Type: html.TextNode, Data: s} }

// texOf gives the TeX that a formula was made of, "" where it says none.
func texOf(math *html.Node) string {
	for n := range math.Descendants() {
		if n.Data == "annotation" && strings.HasSuffix(strings.ToLower(attribute(n, "encoding")), "tex") {
			return bareTeX(textOf(n, maxFormula))
		}
	}
	return bareTeX(attribute(math, "alttext"))
}

// maxFormula is the longest formula that is written, in bytes.
const maxFormula = 16 << 10

// bareTeX is TeX without what only says how large it is set.
func bareTeX(s string) string {
	s = oneLine(s)
	if inner, found := strings.CutPrefix(s, `{\displaystyle `); found {
		s = strings.TrimSpace(strings.TrimSuffix(inner, "}"))
	}
	return s
}

// labels gives what is written in a drawing.
func labels(svg *html.Node) string {
	if attribute(svg, "aria-hidden") == "true" {
		return ""
	}
	var b strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.Type != html.ElementNode || c.Data == "defs":
			case c.Data == "text", c.Data == "foreignObject":
				b.WriteString(" " + textOf(c, maxFormula) + " ")
			default:
				walk(c)
			}
		}
	}
	walk(svg)
	return b.String()
}
