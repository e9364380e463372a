package office

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
)

// A grid writes the cells of a sheet by rows.
type grid struct {
	book    *book
	records *records
	row     []string
	at      int  // the row that is being read
	formula int  // the column of a formula whose text follows, else -1
	pending bool // a row has begun
}

// sheet writes the cells of a sheet (section Worksheet Substream). Charts that
// lie in it are parts of their own.
func (b *book) sheet(s worksheet) error {
	r, _, err := b.from(s.start)
	if err != nil {
		return err
	}
	g := &grid{book: b, records: r, formula: -1}
	for depth := 1; depth > 0; {
		kind, data, err := r.next()
		if err == io.EOF {
			return fmt.Errorf("%w: xls: sheet %.100q is cut short", ErrFormat, s.name)
		}
		if err != nil {
			return err
		}
		switch {
		case kind == recordBOF:
			depth++
		case kind == recordEOF:
			depth--
		case depth == 1:
			if err := g.cell(kind, data); err != nil {
				return err
			}
		}
	}
	b.read += int64(len(b.stream)) - s.start - int64(len(r.rest))
	if b.read > int64(len(b.stream)) {
		return fmt.Errorf("%w: xls: its sheets lie on top of each other", ErrFormat)
	}
	return g.endRow()
}

// cell takes a record, which may be that of a cell.
func (g *grid) cell(kind int, r record) error {
	formula := g.formula
	g.formula = -1
	switch kind {
	case recordTextCell:
		n := r.u32(6)
		if int64(n) >= int64(len(g.book.texts)) {
			return fmt.Errorf("%w: xls: a cell names text %d of %d", ErrFormat, n, len(g.book.texts))
		}
		return g.put(r, 0, g.book.texts[n])
	case recordLabel, recordRString:
		text, err := g.book.text(g.records.continued(r), 6)
		if err != nil {
			return err
		}
		return g.put(r, 0, text)
	case recordNumber:
		return g.put(r, 0, float(r, 6))
	case recordRk:
		return g.put(r, 0, rk(r.u32(6)))
	case recordMulRk:
		for i := range (len(r) - 6) / 6 {
			if err := g.put(r, i, rk(r.u32(6+6*i))); err != nil {
				return err
			}
		}
	case recordBoolErr:
		if r.u8(7) == 0 { // else an error
			return g.put(r, 0, truth(r.u8(6)))
		}
	case recordFormula:
		value, text := formulaValue(r)
		if err := g.put(r, 0, value); err != nil {
			return err
		}
		if text {
			g.formula = r.u16(2)
		}
	case recordString:
		text, err := g.book.text(g.records.continued(r), 0)
		if err != nil || formula < 0 {
			return err
		}
		g.row[formula] = text
	default: // such as the formula that cells share, before its text
		g.formula = formula
	}
	return nil
}

// put sets the value of the cell that is that many columns right of a record's.
func (g *grid) put(r record, more int, value string) error {
	row, column := r.u16(0), r.u16(2)+more
	if g.pending && row != g.at {
		if err := g.endRow(); err != nil {
			return err
		}
	}
	g.at, g.pending = row, true
	if column >= maxColumn {
		return fmt.Errorf("%w: xls: a cell in column %d", ErrFormat, column)
	}
	for len(g.row) <= column {
		g.row = append(g.row, "")
	}
	g.row[column] = value
	return nil
}

func (g *grid) endRow() error {
	row := g.row
	g.row, g.pending = g.row[:0], false
	return g.book.out.row(row)
}

// rk reads a number that is stored in 30 bits (section RkNumber).
func rk(v uint32) string {
	var x float64
	if v&2 != 0 {
		x = float64(int32(v) >> 2)
	} else {
		x = math.Float64frombits(uint64(v&^3) << 32)
	}
	if v&1 != 0 {
		x /= 100
	}
	return number(x)
}

func float(r record, at int) string {
	b, ok := r.part(int64(at), 8)
	if !ok {
		return ""
	}
	return number(math.Float64frombits(binary.LittleEndian.Uint64(b)))
}

// number writes a number as workbooks of today store it.
func number(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return ""
	case a != 0 && (a < 1e-4 || a >= 1e21):
		return strconv.FormatFloat(x, 'E', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

func truth(v int) string {
	if v != 0 {
		return "TRUE"
	}
	return "FALSE"
}

// formulaValue reads what a formula gave (section FormulaValue). text: it is a
// text, in a record that follows.
func formulaValue(r record) (value string, text bool) {
	if r.u16(12) != 0xffff {
		return float(r, 6), false
	}
	switch r.u8(6) {
	case 0:
		return "", true
	case 1:
		return truth(r.u8(8)), false
	}
	return "", false // an error, or nothing
}
