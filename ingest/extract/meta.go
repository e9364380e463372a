package extract

import (
	"encoding/json"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A meta is what a page says about itself.
type meta struct {
	title     string
	canonical string // as written
	base      string // as written
}

// readMeta reads title, canonical address and base address.
func readMeta(doc *html.Node) meta {
	var m meta
	var ogTitle, ogURL string
	for n := range doc.Descendants() {
		if n.Type == html.CommentNode && n.Parent == doc {
			m.title = orElse(m.title, titleInComment(n.Data))
		}
		if n.Type != html.ElementNode || n.Namespace != "" {
			continue
		}
		switch n.DataAtom {
		case atom.Title:
			m.title = orElse(m.title, textOf(n, 4096))
		case atom.Base:
			m.base = orElse(m.base, attribute(n, "href"))
		case atom.Link:
			if isCanonical(attribute(n, "rel")) {
				m.canonical = orElse(m.canonical, attribute(n, "href"))
			}
		case atom.Meta:
			switch attribute(n, "property") {
			case "og:title":
				ogTitle = orElse(ogTitle, oneLine(attribute(n, "content")))
			case "og:url":
				ogURL = orElse(ogURL, attribute(n, "content"))
			}
		}
	}
	m.title = orElse(m.title, ogTitle)
	if m.title == "" {
		m.title = textOfFirst(doc, atom.H1)
	}
	m.canonical = orElse(m.canonical, ogURL)
	return m
}

// titleInComment reads the title from a comment of JSON before a page, as the
// documents of Go have one.
func titleInComment(comment string) string {
	var front struct{ Title string }
	if len(comment) > 4096 || json.Unmarshal([]byte(comment), &front) != nil {
		return ""
	}
	return oneLine(front.Title)
}

func isCanonical(rel string) bool {
	for word := range strings.FieldsSeq(rel) {
		if strings.EqualFold(word, "canonical") {
			return true
		}
	}
	return false
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// textOfFirst returns the text of the first element of a kind that has text.
func textOfFirst(doc *html.Node, tag atom.Atom) string {
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.DataAtom == tag {
			if s := textOf(n, 4096); s != "" {
				return s
			}
		}
	}
	return ""
}

// oneLine gives s with each run of white space as one space.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
}

// canonical resolves a page's word on its address, first against its base
// element, then against where it was found. It is empty where the result is
// not an absolute http or https address.
func canonical(uri, base, said string) string {
	said = strings.TrimSpace(said)
	if said == "" || len(said) > 4096 {
		return ""
	}
	at, err := url.Parse(uri)
	if err != nil {
		at = &url.URL{}
	}
	if b, err := url.Parse(strings.TrimSpace(base)); err == nil && base != "" {
		at = at.ResolveReference(b)
	}
	u, err := url.Parse(said)
	if err != nil {
		return ""
	}
	u = at.ResolveReference(u)
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return ""
	}
	return u.String()
}
