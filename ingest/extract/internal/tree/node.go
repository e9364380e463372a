package tree

import (
	"bytes"
	"cmp"
	"slices"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"arborist/ingest/extract/markup"
)

// node gives a new node. Nodes are taken many at a time.
func (b *builder) node(kind html.NodeType, tag atom.Atom, data string) *html.Node {
	if len(b.nodes) == 0 {
		b.nodes = make([]html.Node, 128)
	}
	n := &b.nodes[0]
	b.nodes = b.nodes[1:]
	n.Type, n.DataAtom, n.Data = kind, tag, data
	return n
}

func (b *builder) top() *html.Node { return b.open[len(b.open)-1] }

// addVoid adds an element that the current tag stands for and that has no content.
func (b *builder) addVoid() *html.Node {
	n := b.node(html.ElementNode, b.tag, b.name)
	n.Attr = b.attributes()
	b.top().AppendChild(n)
	return n
}

// add adds the element that the current tag opens.
func (b *builder) add() {
	n := b.addVoid()
	if isFormatting(n.DataAtom) {
		slices.SortFunc(n.Attr, byName)
	}
	b.push(n)
}

// byName is the order in which html.Parse leaves the attributes of formatting
// elements. No two of an element have one name.
func byName(a, b html.Attribute) int { return cmp.Compare(a.Key, b.Key) }

// imply adds an element whose tag was left out, and opens it.
func (b *builder) imply(tag atom.Atom) {
	n := b.node(html.ElementNode, tag, tag.String())
	b.top().AppendChild(n)
	b.push(n)
}

func (b *builder) push(n *html.Node) {
	b.open = append(b.open, n)
	b.odd = b.odd || len(b.open) > maxDepth
}

// addText adds text to an element, and to the text that it ends with.
func (b *builder) addText(to *html.Node, text string) {
	last := to.LastChild
	if last == nil || last.Type != html.TextNode {
		to.AppendChild(b.node(html.TextNode, 0, text))
		return
	}
	b.joined += len(last.Data) + len(text)
	b.odd = b.odd || b.joined > maxJoined
	last.Data += text
}

// addComment adds the current comment. Its character references are resolved, as
// html.Parse does.
func (b *builder) addComment(to *html.Node) {
	to.AppendChild(b.node(html.CommentNode, 0, html.UnescapeString(b.part(b.tokens.Data))))
}

// addContent adds an element that holds nothing but text, with what it holds, and
// reads its end tag.
func (b *builder) addContent() {
	n := b.addVoid()
	kind := b.tokens.Next()
	if kind == markup.Text {
		text := b.part(b.tokens.Data)
		if !b.tokens.Raw {
			text = html.UnescapeString(text)
		}
		if n.DataAtom == atom.Textarea {
			text = withoutLine(text)
		}
		if text != "" {
			b.addText(n, text)
		}
		kind = b.tokens.Next()
	}
	b.odd = b.odd || kind != markup.EndTag
}

// attributes gives those of the current tag.
func (b *builder) attributes() []html.Attribute {
	read := b.tokens.Attributes()
	if len(read) == 0 {
		return nil
	}
	if len(read) > maxAttributes {
		b.odd = true
		return nil
	}
	if len(b.attrs)+len(read) > cap(b.attrs) {
		b.attrs = make([]html.Attribute, 0, 2*maxAttributes)
	}
	from := len(b.attrs)
	for _, a := range read {
		key := b.lower(a.Name)
		if slices.ContainsFunc(b.attrs[from:], func(e html.Attribute) bool { return e.Key == key }) {
			continue
		}
		b.attrs = append(b.attrs, html.Attribute{Key: key, Val: b.value(a.Value)})
	}
	return b.attrs[from:len(b.attrs):len(b.attrs)]
}

func (b *builder) value(raw []byte) string {
	if bytes.IndexByte(raw, '&') < 0 {
		return b.part(raw)
	}
	return string(markup.Unescape(raw))
}
