package extract

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// fromHTML gives a page's main content as Markdown: by its tree, or by its
// tokens where the tree would cost too much.
func fromHTML(ctx context.Context, uri string, page []byte) (Text, error) {
	t, err := fromTree(ctx, uri, page)
	if errors.Is(err, errLimit) {
		return fromTokens(ctx, uri, page)
	}
	return t, err
}

// fromTree returns errLimit where the page, or what would be made of it, is
// over a limit.
func fromTree(ctx context.Context, uri string, page []byte) (Text, error) {
	c := startClock(ctx, maxTime)
	defer c.stop()
	doc, err := parseTree(c, page)
	if err != nil {
		return Text{}, err
	}
	m := readMeta(doc)
	t := Text{Title: m.title, Canonical: canonical(uri, m.base, m.canonical)}
	clean(doc)
	content, err := mainContent(c, doc)
	if err != nil {
		return Text{}, err
	}
	t.Extractor = content.extractor
	if content.title != "" {
		t.Title = content.title
	}
	t.Title = strings.Clone(t.Title) // it may be a part of the page, and outlives it
	if content.node == nil {
		// The article took the tree apart and is not what we want: once more.
		if doc, err = parseTree(c, page); err != nil {
			return Text{}, err
		}
		clean(doc)
		content.node = bodyOf(doc)
		if weigh(content.node).work <= maxWork {
			dropMenus(content.node)
		}
	}
	t.Markdown, err = toMarkdown(c, content.node, content.extractor == bodyExtractor, 8*len(page)+64<<10)
	if content.heading != "" {
		t.Markdown = append([]byte("# "+content.heading+"\n\n"), t.Markdown...)
	}
	return t, err
}

// bodyOf returns where a page's text is when no extractor chose: its one main
// element where that holds a good part of it, else the body.
func bodyOf(doc *html.Node) *html.Node {
	body := first(doc, atom.Body)
	if body == nil {
		return doc
	}
	if l := landmark(doc); l != nil && isMost(weigh(l), weigh(body)) {
		return l
	}
	return body
}

// isMost reports whether a main element holds enough of its page to be taken
// at its word: some mark nothing but a search box.
func isMost(main, page mass) bool { return 4*main.all > page.all }
