package markdown

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// tagOf is the kind of an element, by its name: programs that rename one may
// forget its atom.
func tagOf(n *html.Node) atom.Atom {
	switch {
	case n.Type != html.ElementNode:
		return 0
	case n.DataAtom != 0 && n.DataAtom.String() == n.Data:
		return n.DataAtom
	}
	return atom.Lookup([]byte(n.Data))
}

// isBlock reports whether text before, in and after an element stands apart.
func isBlock(tag atom.Atom) bool {
	switch tag {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Caption, atom.Center, atom.Dd, atom.Details,
		atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer,
		atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr, atom.Html,
		atom.Legend, atom.Li, atom.Main, atom.Menu, atom.Nav, atom.P, atom.Section, atom.Summary, atom.Tbody, atom.Tfoot,
		atom.Thead, atom.Tr:
		return true
	}
	return false
}

// headingLevel is 1 to 6 for h1 to h6, else 0.
func headingLevel(tag atom.Atom) int {
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return int(tag.String()[1] - '0')
	}
	return 0
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

// maxTarget is the longest target of a link that is kept, in bytes. Longer ones
// carry data: pages of Rust's documentation repeat each example in one, which was
// a third of their text.
const maxTarget = 300

// linkTarget gives an absolute target as Markdown holds it, else "".
func linkTarget(href string) string {
	href = strings.TrimSpace(href)
	if len(href) > maxTarget {
		return ""
	}
	for _, scheme := range []string{"http://", "https://", "mailto:"} {
		if len(href) > len(scheme) && strings.EqualFold(href[:len(scheme)], scheme) {
			return scheme + escapeTarget(href[len(scheme):])
		}
	}
	return ""
}

// escapeTarget percent-encodes what would end the target of a link, or be read
// as something else in it.
func escapeTarget(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	from := 0
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f || strings.IndexByte("()<>[]\\|`\"", c) >= 0 {
			b.WriteString(s[from:i])
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			from = i + 1
		}
	}
	b.WriteString(s[from:])
	return b.String()
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

func isBlank(s string) bool {
	for i := range len(s) {
		if !isSpace(s[i]) {
			return false
		}
	}
	return true
}

// longestRun is the length of the longest run of backticks.
func longestRun[T string | []byte](s T) int {
	longest, run := 0, 0
	for i := range len(s) {
		if run++; s[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
