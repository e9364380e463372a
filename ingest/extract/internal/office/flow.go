package office

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// maxNested is how deep paragraphs, or tables, may lie in each other. The text of
// a table is copied into each one around it.
const maxNested = 64

// A flow writes running text: paragraphs and tables of WordprocessingML and
// DrawingML, which have the same names for them.
type flow struct {
	out    *markdown
	styles map[string]int // level of a heading by the style's ID

	skip   int          // elements open inside one that is left out, itself included
	text   bool         // inside an element that holds characters
	paras  []*paragraph // open ones: a text box lies inside a paragraph
	tables []*table     // open ones

	title bool // inside the title of a slide
}

type paragraph struct {
	text  strings.Builder
	level int
	item  bool
	props bool // inside its properties
}

type table struct {
	row  []string
	cell strings.Builder
}

// leftOut are elements with characters or marks that are not the text: what
// stands there for older programs again, what was deleted or moved away, what a
// field is computed from, the numbers of slides, how to pronounce what is there,
// properties of anything but a paragraph.
func leftOut(name string) bool {
	switch name {
	case "Fallback", "del", "moveFrom", "instrText", "delText", "delInstrText", "rPr", "sectPr", "tblPr", "tblGrid", "trPr", "tcPr", "fld", "rt":
		return true
	}
	return false
}

func (f *flow) token(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		if f.skip > 0 || leftOut(t.Name.Local) {
			f.skip++
			return nil
		}
		return f.start(t)
	case xml.EndElement:
		if f.skip > 0 {
			f.skip--
			return nil
		}
		return f.end(t.Name.Local)
	case xml.CharData:
		if f.skip == 0 && f.text && len(f.paras) > 0 {
			f.top().text.Write(t)
		}
	}
	return nil
}

func (f *flow) top() *paragraph { return f.paras[len(f.paras)-1] }

func (f *flow) start(s xml.StartElement) error {
	switch s.Name.Local {
	case "p":
		f.paras = append(f.paras, &paragraph{})
		if f.title {
			f.top().level = 2
		}
	case "tbl":
		f.tables = append(f.tables, &table{})
	case "sp":
		f.title = false
	case "ph":
		kind := attribute(s, "type")
		f.title = kind == "title" || kind == "ctrTitle"
	}
	if max(len(f.paras), len(f.tables)) > maxNested {
		return fmt.Errorf("%w: over %d paragraphs or tables in each other", ErrFormat, maxNested)
	}
	if len(f.paras) == 0 {
		return nil
	}
	switch p := f.top(); s.Name.Local {
	case "t":
		f.text = true
	case "pPr":
		p.props = true
	case "pStyle":
		p.level = f.styles[attribute(s, "val")]
	case "numPr":
		p.item = true
	case "tab":
		if !p.props { // else it is where tabs stop
			p.text.WriteByte(' ')
		}
	case "br", "cr":
		p.text.WriteByte('\n')
	case "noBreakHyphen":
		p.text.WriteByte('-')
	}
	return nil
}

func (f *flow) end(name string) error {
	switch {
	case name == "t":
		f.text = false
	case name == "pPr" && len(f.paras) > 0:
		f.top().props = false
	case name == "p" && len(f.paras) > 0:
		return f.endParagraph()
	case len(f.tables) == 0:
	case name == "tc":
		t := f.tables[len(f.tables)-1]
		t.row = append(t.row, t.cell.String())
		t.cell.Reset()
	case name == "tr":
		return f.endRow()
	case name == "tbl":
		f.tables = f.tables[:len(f.tables)-1]
		if len(f.tables) == 0 {
			f.out.end()
		}
	}
	return nil
}

func (f *flow) endParagraph() error {
	p := f.top()
	text, level, item := p.text.String(), p.level, p.item
	f.paras = f.paras[:len(f.paras)-1]
	switch {
	case len(f.tables) > 0:
		t := f.tables[len(f.tables)-1]
		t.cell.WriteString(text + " ")
		return nil
	case item && level == 0:
		return f.out.item(text)
	}
	return f.out.block(text, level)
}

// endRow writes a row. That of a table inside a cell is text of the cell.
func (f *flow) endRow() error {
	t := f.tables[len(f.tables)-1]
	row := t.row
	t.row = nil
	if outer := len(f.tables) - 2; outer >= 0 {
		f.tables[outer].cell.WriteString(strings.Join(row, " ") + " ")
		return nil
	}
	return f.out.row(row)
}

// word writes a text document, and its notes after it.
func (p *container) word(main string, rels relations, out *markdown) error {
	styles, err := p.headings(rels.first("styles"))
	if err != nil {
		return err
	}
	parts := []string{main, rels.first("footnotes"), rels.first("endnotes")}
	for _, part := range parts {
		if part != main && p.parts[part] == nil {
			continue
		}
		f := flow{out: out, styles: styles}
		if err := p.each(part, f.token); err != nil {
			return err
		}
		out.end()
	}
	return nil
}

// headings reads which styles are headings, by the names that they have in
// every language.
func (p *container) headings(part string) (map[string]int, error) {
	levels := map[string]int{}
	if p.parts[part] == nil {
		return levels, nil
	}
	id := ""
	err := p.each(part, func(t xml.Token) error {
		s, ok := t.(xml.StartElement)
		switch {
		case !ok:
		case s.Name.Local == "style":
			id = attribute(s, "styleId")
		case s.Name.Local == "name":
			if level := headingLevel(strings.ToLower(attribute(s, "val"))); level > 0 {
				levels[id] = level
			}
		}
		return nil
	})
	return levels, err
}

// headingLevel gives the level of the heading that a style of this name is, 0
// for any other one.
func headingLevel(name string) int {
	if n, ok := strings.CutPrefix(name, "heading "); ok && len(n) == 1 && n >= "1" && n <= "9" {
		return int(n[0] - '0')
	}
	if name == "title" {
		return 1
	}
	return 0
}

// slides writes a presentation, slide by slide.
func (p *container) slides(main string, rels relations, out *markdown) error {
	var order []string
	err := p.each(main, func(t xml.Token) error {
		if s, ok := t.(xml.StartElement); ok && s.Name.Local == "sldId" {
			order = append(order, rels.byID[relationID(s)])
		}
		return nil
	})
	for _, part := range order {
		if err != nil {
			break
		}
		f := flow{out: out}
		err = p.each(part, f.token)
		out.end()
	}
	return err
}

// relationID gives the r:id of an element, which may have an id of its own.
func relationID(s xml.StartElement) string {
	for _, a := range s.Attr {
		if a.Name.Local == "id" && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}
