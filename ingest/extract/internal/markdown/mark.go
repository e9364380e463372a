package markdown

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

type markKind int

const (
	emphasis markKind = iota
	strong
	link
)

func (k markKind) sign() string { return [...]string{"*", "**", "["}[k] }

// A mark is an element that is written as signs before and behind its text. The
// signs before are written with its first text, those behind when it is known
// what follows them: only then does one know whether they will be read as signs.
type mark struct {
	kind     markKind
	target   string // of a link
	title    string
	open     bool // the signs before are in out,
	at, text int  // there, and what they stand before
	first    bool // on their line
	over     bool // the element has ended
}

// marked writes what is in n between signs.
func (w *writer) marked(n *html.Node, kind markKind, target string) {
	if w.inCode > 0 || slices.ContainsFunc(w.marks, func(m mark) bool { return m.kind == kind && !m.over }) {
		w.children(n) // code has no marks, and a mark is not inside its own kind
		return
	}
	over := slices.IndexFunc(w.marks, func(m mark) bool { return m.over })
	if last := len(w.marks) - 1; over >= 0 && over == last && kind != link && w.marks[last].kind == kind && w.gap == noGap && !w.space {
		w.marks[last].over = false // it goes on where the last one ended
	} else {
		w.marks = append(w.marks, mark{kind: kind, target: target, title: attribute(n, "title")})
	}
	w.children(n)
	for i := len(w.marks) - 1; i >= 0; i-- {
		if m := &w.marks[i]; m.kind == kind && !m.over {
			if m.over = true; !m.open {
				w.marks = slices.Delete(w.marks, i, i+1)
			}
			return
		}
	}
}

// start makes out ready for something that begins with next (0: a block): what
// has to be closed or opened before it is.
func (w *writer) start(next rune) {
	w.writeCode()
	switch {
	case w.gap >= nextLine:
		w.closeMarks(0)
		w.newLine()
	case w.gap == hardBreak:
		w.closeOver(' ')
		w.newLine()
	case len(w.marks) > 0:
		w.closeOver(next)
	}
	if w.space {
		w.space = false
		if n := len(w.out); n > 0 && w.out[n-1] != ' ' {
			w.out = append(w.out, ' ')
		}
	}
	if next != 0 && len(w.marks) > 0 {
		w.openMarks(next)
	}
}

// closeMarks closes all that is open, before next.
func (w *writer) closeMarks(next rune) {
	for i := len(w.marks) - 1; i >= 0; i-- {
		if m := w.marks[i]; m.open {
			w.closeMark(m, next)
		}
		w.marks[i].open = false
	}
	w.marks = slices.DeleteFunc(w.marks, func(m mark) bool { return m.over })
}

// closeOver closes the marks whose elements have ended.
func (w *writer) closeOver(next rune) {
	if w.space {
		next = ' '
	} else if slices.ContainsFunc(w.marks, func(m mark) bool { return m.kind == link && !m.open }) {
		next = '[' // no other sign is written right behind one
	}
	for i := len(w.marks) - 1; i >= 0; i-- {
		if m := w.marks[i]; m.over {
			w.closeMark(m, next)
			w.marks = slices.Delete(w.marks, i, i+1)
		}
	}
}

// openMarks opens those that are not, as far as their signs would be read as
// such before next.
func (w *writer) openMarks(next rune) {
	before, _ := utf8.DecodeLastRune(w.out)
	apart := len(w.out) == max(w.line, 0) || isWhite(before)
	closed := w.plain == len(w.out) && before == '*' // another sign would join those
	inside := slices.ContainsFunc(w.marks, func(m mark) bool { return m.kind != link && m.open })
	text, target, deepest := next, -1, -1 // the last that is open
	for i, m := range w.marks {
		if m.open {
			deepest = i
		} else if m.kind == link {
			target = i
		}
	}
	for i := deepest + 1; i < len(w.marks); i++ {
		m := &w.marks[i]
		if next = text; i < target {
			next = '['
		}
		switch {
		case m.kind == link:
			if n := len(w.out); before == '!' && w.plain < n {
				w.out = append(w.out[:n-1], `\!`...)
			}
			apart, closed, before = true, false, '['
		case closed, isWhite(next), isPunct(next) && !apart && !isPunct(before):
			continue
		case inside && !apart && (isPunct(next) || !isPunct(before)):
			continue // it could be read as the end of the one outside
		}
		m.open, m.at, m.first = true, len(w.out), len(w.out) == w.line
		w.out = append(w.out, m.kind.sign()...)
		m.text, w.plain = len(w.out), len(w.out)
	}
}

