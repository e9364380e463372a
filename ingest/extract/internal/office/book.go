package office

import (
	"context"
	"fmt"
	"io"

	"arborist/ingest/extract/internal/office/cfb"
)

// Records of a workbook ([MS-XLS], section Record Enumeration).
const (
	recordFormula  = 0x0006
	recordEOF      = 0x000a
	recordPassword = 0x002f // FilePass
	recordContinue = 0x003c
	recordCodePage = 0x0042
	recordSheet    = 0x0085 // BoundSheet8
	recordMulRk    = 0x00bd
	recordRString  = 0x00d6
	recordTexts    = 0x00fc // SST
	recordTextCell = 0x00fd // LabelSst
	recordNumber   = 0x0203
	recordLabel    = 0x0204
	recordBoolErr  = 0x0205
	recordString   = 0x0207 // the value of the formula before it
	recordRk       = 0x027e
	recordBOF      = 0x0809

	biff5 = 0x0500 // and 7: Excel 5 and 95
	biff8 = 0x0600

	sheetWork = 0 // the kind of a sheet with cells

	maxSheets = 10_000
)

// A book is an open workbook.
type book struct {
	ctx    context.Context
	stream record
	wide   bool // BIFF8: texts say how they are stored; else they are in a code page
	code   int
	sheets []worksheet
	texts  []string // that cells name by their number
	read   int64    // bytes of the sheets that were read
	out    *markdown
}

type worksheet struct {
	name  string
	start int64 // of its records in the stream
}

// readBook writes the sheets of a workbook of Excel 5 to 2003 as tables.
func readBook(ctx context.Context, f *cfb.File, out *markdown) error {
	name := streamBook
	if !f.Has(name) {
		name = streamOldBook
	}
	stream, err := f.Stream(name)
	if err != nil {
		return err
	}
	b := &book{ctx: ctx, stream: stream, code: codePageANSI, out: out}
	if err := b.globals(); err != nil {
		return err
	}
	for _, s := range b.sheets {
		if err := out.sheet(s.name, func() error { return b.sheet(s) }); err != nil {
			return err
		}
	}
	return nil
}

// A records reads one record after another.
type records struct {
	ctx   context.Context
	rest  record
	count int
}

// from begins at a place of the stream, at the record that begins a part.
func (b *book) from(start int64) (*records, record, error) {
	rest, ok := b.stream.part(start, int64(len(b.stream))-start)
	if !ok {
		return nil, nil, fmt.Errorf("%w: xls: a sheet begins at %d of %d bytes", ErrFormat, start, len(b.stream))
	}
	r := &records{ctx: b.ctx, rest: rest}
	kind, begin, err := r.next()
	if err != nil || kind != recordBOF {
		return nil, nil, fmt.Errorf("%w: xls: it has a part of the kind %#x: %w", ErrFormat, kind, errOr(err, io.ErrUnexpectedEOF))
	}
	return r, begin, nil
}

func errOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// next gives the kind and the bytes of a record, and io.EOF after the last.
func (r *records) next() (kind int, data record, err error) {
	if r.count++; r.count%1024 == 0 && r.ctx.Err() != nil {
		return 0, nil, context.Cause(r.ctx)
	}
	if len(r.rest) < 4 {
		return 0, nil, io.EOF
	}
	kind, size := r.rest.u16(0), r.rest.u16(2)
	data, ok := r.rest.part(4, int64(size))
	if !ok {
		return 0, nil, fmt.Errorf("%w: xls: a record of %d bytes is cut short", ErrFormat, size)
	}
	r.rest = r.rest[4+size:]
	return kind, data, nil
}

// continued gives the bytes of a record's continuations.
func (r *records) continued(first record) []record {
	all := []record{first}
	for r.rest.u16(0) == recordContinue {
		_, more, err := r.next()
		if err != nil {
			break
		}
		all = append(all, more)
	}
	return all
}

// globals reads what holds for all sheets (section Globals Substream).
func (b *book) globals() error {
	r, begin, err := b.from(0)
	if err != nil {
		return err
	}
	switch version := begin.u16(0); version {
	case biff8:
		b.wide = true
	case biff5:
	default:
		return fmt.Errorf("%w: xls: a workbook of version %#x", ErrFormat, version)
	}
	for {
		kind, data, err := r.next()
		switch {
		case err == io.EOF:
			return fmt.Errorf("%w: xls: what holds for all sheets is cut short", ErrFormat)
		case err != nil:
			return err
		case kind == recordEOF:
			return nil
		}
		switch kind {
		case recordPassword:
			return ErrEncrypted
		case recordCodePage:
			b.code = data.u16(0)
		case recordSheet:
			if data.u8(5) != sheetWork {
				continue // a chart or a program
			}
			if len(b.sheets) == maxSheets {
				return fmt.Errorf("%w: over %d sheets", ErrTooLarge, maxSheets)
			}
			b.sheets = append(b.sheets, worksheet{b.sheetName(data, 6), int64(data.u32(0))})
		case recordTexts:
			if b.texts, err = readTexts(r.continued(data)); err != nil {
				return err
			}
		}
	}
}
