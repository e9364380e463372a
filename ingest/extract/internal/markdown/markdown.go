// Package markdown writes a tree of HTML as Markdown: CommonMark, with the tables
// of GitHub's.
//
// It promises that
//
//   - the text is that of the tree: what a reader of Markdown shows of it is what
//     stands in the tree's text nodes, in their order, but for white space;
//   - what Markdown cannot hold is left out rather than written wrong: emphasis
//     where its signs would not be read as such, a table with lists in its cells;
//   - it is one pass into one buffer, linear in the tree and in what it writes,
//     which [Options.Limit] bounds.
//
// A link keeps its target where that is an absolute web or mail address of at
// most 300 bytes: another would have to be resolved against where the page was found, and then one page
// found at two places would be two documents.
package markdown

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// ErrLimit: the Markdown of a tree is longer than [Options.Limit].
var ErrLimit = errors.New("text is over its limit")

// Options say what is written. The zero value of each is its simplest form.
type Options struct {
	Limit    int                   // most bytes; 0: no limit
	Skip     func(*html.Node) bool // reports elements that are left out with all that is in them; nil: none is
	Describe bool                  // an image leaves its description, where that is more than a word
	Check    func() error          // asked now and then: an error ends the work; nil: nobody is
}

const (
	maxNest  = 12     // lists and quotes inside each other; deeper ones are plain blocks
	maxCells = 20_000 // of one table, padding included; a larger one becomes plain blocks
	maxSpan  = 100    // columns or rows of one cell; more counts as one
)

// Render writes what is in n. Its errors are [ErrLimit] and those of Check.
func Render(n *html.Node, o Options) ([]byte, error) {
	w := &writer{Options: o, gap: emptyLine}
	w.node(n)
	w.endLine()
	return w.out, w.err
}

// A gap is what has to come before what is written next.
type gap int

const (
	noGap     gap = iota
	hardBreak     // a new line of the same paragraph
	nextLine
	emptyLine
)

// A box is an open quote, list item or heading.
type box struct {
	first, rest string // what its first line begins with, and its others
	begun       bool   // the first line is written
}

type writer struct {
	Options
	out   []byte
	err   error
	nodes int

	boxes []box // the outermost first
	nest  int   // of them, quotes and lists
	gap   gap
	space bool // white space stands before what comes next
	flat  int  // inside a heading or a cell, which have one line
	cell  bool // inside a cell
	line  int  // where the current line begins in out, behind the signs of its boxes; -1: nothing is special there
	plain int  // behind it out holds escaped text alone: no sign of a mark, no code

	marks     []mark
	inCode    int
	code      []byte // of code elements, not in out yet
	codeMarks int    // that were there when it began
}

// node writes a node and what is in it.
func (w *writer) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		w.text(n.Data)
		return
	case html.ElementNode:
	case html.DocumentNode:
		w.children(n)
		return
	default:
		return
	}
	if w.ended() || w.Skip != nil && w.Skip(n) {
		return
	}
	switch tag := tagOf(n); tag {
	case atom.A:
		if target := linkTarget(attribute(n, "href")); target != "" {
			w.marked(n, link, target)
		} else {
			w.children(n)
		}
	case atom.B, atom.Strong:
		w.marked(n, strong, "")
	case atom.I, atom.Em:
		w.marked(n, emphasis, "")
	case atom.Code, atom.Var, atom.Samp, atom.Kbd, atom.Tt:
		w.inCode++
		w.children(n)
		w.inCode--
	case atom.Br:
		w.lineBreak()
	case atom.Img:
		if alt := strings.TrimSpace(attribute(n, "alt")); w.Describe && strings.ContainsAny(alt, " \n\t") {
			w.text(alt)
		}
	case atom.Td, atom.Th:
		w.blank()
		w.children(n)
		w.blank()
	case atom.Pre:
		w.pre(n)
	case atom.Ul, atom.Ol:
		w.list(n, tag == atom.Ol)
	case atom.Table:
		w.table(n)
	default:
		w.plainOrBlock(n, tag)
	}
}

// plainOrBlock writes what is no more than a paragraph, a heading or a quote.
func (w *writer) plainOrBlock(n *html.Node, tag atom.Atom) {
	if !isBlock(tag) {
		w.children(n)
		return
	}
	w.block(emptyLine)
	switch level := headingLevel(tag); {
	case w.flat > 0:
		w.children(n)
	case tag == atom.Hr:
		w.start(0)
		w.out = append(w.out, "* * *"...)
	case level > 0:
		w.flat++
		w.inBox(box{first: "######"[:level] + " "}, n)
		w.flat--
	case tag == atom.Blockquote && w.nest < maxNest:
		w.nest++
		w.inBox(box{first: "> ", rest: "> "}, n)
		w.nest--
	default:
		w.children(n)
	}
	w.block(emptyLine)
}

func (w *writer) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c)
	}
}

// ended counts nodes, and reports whether the work has come to its end.
func (w *writer) ended() bool {
	if w.nodes++; w.nodes%256 == 1 && w.Check != nil && w.err == nil {
		w.err = w.Check()
	}
	if w.Limit > 0 && len(w.out) > w.Limit && w.err == nil {
		w.err = ErrLimit
	}
	return w.err != nil
}

// inBox writes what is in n into a box of its own.
func (w *writer) inBox(b box, n *html.Node) {
	w.boxes = append(w.boxes, b)
	w.children(n)
	w.endLine()
	w.boxes = w.boxes[:len(w.boxes)-1]
}

// block ends a block, and begins another.
func (w *writer) block(g gap) {
	if w.flat > 0 {
		w.blank()
		return
	}
	w.space = false
	if n := len(w.boxes); n > 0 && !w.boxes[n-1].begun {
		return // its first line has its gap
	}
	w.gap = max(w.gap, g)
}

