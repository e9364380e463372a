package extract

import (
	"bytes"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// scan reads a page's tags without building anything, and returns errLimit
// where the tree would cost more than the page's size lets one expect.
//
// The parser's slow and fat paths, all found by measuring x/net/html v0.62.0:
// attributes of repeated html and body tags are compared with all earlier
// ones; text is joined to the text before it, copying both; formatting
// elements (b, font, …) left open are made again inside every later block.
func scan(page []byte) error {
	s := newScanner()
	return s.scan(page)
}

func newScanner() *scanner { return &scanner{frames: make([]frame, 1, 16)} }

func (s *scanner) scan(page []byte) error {
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return nil // the end: a bytes.Reader gives no other error
		case html.TextToken:
			s.text(z.Raw())
		case html.CommentToken:
			s.run = 0
		case html.StartTagToken, html.SelfClosingTagToken:
			name, hasAttr := z.TagName()
			s.start(z, atom.Lookup(name), hasAttr)
		case html.EndTagToken:
			name, _ := z.TagName()
			s.end(atom.Lookup(name))
		}
		if s.elements > maxElements || s.grown > maxGrown || s.merged > maxMerged || s.rootAttrs > 1000 {
			return errLimit
		}
	}
}

// A scanner holds upper bounds of what the parser would do.
type scanner struct {
	elements  int // start tags
	rootAttrs int // attributes of html and body tags
	grown     int // elements that the parser makes again
	merged    int // bytes copied to join text

	run     int  // text since the last tag that ends a text node
	foster  int  // text that a table moved out before itself
	inTable bool // the last tag was one between which no text belongs

	open   int     // formatting elements that may be open
	frames []frame // the outermost has no tag
}

// A frame holds the formatting elements opened inside an element across which
// an end tag does not reach.
type frame struct {
	tag  atom.Atom
	open [len(formatting)]int
}

var formatting = [...]atom.Atom{
	atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr,
	atom.S, atom.Small, atom.Strike, atom.Strong, atom.Tt, atom.U,
}

// formattingIndex returns a tag's place in formatting, or -1.
func formattingIndex(tag atom.Atom) int {
	for i, f := range formatting {
		if f == tag {
			return i
		}
	}
	return -1
}

// isBarrier reports whether an end tag of a formatting element inside such an
// element leaves those outside open.
func isBarrier(tag atom.Atom) bool {
	switch tag {
	case atom.Table, atom.Td, atom.Th, atom.Caption, atom.Applet, atom.Object, atom.Marquee,
		atom.Template, atom.Select, atom.Button, atom.Svg, atom.Math:
		return true
	}
	return false
}

// isTablePart reports whether text right after such a tag is moved out of the
// table.
func isTablePart(tag atom.Atom) bool {
	switch tag {
	case atom.Table, atom.Tbody, atom.Thead, atom.Tfoot, atom.Tr, atom.Colgroup, atom.Col:
		return true
	}
	return false
}

func (s *scanner) text(raw []byte) {
	s.run += len(raw)
	s.merged += s.run
	if s.inTable && len(bytes.TrimSpace(raw)) > 0 {
		s.foster += len(raw)
		s.merged += s.foster
	}
}

func (s *scanner) start(z *html.Tokenizer, tag atom.Atom, hasAttr bool) {
	s.elements++
	s.inTable = isTablePart(tag)
	if !s.inTable {
		s.run = 0
	}
	if tag == atom.Html || tag == atom.Body {
		for hasAttr {
			_, _, hasAttr = z.TagAttr()
			s.rootAttrs++
		}
	}
	if i := formattingIndex(tag); i >= 0 {
		if tag == atom.A || tag == atom.Nobr {
			s.grown += min(s.open, 512) // it ends an open one of its kind
		}
		s.open++
		s.top().open[i]++
		return
	}
	s.grown += min(s.open, 512)
	if t := s.top().tag; (tag == atom.Td || tag == atom.Th || tag == atom.Tr) && (t == atom.Td || t == atom.Th) {
		s.pop(len(s.frames) - 1)
	}
	if isBarrier(tag) {
		s.frames = append(s.frames, frame{tag: tag})
	}
}

func (s *scanner) end(tag atom.Atom) {
	s.inTable = isTablePart(tag) || tag == atom.Td || tag == atom.Th || tag == atom.Caption
	if i := formattingIndex(tag); i >= 0 {
		if s.top().open[i] > 0 {
			s.top().open[i]--
			s.open--
		}
		s.grown += min(s.open, 512) + 1
		return
	}
	s.grown += min(s.open, 512)
	if !isBarrier(tag) {
		return
	}
	for n := len(s.frames) - 1; n > 0; n-- {
		switch t := s.frames[n].tag; {
		case t == tag:
			s.pop(n)
			return
		case tag != atom.Table || t == atom.Template:
			return // only the end of a table closes what is open inside it
		}
	}
}

func (s *scanner) top() *frame { return &s.frames[len(s.frames)-1] }

// pop closes frame n and those above; what they leave open stays open.
func (s *scanner) pop(n int) {
	for len(s.frames) > n {
		last := s.frames[len(s.frames)-1]
		s.frames = s.frames[:len(s.frames)-1]
		for i, open := range last.open {
			s.top().open[i] += open
		}
	}
}
