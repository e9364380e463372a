package extract

import (
	"bytes"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// expandEmpty writes the empty elements of XML, such as <script/>, as HTML
// reads them: to an HTML parser <script/> opens a script that never ends, and
// the page is gone.
func expandEmpty(page []byte) []byte {
	out := make([]byte, 0, len(page)+len(page)/16)
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		tt := z.Next()
		if tt == html.ErrorToken {
			return append(out, z.Raw()...)
		}
		raw := z.Raw()
		if tt != html.SelfClosingTagToken {
			out = append(out, raw...)
			continue
		}
		out = append(out, raw...)
		name, _ := z.TagName()
		if isVoid(atom.Lookup(name)) {
			continue
		}
		out = append(out[:len(out)-len("/>")], "></"...)
		out = append(append(out, name...), '>')
		z.NextIsNotRawText()
	}
}

// isVoid reports whether HTML knows the element as one without an end tag.
func isVoid(tag atom.Atom) bool {
	switch tag {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input,
		atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr:
		return true
	}
	return false
}