// lineBreak is one br element: two of them end a paragraph.
func (w *writer) lineBreak() {
	switch {
	case w.flat > 0 || w.inCode > 0:
		w.blank()
	case w.gap == hardBreak:
		w.gap = emptyLine
	case w.gap == noGap:
		w.gap = hardBreak
	}
	w.space = w.space && w.gap == noGap
}

// newLine begins the line that the gap asks for.
func (w *writer) newLine() {
	if len(w.out) > 0 {
		if w.gap == hardBreak {
			w.out = append(w.out, "  "...)
		}
		w.out = append(w.out, '\n')
		if w.gap == emptyLine {
			for _, b := range w.boxes {
				if !b.begun {
					break
				}
				w.out = append(w.out, b.rest...)
			}
			for w.out[len(w.out)-1] == ' ' {
				w.out = w.out[:len(w.out)-1]
			}
			w.out = append(w.out, '\n')
		}
	}
	w.prefix()
	w.gap, w.space = noGap, false
	w.line, w.plain = len(w.out), len(w.out)
	if w.flat > 0 {
		w.line = -1 // behind the signs of a heading
	}
}

// prefix writes the signs of the boxes that a line is in.
func (w *writer) prefix() {
	for i := range w.boxes {
		if b := &w.boxes[i]; b.begun {
			w.out = append(w.out, b.rest...)
		} else {
			w.out = append(w.out, b.first...)
			b.begun = true
		}
	}
}

// endLine closes what is open on a line; marks of elements that go on are
// written again on the next.
func (w *writer) endLine() {
	w.writeCode()
	w.closeMarks(0)
	w.space = false
}

// list writes a list. What stands in it beside its items belongs to the item
// before it.
func (w *writer) list(n *html.Node, ordered bool) {
	if w.flat > 0 || w.nest >= maxNest {
		w.block(emptyLine)
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			w.block(emptyLine)
			w.node(c)
		}
		w.block(emptyLine)
		return
	}
	number, step := numbering(n)
	begun, open := false, false
	end := func() {
		if open {
			w.endLine()
			last := len(w.boxes) - 1
			if w.boxes[last].begun {
				begun = true
				number += step
			}
			w.boxes, open = w.boxes[:last], false
		}
	}
	w.block(emptyLine)
	w.nest++
	for c := n.FirstChild; c != nil && !w.ended(); c = c.NextSibling {
		item := tagOf(c) == atom.Li
		if item {
			end()
		} else if c.Type == html.TextNode && isBlank(c.Data) || c.Type == html.CommentNode {
			continue
		}
		if !open {
			b := box{first: "- ", rest: "  "}
			if ordered {
				if value, err := strconv.Atoi(attribute(c, "value")); item && err == nil && value >= 0 {
					number = value
				}
				b.first = strconv.Itoa(min(max(number, 0), maxNumber)) + ". "
				b.rest = "            "[:len(b.first)]
			}
			if begun {
				w.gap = nextLine
			}
			w.boxes, open = append(w.boxes, b), true
		}
		switch {
		case !item:
			w.blank()
			w.node(c)
		case w.Skip == nil || !w.Skip(c):
			w.children(c)
		}
	}
	end()
	w.nest--
	w.block(emptyLine)
}

// maxNumber is the largest number of an item: CommonMark reads nine digits, and no
// sign.
const maxNumber = 999_999_999

// numbering gives the number of a list's first item, and how it goes on.
func numbering(n *html.Node) (first, step int) {
	first, step = 1, 1
	for _, a := range n.Attr {
		if a.Key == "reversed" {
			first, step = 0, -1
			for c := range n.ChildNodes() {
				if tagOf(c) == atom.Li {
					first++
				}
			}
		}
	}
	if start, err := strconv.Atoi(attribute(n, "start")); err == nil && start >= 0 {
		first = start
	}
	return first, step
}

// pre writes a block of code between fences.
func (w *writer) pre(n *html.Node) {
	if w.flat > 0 {
		w.blank()
		w.inCode++
		w.children(n)
		w.inCode--
		w.blank()
		return
	}
	w.block(emptyLine)
	defer w.block(emptyLine)
	code, language := w.codeOf(n, nil, "")
	text := strings.TrimSuffix(string(code), "\n")
	if isBlank(text) {
		return
	}
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	w.start(0)
	w.out = append(append(w.out, fence...), language...)
	for line := range strings.SplitSeq(text, "\n") {
		w.out = append(w.out, '\n')
		if w.prefix(); w.ended() {
			return
		}
		w.out = append(w.out, line...)
	}
	w.out = append(w.out, '\n')
	w.prefix()
	w.out = append(w.out, fence...)
}

// codeOf appends the text of n as it stands, and finds the language of it that a
// class names.
func (w *writer) codeOf(n *html.Node, code []byte, language string) ([]byte, string) {
	if n.Type == html.TextNode {
		return append(code, strings.ReplaceAll(n.Data, "\r", "\n")...), language
	}
	if n.Type == html.ElementNode {
		if w.ended() || w.Skip != nil && w.Skip(n) {
			return code, language
		}
		switch tagOf(n) {
		case atom.Code, atom.Pre:
			if language == "" {
				language = languageOf(attribute(n, "class"))
			}
		case atom.Br, atom.Div:
			code = append(code, '\n')
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		code, language = w.codeOf(c, code, language)
	}
	return code, language
}

// languageOf finds the language in the classes of a code element.
func languageOf(classes string) string {
	for class := range strings.FieldsSeq(classes) {
		for _, prefix := range []string{"language-", "lang-"} {
			if name, found := strings.CutPrefix(class, prefix); found && !strings.ContainsAny(name, "`\\&") {
				return name
			}
		}
	}
	return ""
}
