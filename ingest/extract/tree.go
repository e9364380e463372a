package extract

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"arborist/ingest/extract/internal/tree"
)

// parseTree builds the page's tree, or returns errLimit where it is too deep
// (x/net/html stops at 512), too fat or too slow. The tree of a plain page costs
// what the page's size lets one expect; of others that is found out first.
func parseTree(c *clock, page []byte) (*html.Node, error) {
	if len(page) > maxTree {
		return nil, errLimit
	}
	if doc, plain := tree.Parse(page, maxElements); plain {
		return doc, c.err()
	}
	if err := scan(page); err != nil {
		return nil, err
	}
	doc, err := html.Parse(&slowReader{clock: c, rest: page})
	if err != nil {
		if c.ctx.Err() != nil {
			return nil, c.err()
		}
		return nil, errLimit
	}
	return doc, nil
}

// A mass is how much text a tree holds, in bytes without white space.
type mass struct {
	all  int
	link int  // inside a elements
	pre  int  // inside pre elements
	work int  // all, counted once for every container around it
	code bool // it has code or pre elements
	main bool // of the page's one main element
}

// prose is the text that is no link.
func (m mass) prose() int { return m.all - m.link }

// weigh measures what a reader would take for the content of n: frames of a
// page (nav, header, footer …), forms and invisible parts do not count.
func weigh(n *html.Node) mass {
	var m mass
	m.add(n, false, false, 1)
	return m
}

func (m *mass) add(n *html.Node, link, pre bool, containers int) {
	switch n.Type {
	case html.TextNode:
		size := visibleBytes(n.Data)
		m.all += size
		m.work += len(n.Data) * containers
		if link {
			m.link += size
		}
		if pre {
			m.pre += size
		}
		return
	case html.ElementNode:
		if isFrame(n) || isInvisible(n) {
			return
		}
		switch n.DataAtom {
		case atom.A:
			link = true
		case atom.Code:
			m.code = true
		case atom.Pre:
			pre, m.code = true, true
		case atom.Div, atom.Ul, atom.Ol, atom.Table, atom.Section, atom.Td, atom.Blockquote, atom.Form, atom.Fieldset:
			containers++
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		m.add(c, link, pre, containers)
	}
}

// visibleBytes is the length of s without white space.
func visibleBytes(s string) int {
	n := 0
	for i, c := range []byte(s) { // not copied
		switch {
		case c >= utf8.RuneSelf:
			return n + visibleRunes(s[i:])
		case c != ' ' && (c < '\t' || c > '\r'):
			n++
		}
	}
	return n
}

func visibleRunes(s string) int {
	n := len(s)
	for _, r := range s {
		if unicode.IsSpace(r) {
			n -= utf8.RuneLen(r)
		}
	}
	return n
}

// isFrame reports whether n is what stands around the content of a page.
func isFrame(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Header, atom.Footer, atom.Aside, atom.Form:
		return true
	}
	switch attribute(n, "role") {
	case "navigation", "banner", "contentinfo", "search", "complementary":
		return true
	}
	return false
}

// isInvisible reports whether n holds no text for a reader.
func isInvisible(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Head, atom.Svg, atom.Math,
		atom.Select, atom.Button, atom.Textarea, atom.Iframe, atom.Object, atom.Canvas, atom.Dialog:
		return true
	}
	return hasAttribute(n, "hidden")
}

// landmark returns the one main element of a page, or nil where there is none
// or more than one.
func landmark(doc *html.Node) *html.Node {
	var found []*html.Node
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode {
			if isInvisible(n) {
				return
			}
			if n.DataAtom == atom.Main || attribute(n, "role") == "main" {
				found = append(found, n)
				return
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(doc)
	if len(found) == 1 {
		return found[0]
	}
	return nil
}

// pruneTo removes from the body what is not inside or around n.
func pruneTo(n *html.Node) {
	for ; n.Parent != nil && n.DataAtom != atom.Body; n = n.Parent {
		for c := n.Parent.FirstChild; c != nil; {
			next := c.NextSibling
			if c != n {
				n.Parent.RemoveChild(c)
			}
			c = next
		}
	}
}

// first returns the first element of a kind, in document order, or nil.
func first(doc *html.Node, tag atom.Atom) *html.Node {
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.DataAtom == tag {
			return n
		}
	}
	return nil
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

func hasAttribute(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return true
		}
	}
	return false
}

// textOf returns the text of n on one line, at most about limit bytes of it. White
// space does not count: a link may begin with a line of it.
func textOf(n *html.Node, limit int) string {
	var text []byte
	for d := range n.Descendants() {
		if d.Type != html.TextNode {
			continue
		}
		for _, r := range d.Data {
			switch {
			case !unicode.IsSpace(r):
				text = utf8.AppendRune(text, r)
			case len(text) > 0 && text[len(text)-1] != ' ':
				text = append(text, ' ')
			}
			if len(text) > limit {
				return string(bytes.TrimRight(text, " "))
			}
		}
	}
	return string(bytes.TrimRight(text, " "))
}
