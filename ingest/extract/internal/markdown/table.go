package markdown

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// table writes a table as such where Markdown can hold it, else as blocks, a row
// each.
func (w *writer) table(n *html.Node) {
	w.block(emptyLine)
	defer w.block(emptyLine)
	g := grid{skip: w.Skip}
	if w.flat > 0 || attribute(n, "role") == "presentation" || !g.add(n, inTable) {
		w.children(n)
		return
	}
	rows, columns := g.cells()
	if columns == 0 {
		w.children(n)
		return
	}
	for _, c := range g.captions {
		w.children(c)
		w.block(emptyLine)
	}
	w.start(0)
	w.flat++
	w.cell = true
	if !g.hasHeader() {
		rows = append([][]*html.Node{nil}, rows...)
	}
	for i, row := range rows {
		if i > 0 {
			w.nextRow()
		}
		for column := range columns {
			w.out = append(w.out, "| "...)
			w.line, w.plain = -1, len(w.out)
			if column < len(row) && row[column] != nil {
				w.children(row[column])
				w.endLine()
			}
			w.out = append(w.out, ' ')
		}
		w.out = append(w.out, '|')
		if i == 0 {
			w.nextRow()
			for range columns {
				w.out = append(w.out, "|---"...)
			}
			w.out = append(w.out, '|')
		}
	}
	w.cell = false
	w.flat--
}

func (w *writer) nextRow() {
	w.out = append(w.out, '\n')
	w.prefix()
}

// A grid is a table whose cells each fit on one line.
type grid struct {
	skip     func(*html.Node) bool
	rows     []*html.Node
	captions []*html.Node
	lines    int // of the latest cell
}

// A part is where in a table a node stands.
type part int

const (
	inTable part = iota
	inRow
	inCell
	inCaption
)

// add collects the rows and captions of what is in n, and reports false where
// something does not fit into lines of cells. It stops at an inner table, so no
// node is looked at for two tables.
func (g *grid) add(n *html.Node, in part) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode && in < inCell && !isBlank(c.Data) {
			return false
		}
		if c.Type != html.ElementNode || g.skip != nil && g.skip(c) {
			continue
		}
		within, fits := in, true
		switch tagOf(c) {
		case atom.Table, atom.Hr, atom.Ul, atom.Ol, atom.Dl, atom.Blockquote, atom.Pre,
			atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			return false
		case atom.Tr:
			g.rows = append(g.rows, c)
			within, fits = inRow, in == inTable
		case atom.Td, atom.Th:
			within, fits = inCell, in == inRow && c.Parent == g.rows[len(g.rows)-1]
			g.lines = 0
		case atom.Caption:
			g.captions = append(g.captions, c)
			within, fits = inCaption, in == inTable && len(g.rows) == 0
		case atom.P, atom.Br:
			g.lines++
			fits = in >= inCell && (in == inCaption || g.lines < 2)
		case atom.Img:
			fits = in >= inCell
		}
		if !fits || !g.add(c, within) {
			return false
		}
	}
	return true
}

// cells gives the cells of each row, with nil for those that a span takes, and
// the number of columns: 0 where there are too many cells.
func (g *grid) cells() (rows [][]*html.Node, columns int) {
	var taken []int // rows that a cell above still takes, by column, of all columns that there are
	for _, row := range g.rows {
		var cells []*html.Node
		skip := func() {
			for len(cells) < len(taken) && taken[len(cells)] > 0 {
				taken[len(cells)]--
				cells = append(cells, nil)
			}
		}
		for c := row.FirstChild; c != nil; c = c.NextSibling {
			if tag := tagOf(c); tag != atom.Td && tag != atom.Th {
				continue
			}
			skip()
			below := span(c, "rowspan") - 1
			for i := range span(c, "colspan") {
				if len(taken) == len(cells) {
					taken = append(taken, 0)
				}
				taken[len(cells)] = below
				if cells = append(cells, c); i > 0 {
					cells[len(cells)-1] = nil
				}
			}
			if len(taken)*len(g.rows) > maxCells {
				return nil, 0
			}
		}
		skip()
		rows = append(rows, cells)
	}
	return rows, len(taken)
}

// hasHeader reports whether the first row is a header.
func (g *grid) hasHeader() bool {
	row := g.rows[0]
	for c := row.FirstChild; c != nil; c = c.NextSibling {
		if tagOf(c) == atom.Th {
			return true
		}
	}
	return tagOf(row.Parent) == atom.Thead
}

// span reads how many columns or rows a cell takes.
func span(n *html.Node, key string) int {
	number := 0
	for _, d := range attribute(n, key) {
		if d < '0' || d > '9' {
			break
		}
		if number = number*10 + int(d-'0'); number > maxSpan {
			return 1
		}
	}
	return max(1, number)
}