// closeMark writes the signs behind a mark: before the last sign of its text where
// they would not be read as such behind it, and takes those before it back where
// nothing helps.
func (w *writer) closeMark(m mark, next rune) {
	if m.kind == link {
		w.out = append(append(w.out, "]("...), m.target...)
		if title := strings.Join(strings.Fields(m.title), " "); title != "" {
			w.out = append(append(append(w.out, ` "`...), escapeTitle(title)...), '"')
		}
		w.out = append(w.out, ')')
		w.plain = len(w.out)
		return
	}
	end := w.withoutSpace(len(w.out))
	if end < len(w.out) {
		next = ' '
	}
	before, _ := utf8.DecodeLastRune(w.out[:end])
	if isPunct(before) && next != 0 && !isWhite(next) && !isPunct(next) {
		end = w.withoutSpace(w.lastSign(end))
	}
	if end <= m.text || end < w.plain && end < len(w.out) {
		w.takeBack(m)
		return
	}
	w.out = slices.Insert(w.out, end, []byte(m.kind.sign())...)
	if end == len(w.out)-len(m.kind.sign()) {
		w.plain = len(w.out)
	} else {
		w.plain = end + len(m.kind.sign())
	}
}

// withoutSpace is where the white space at the end of out[:end] begins, which is
// what collapsing leaves: no-break spaces.
func (w *writer) withoutSpace(end int) int {
	for end > 0 {
		r, size := utf8.DecodeLastRune(w.out[:end])
		if !isWhite(r) {
			break
		}
		end -= size
	}
	return end
}

// lastSign is where the last character of out[:end] begins, with its backslash.
func (w *writer) lastSign(end int) int {
	_, size := utf8.DecodeLastRune(w.out[:end])
	end -= size
	slashes := end
	for slashes > w.plain && w.out[slashes-1] == '\\' {
		slashes--
	}
	return end - (end-slashes)%2
}

// takeBack removes the signs before a mark. What they stood before may now begin
// the line.
func (w *writer) takeBack(m mark) {
	size := m.text - m.at
	w.out = slices.Delete(w.out, m.at, m.text)
	if w.line > m.at {
		w.line -= size
	}
	w.plain = max(w.plain-size, m.at)
	if !m.first {
		return
	}
	i := m.at
	for i < len(w.out) && w.out[i] >= '0' && w.out[i] <= '9' {
		i++
	}
	if i < len(w.out) && strings.IndexByte(".)-+#>=~|:", w.out[i]) >= 0 {
		w.out = slices.Insert(w.out, i, '\\')
		w.plain++
	}
}

// writeCode writes the code that is waiting.
func (w *writer) writeCode() {
	if len(w.code) == 0 {
		return
	}
	code := string(w.code)
	w.code = w.code[:0]
	fence := strings.Repeat("`", longestRun(code)+1)
	if code[0] == '`' || code[len(code)-1] == '`' {
		code = " " + code + " "
	}
	if n := len(w.out); n > 0 && w.plain == n && w.out[n-1] == '`' {
		w.out = append(w.out, ' ') // fences must not touch
	}
	if w.cell {
		code = strings.ReplaceAll(code, "|", `\|`)
	}
	w.out = append(append(append(w.out, fence...), code...), fence...)
	w.plain = len(w.out)
}

func isWhite(r rune) bool { return unicode.IsSpace(r) }

// isPunct reports what CommonMark takes for punctuation beside a sign.
func isPunct(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
