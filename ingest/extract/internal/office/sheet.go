package office

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// maxColumn bounds how far apart the cells of a row are kept.
const maxColumn = 256

// workbook writes the sheets of a workbook as tables.
func (p *container) workbook(main string, rels relations, out *markdown) error {
	shared, err := p.sharedStrings(rels.first("sharedStrings"))
	if err != nil {
		return err
	}
	type sheet struct{ name, part string }
	var sheets []sheet
	err = p.each(main, func(t xml.Token) error {
		if s, ok := t.(xml.StartElement); ok && s.Name.Local == "sheet" {
			sheets = append(sheets, sheet{attribute(s, "name"), rels.byID[relationID(s)]})
		}
		return nil
	})
	for _, s := range sheets {
		if err != nil {
			break
		}
		r := rows{out: out, shared: shared}
		err = out.sheet(s.name, func() error { return p.each(s.part, r.token) })
	}
	return err
}

// sharedStrings reads the texts that cells name by their number.
func (p *container) sharedStrings(part string) (texts []string, err error) {
	if p.parts[part] == nil {
		return nil, nil
	}
	var text characters
	err = p.each(part, func(t xml.Token) error {
		text.token(t)
		if end, ok := t.(xml.EndElement); ok && end.Name.Local == "si" {
			texts = append(texts, oneLine(clean(text.take()))) // as rows write it, once for all cells that name it
		}
		return nil
	})
	return texts, err
}

// characters collects the value of a cell, without how it is pronounced.
type characters struct {
	b        strings.Builder
	inside   bool // an element that holds it
	phonetic bool
}

func (c *characters) token(t xml.Token) {
	switch t := t.(type) {
	case xml.StartElement:
		c.inside = t.Name.Local == "v" || t.Name.Local == "t"
		c.phonetic = c.phonetic || t.Name.Local == "rPh"
	case xml.EndElement:
		c.inside = false
		c.phonetic = c.phonetic && t.Name.Local != "rPh"
	case xml.CharData:
		if c.inside && !c.phonetic {
			c.b.Write(t)
		}
	}
}

// take gives what has come, and begins anew.
func (c *characters) take() string {
	defer c.b.Reset()
	return c.b.String()
}

// rows writes the rows of a sheet.
type rows struct {
	out    *markdown
	shared []string

	row  []string
	kind string // of the cell
	at   int    // its column, from 0
	cell characters
}

func (r *rows) token(t xml.Token) error {
	r.cell.token(t)
	switch t := t.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "c":
			r.kind, r.at = attribute(t, "t"), column(attribute(t, "r"))
		}
	case xml.EndElement:
		switch t.Name.Local {
		case "c":
			return r.endCell()
		case "row":
			row := r.row
			r.row = r.row[:0]
			return r.out.row(row)
		}
	}
	return nil
}

func (r *rows) endCell() error {
	value := r.cell.take()
	switch r.kind {
	case "s":
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil || n < 0 || n >= len(r.shared) {
			return fmt.Errorf("%w: a cell names the text %.20q of %d", ErrFormat, value, len(r.shared))
		}
		value = r.shared[n]
	case "b":
		value = map[string]string{"0": "FALSE", "1": "TRUE"}[value]
	case "e":
		value = "" // an error
	}
	for len(r.row) < min(r.at, maxColumn) {
		r.row = append(r.row, "")
	}
	r.row = append(r.row, value)
	return nil
}

// column reads the column of a cell's name, "C7" being 2, and is 0 where it has
// none.
func column(name string) int {
	n := 0
	for _, c := range name {
		if c < 'A' || c > 'Z' || n > maxColumn {
			break
		}
		n = n*26 + int(c-'A') + 1
	}
	return max(n-1, 0)
}
