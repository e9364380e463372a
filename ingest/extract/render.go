package extract

import (
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits of what Markdown is made of.
const (
	maxSpan  = 100    // columns or rows of one cell
	maxCells = 20_000 // of one table, padding included
	maxNest  = 12     // lists and quotes inside each other
)

// toMarkdown renders a tree as Markdown of at most limit bytes, and changes
// the tree for it. With describe, an image leaves its description.
//
// Links keep their target only where the page wrote it as an absolute address.
// A relative one would have to be resolved against where the page was found,
// and then one page found at two places would be two documents.
func toMarkdown(c *clock, n *html.Node, describe bool, limit int) ([]byte, error) {
	prepare(n, describe)
	if renderedSize(n, 0) > limit {
		return nil, errLimit
	}
	// A converter sorts its rules while it works, so it is not shared.
	conv := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(
			commonmark.WithListEndComment(false),
			commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip),
		),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)),
	))
	conv.Register.Renderer(func(converter.Context, converter.Writer, *html.Node) converter.RenderStatus {
		c.check()
		return converter.RenderTryNext
	}, converter.PriorityEarly)
	conv.Register.UnEscaper(func([]byte, int) int {
		c.check() // looking for the end of a link is quadratic in a line
		return -1
	}, converter.PriorityEarly)
	conv.Register.TextTransformer(hide, converter.PriorityEarly)
	conv.Register.PostRenderer(show, converter.PriorityLate)
	var text []byte
	err := guard(func() (err error) {
		text, err = conv.ConvertNode(n, converter.WithContext(c.ctx))
		return err
	})
	if err == nil && len(text) > limit {
		err = errLimit
	}
	return text, err
}

// prepare removes what is no text and what Markdown cannot hold.
func prepare(n *html.Node, describe bool) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch c.Type {
		case html.TextNode:
			c.Data = withoutPrivate(c.Data)
		case html.CommentNode:
			n.RemoveChild(c)
		case html.ElementNode:
			switch {
			case isDropped(c):
				n.RemoveChild(c)
				c = next
				continue
			case c.DataAtom == atom.A:
				next = prepareLink(n, c, next)
				if c.Parent == nil {
					c = next
					continue
				}
			case c.DataAtom == atom.Img:
				prepareImage(n, c, describe)
			case c.DataAtom == atom.Table:
				prepareTable(c)
			case isNesting(c) && nestDepth(c) > maxNest:
				rename(c, atom.Div)
			case c.DataAtom == atom.Li && nestDepth(c) > maxNest:
				rename(c, atom.P)
			}
			prepare(c, describe)
		}
		c = next
	}
	joinTexts(n)
}

// isDropped reports whether an element is nothing for Markdown.
func isDropped(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Input, atom.Link, atom.Meta:
		return true
	}
	return isInvisible(n) || attribute(n, "role") == "navigation"
}

// joinTexts makes one text of those that stand side by side, which the
// converter would do with a copy of all of it for each.
func joinTexts(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.TextNode || c.NextSibling == nil || c.NextSibling.Type != html.TextNode {
			continue
		}
		var b strings.Builder
		b.WriteString(c.Data)
		for next := c.NextSibling; next != nil && next.Type == html.TextNode; next = c.NextSibling {
			b.WriteString(next.Data)
			n.RemoveChild(next)
		}
		c.Data = b.String()
	}
}

// prepareLink drops a link without a target of its own and keeps its text. It
// returns the node to go on with.
func prepareLink(parent, a, next *html.Node) *html.Node {
	href := strings.TrimSpace(attribute(a, "href"))
	if isAbsolute(href) {
		setAttribute(a, "href", href)
		return next
	}
	if a.FirstChild != nil {
		next = a.FirstChild
	}
	for child := a.FirstChild; child != nil; child = a.FirstChild {
		a.RemoveChild(child)
		parent.InsertBefore(child, a)
	}
	parent.RemoveChild(a)
	return next
}

// isAbsolute reports whether a target means the same wherever the page lies.
func isAbsolute(href string) bool {
	for _, scheme := range []string{"http://", "https://", "mailto:"} {
		if len(href) > len(scheme) && strings.EqualFold(href[:len(scheme)], scheme) {
			return true
		}
	}
	return false
}

// prepareImage removes an image: it is no text, and its address only gets
// between the words around it. With describe, its description stays where it
// is more than a word. Beside an article's pictures stand captions that say
// the same: there descriptions cost .008 of F1 on 181 news pages.
func prepareImage(parent, img *html.Node, describe bool) {
	if alt := oneLine(attribute(img, "alt")); describe && strings.Contains(alt, " ") {
		parent.InsertBefore(&html.Node{Type: html.TextNode, Data: alt}, img)
	}
	parent.RemoveChild(img)
}

// prepareTable makes a table that would be mostly padding into plain blocks.
func prepareTable(t *html.Node) {
	rows, columns := 0, 0
	for n := range t.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.DataAtom {
		case atom.Tr:
			rows++
			width := 0
			for cell := range n.ChildNodes() {
				width += span(cell, "colspan")
				rows += span(cell, "rowspan") - 1
			}
			columns = max(columns, width)
		}
	}
	if rows*columns <= maxCells {
		return
	}
	var parts []*html.Node
	for n := range t.Descendants() {
		switch n.DataAtom {
		case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption:
			parts = append(parts, n)
		}
	}
	for _, n := range append(parts, t) {
		rename(n, atom.Div)
	}
}

// span reads how many columns or rows a cell takes, and cuts what is absurd.
func span(cell *html.Node, key string) int {
	if cell.Type != html.ElementNode {
		return 0
	}
	n := 0
	for _, d := range attribute(cell, key) {
		if d < '0' || d > '9' {
			break
		}
		n = n*10 + int(d-'0')
		if n > maxSpan {
			setAttribute(cell, key, "1")
			return 1
		}
	}
	return max(1, n)
}

func rename(n *html.Node, tag atom.Atom) { n.DataAtom, n.Data = tag, tag.String() }

// isNesting reports whether Markdown indents or quotes what is inside n.
func isNesting(n *html.Node) bool {
	return n.DataAtom == atom.Ul || n.DataAtom == atom.Ol || n.DataAtom == atom.Blockquote
}

// nestDepth counts what is nested around and including n.
func nestDepth(n *html.Node) int {
	depth := 0
	for ; n != nil; n = n.Parent {
		if isNesting(n) {
			depth++
		}
	}
	return depth
}

// renderedSize is an upper estimate of the Markdown of n: every line is
// indented or quoted as deep as it is nested.
func renderedSize(n *html.Node, prefix int) int {
	if n.Type == html.TextNode {
		return len(n.Data) + strings.Count(n.Data, "\n")*prefix
	}
	if isNesting(n) {
		prefix += 3
	}
	size := 12 + prefix // line ends, and the signs of a heading, a cell or a link
	if n.DataAtom == atom.A || n.DataAtom == atom.Img {
		size += len(attribute(n, "href")) + len(attribute(n, "src")) + len(attribute(n, "title")) + len(attribute(n, "alt"))
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		size += renderedSize(c, prefix)
	}
	return size
}
