package extract

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const tokensExtractor = "html-tokens/1"

// fromTokens takes the text between the tags, with headings, list items and
// code blocks. It builds no tree: it is linear in the page, whatever is in it.
func fromTokens(ctx context.Context, uri string, page []byte) (Text, error) {
	w := tokenWriter{}
	var m meta
	z := html.NewTokenizer(bytes.NewReader(page))
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return Text{}, context.Cause(ctx)
		}
		switch z.Next() {
		case html.ErrorToken:
			w.finish()
			title := orElse(m.title, w.heading)
			return Text{
				Title: title, Markdown: bytes.TrimSpace(w.out), Extractor: tokensExtractor,
				Canonical: canonical(uri, m.base, m.canonical),
			}, nil
		case html.TextToken:
			switch {
			case w.title:
				m.title = orElse(m.title, oneLine(string(cut(z.Text(), 4096))))
			case w.silent == 0:
				w.text(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, hasAttr := z.TagName()
			tag := atom.Lookup(name)
			if tag == atom.Link || tag == atom.Base {
				m.readToken(z, tag, hasAttr)
			}
			w.start(tag)
		case html.EndTagToken:
			name, _ := z.TagName()
			w.end(atom.Lookup(name))
		}
	}
}

// readToken reads a link or base element where it stands.
func (m *meta) readToken(z *html.Tokenizer, tag atom.Atom, hasAttr bool) {
	var rel, href string
	for hasAttr {
		var key, val []byte
		key, val, hasAttr = z.TagAttr()
		switch string(key) {
		case "rel":
			rel = string(cut(val, 256))
		case "href":
			href = string(cut(val, 4096))
		}
	}
	if tag == atom.Base {
		m.base = orElse(m.base, href)
	} else if isCanonical(rel) {
		m.canonical = orElse(m.canonical, href)
	}
}

func cut(b []byte, n int) []byte { return b[:min(len(b), n)] }

// A tokenWriter builds Markdown from a run of tokens.
type tokenWriter struct {
	out     []byte
	space   bool      // white space stands before what comes next
	silent  atom.Atom // the element whose text is not for readers, or 0
	title   bool      // inside the title
	pre     []byte    // text of an open pre element
	inPre   bool
	h1      int    // where the first h1's text starts in out, or 0
	heading string // the first h1's text
}

// The tokenizer gives the whole text of these as one token, so they cannot
// swallow a page that forgets to close them but for their own kind.
func isSilent(tag atom.Atom) bool {
	switch tag {
	case atom.Script, atom.Style, atom.Noscript, atom.Iframe, atom.Noembed, atom.Noframes, atom.Textarea:
		return true
	}
	return false
}

func (w *tokenWriter) start(tag atom.Atom) {
	if isSilent(tag) {
		w.silent = tag
		return
	}
	if w.inPre {
		if tag == atom.Br {
			w.pre = append(w.pre, '\n')
		}
		return
	}
	switch tag {
	case atom.Title:
		w.title = true
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.block("\n\n")
		w.out = append(w.out, "######"[:tag.String()[1]-'0']...)
		w.out = append(w.out, ' ')
		if tag == atom.H1 && w.h1 == 0 {
			w.h1 = len(w.out)
		}
	case atom.Li:
		w.block("\n")
		w.out = append(w.out, "- "...)
	case atom.Pre:
		w.inPre = true
	case atom.Br, atom.Tr, atom.Dt, atom.Dd, atom.Option:
		w.block("\n")
	case atom.Td, atom.Th:
		w.space = true
	default:
		if isBlock(tag) {
			w.block("\n\n")
		}
	}
}

func (w *tokenWriter) end(tag atom.Atom) {
	if tag == w.silent {
		w.silent = 0
		return
	}
	switch tag {
	case atom.Title:
		w.title = false
	case atom.Pre:
		w.closePre()
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		if tag == atom.H1 && w.h1 > 0 && w.heading == "" {
			w.heading = oneLine(string(cut(w.out[min(w.h1, len(w.out)):], 4096)))
		}
		w.block("\n\n")
	case atom.Td, atom.Th:
		w.space = true
	default:
		if isBlock(tag) && !w.inPre {
			w.block("\n\n")
		}
	}
}

// isBlock reports whether text before and after such a tag stands apart.
func isBlock(tag atom.Atom) bool {
	switch tag {
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.Footer, atom.Nav, atom.Aside,
		atom.Ul, atom.Ol, atom.Dl, atom.Table, atom.Blockquote, atom.Figure, atom.Figcaption, atom.Address,
		atom.Form, atom.Fieldset, atom.Hr, atom.Details, atom.Summary, atom.Body, atom.Center, atom.Caption:
		return true
	}
	return false
}

// text adds text with its white space collapsed; inside pre as it is.
func (w *tokenWriter) text(s []byte) {
	if w.inPre {
		w.pre = append(w.pre, s...)
		return
	}
	for len(s) > 0 {
		r, size := utf8.DecodeRune(s)
		switch r {
		case ' ', '\t', '\n', '\r', '\f':
			w.space = true
		default:
			if n := len(w.out); w.space && n > 0 && w.out[n-1] != '\n' && w.out[n-1] != ' ' {
				w.out = append(w.out, ' ')
			}
			w.space = false
			w.out = append(w.out, s[:size]...)
		}
		s = s[size:]
	}
}

// block ends what stands before: with a line end, or with an empty line.
func (w *tokenWriter) block(end string) {
	w.space = false
	w.out = bytes.TrimRight(w.out, " ")
	have := len(w.out) - len(bytes.TrimRight(w.out, "\n"))
	if len(w.out) > 0 && have < len(end) {
		w.out = append(w.out, end[have:]...)
	}
}

// closePre writes the code block that has been collected.
func (w *tokenWriter) closePre() {
	w.inPre = false
	code := strings.Trim(string(w.pre), "\n")
	w.pre = w.pre[:0]
	if strings.TrimSpace(code) == "" {
		return
	}
	fence := strings.Repeat("`", max(3, longestRun(code, '`')+1))
	w.block("\n\n")
	w.out = append(w.out, fence+"\n"+code+"\n"+fence+"\n\n"...)
}

func (w *tokenWriter) finish() {
	if w.inPre {
		w.closePre()
	}
}

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if run++; s[i] != c {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
