package extract

import (
	"slices"
	"strings"

	readability "codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	articleExtractor = "html-article/3"
	bodyExtractor    = "html-body/3"
)

// When the extractor's article is not believed and the body is taken. All are
// about prose: text without white space and links, outside the page's frames.
// They were chosen on 181 news pages (where the body is five parts noise) and
// 1,296 pages of documentation (where the article loses lists, code and
// tables): news_test.go and docs_test.go measure them. A main element that
// holds code is taken without asking for an article: of 470 such pages the
// article lost 4 % of the words, and finding it took half of the time.
const (
	minKept     = .15 // of the page, where it has no main element
	minKeptMain = .50 // of the page's main element
	minKeptCode = .90 // of the text in pre elements: articles have none to lose
	smallProse  = 250 // bytes; an article below it must keep minKeptAll
	minKeptAll  = .80
)

// A content is what was chosen of a page.
type content struct {
	node      *html.Node // nil: the body, and the tree is taken apart
	extractor string
	title     string
	heading   string // of the page, where the extractor removed it
}

// mainContent finds the article in a page, and takes the tree apart for it
// where it needs to.
func mainContent(c *clock, doc *html.Node) (content, error) {
	body := content{extractor: bodyExtractor}
	page, main := weigh(doc), landmark(doc)
	if main != nil {
		if m := weigh(main); isMost(m, page) {
			pruneTo(main)
			page = m
			page.main = true
		}
	}
	headings := firstHeadings(doc)
	switch {
	case page.work > maxWork:
		body.node = bodyOf(doc)
		return body, nil
	case page.main && page.code:
		body.node = main
		dropMenus(main)
		title, err := titleAlone(c, doc, headings)
		body.title = title
		return body, err
	}
	listed := entriesOf(doc)
	article, err := readArticle(c, newExtractor(c), doc)
	if err != nil || article.Node == nil {
		return body, err
	}
	body.title = oneLine(article.Title())
	if !believable(weighArticle(article.Node), page) || listed.hold(article.Node) {
		return body, nil
	}
	found := content{node: article.Node, extractor: articleExtractor, title: body.title}
	raiseHeadings(article.Node, headings)
	if heading := titleHeading(headings, body.title); !hasHeading(article.Node, heading) {
		found.heading = heading
	}
	return found, nil
}

func newExtractor(c *clock) readability.Parser {
	parser := readability.NewParser()
	parser.Logger = c.logger()
	parser.KeepClasses = true // they name the language of code
	return parser
}

// readArticle has the extractor look for the article of a page, whose Node is
// nil where it finds none, and takes the tree apart for it. Errors are those of
// the clock.
func readArticle(c *clock, parser readability.Parser, doc *html.Node) (readability.Article, error) {
	var article readability.Article
	err := guard(func() (err error) {
		// No address: relative links stay relative.
		article, err = parser.ParseAndMutate(doc, nil)
		return err
	})
	switch {
	case c.err() != nil:
		return readability.Article{}, c.err()
	case err != nil:
		return readability.Article{}, nil
	}
	return article, nil
}

// titleAlone asks the extractor for the title of a page, which it takes from the
// head and the headings. They are given as a page of their own, which takes next
// to no time; the head is moved there.
func titleAlone(c *clock, doc *html.Node, headings []string) (string, error) {
	page := &html.Node{Type: html.DocumentNode}
	root, body := newElement(atom.Html), newElement(atom.Body)
	page.AppendChild(root)
	if head := first(doc, atom.Head); head != nil {
		head.Parent.RemoveChild(head)
		root.AppendChild(head)
	}
	root.AppendChild(body)
	for _, text := range headings {
		h := newElement(atom.H1)
		h.AppendChild(&html.Node{Type: html.TextNode, Data: text})
		body.AppendChild(h)
	}
	parser := newExtractor(c)
	parser.CharThresholds = 0 // it need not look twice for more text
	article, err := readArticle(c, parser, page)
	return oneLine(article.Title()), err
}

func newElement(tag atom.Atom) *html.Node {
	return &html.Node{Type: html.ElementNode, DataAtom: tag, Data: tag.String()}
}

// maxHeadings is how many headings of the first level are looked at.
const maxHeadings = 32

// firstHeadings returns the texts of a page's first h1 elements.
func firstHeadings(doc *html.Node) []string {
	var texts []string
	for n := range doc.Descendants() {
		if n.DataAtom == atom.H1 && len(texts) < maxHeadings {
			texts = append(texts, textOf(n, 4096))
		}
	}
	return texts
}

// titleHeading returns the longest heading that is part of the title, or the
// other way round: shorter ones may be the name of the site.
func titleHeading(headings []string, title string) string {
	found := ""
	title = strings.ToLower(title)
	for _, h := range headings {
		l := strings.ToLower(h)
		if len(h) > len(found) && title != "" && (strings.Contains(title, l) || strings.Contains(l, title)) {
			found = h
		}
	}
	return found
}

// raiseHeadings gives the headings of an article their first level back where the
// page has several of it: the extractor makes all h1 into h2.
func raiseHeadings(article *html.Node, firsts []string) {
	if len(firsts) < 2 {
		return
	}
	for n := range article.Descendants() {
		if n.Data == atom.H2.String() && slices.Contains(firsts, textOf(n, 4096)) {
			n.DataAtom, n.Data = atom.H1, atom.H1.String()
		}
	}
}

// hasHeading reports whether an article has kept a heading, and gives it back
// its first level.
func hasHeading(article *html.Node, heading string) bool {
	for n := range article.Descendants() {
		switch n.DataAtom {
		case atom.H1, atom.H2, atom.H3:
			if textOf(n, 4096) == heading {
				n.DataAtom, n.Data = atom.H1, atom.H1.String()
				return true
			}
		}
	}
	return false
}

// believable reports whether an article keeps enough of its page.
func believable(article, page mass) bool {
	kept := float64(article.prose()) / float64(max(1, page.prose()))
	switch {
	case article.all == 0:
		return false
	case page.main && kept < minKeptMain, kept < minKept:
		return false
	case article.prose() < smallProse && kept < minKeptAll:
		return false
	}
	return float64(article.pre) >= minKeptCode*float64(page.pre)
}

// weighArticle weighs without regard to what looks like a page's frame: the
// extractor has decided.
func weighArticle(n *html.Node) mass {
	var m mass
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		m.add(c, false, false, 1)
	}
	return m
}
