package office

import (
	"math"
	"strings"
	"testing"

	"arborist/internal/arbtest/ole"
)

func float64Bytes(x float64) []byte {
	v := math.Float64bits(x)
	return ole.U32(int(uint32(v)), int(v>>32))
}

// bookTexts is a table of texts whose second one is spread over three records:
// in Latin-1, in UTF-16, in Latin-1; it has formats and sounds after it.
var bookTexts = ole.Join(
	ole.Record(0xfc, ole.U32(9, 3), ole.Narrow("granite"), ole.U16(11), []byte{8 | 4}, ole.U16(1), ole.U32(3), []byte("mar")),
	ole.Record(0x3c, []byte{1}, ole.UTF16("Ж|bl")),
	ole.Record(0x3c, []byte{0}, []byte("e ok"), []byte("runs"), []byte("so")),
	ole.Record(0x3c, []byte("u"), ole.Wide("キ𝔘")),
)

var bookSheets = []ole.Sheet{
	{Name: "Stones", Records: ole.Join(
		ole.Record(0x0fd, ole.Cell(0, 0), ole.U32(0)), ole.Record(0x0fd, ole.Cell(0, 2), ole.U32(1)), ole.Record(0x0fd, ole.Cell(0, 3), ole.U32(2)),
		ole.Record(0x203, ole.Cell(1, 0), float64Bytes(0.1)),
		ole.Record(0x27e, ole.Cell(1, 1), ole.U32(12345<<2|3)),
		ole.Record(0x205, ole.Cell(1, 2), []byte{1, 0}), ole.Record(0x205, ole.Cell(1, 3), []byte{7, 1}),
		ole.Record(0x0bd, ole.U16(2, 1), ole.U16(0), ole.U32(-7<<2|2), ole.U16(0), ole.U32(0x3ff00000), ole.U16(2)),
		ole.Record(0x006, ole.Cell(3, 0), float64Bytes(2.5), make([]byte, 6)),
		ole.Record(0x006, ole.Cell(3, 1), []byte{0, 0, 0, 0, 0, 0, 0xff, 0xff}, make([]byte, 6)), ole.Record(0x4bc, []byte("shared")), ole.Record(0x207, ole.Wide("a formula’s")),
		ole.Record(0x006, ole.Cell(3, 2), []byte{1, 0, 0, 0, 0, 0, 0xff, 0xff}, make([]byte, 6)),
		ole.Record(0x006, ole.Cell(3, 3), []byte{2, 0, 7, 0, 0, 0, 0xff, 0xff}, make([]byte, 6)),
		ole.Record(0x809, ole.U16(0x600, 0x20)), ole.Record(0x204, ole.Cell(0, 0), ole.Narrow("of a chart")), ole.Record(0x0a),
		ole.Record(0x204, ole.Cell(4, 1), ole.Narrow("label")),
		ole.Record(0x203, ole.Cell(4, 2), float64Bytes(1e300)), ole.Record(0x203, ole.Cell(4, 3), float64Bytes(math.Inf(1))),
	)},
	{Name: "Nothing"},
}

const bookText = "## Stones\n\n| granite |  | marЖ\\|ble ok | キ𝔘 |\n|---|---|---|---|\n| 0.1 | 123.45 | TRUE |\n|  | -7 | 1 |\n" +
	"| 2.5 | a formula’s | FALSE |\n|  | label | 1E+300 |"

var bookStream = func() []byte {
	sheet := ole.Join(ole.Record(0x809, ole.U16(0x600, 0x10)), ole.Record(0x204, ole.Cell(0, 0), ole.Narrow("text")), ole.Record(0x0a))
	head := ole.Record(0x809, ole.U16(0x600, 5))
	name := ole.Record(0x85, ole.U32(len(head)+12+4), ole.U16(0), []byte{0, 0})
	return ole.Join(head, name, ole.Record(0x0a), sheet)
}()

func TestOldWorkbooksAreTables(t *testing.T) {
	d := read(t, ole.Book(0x600, bookTexts, bookSheets...))
	if d.Kind != "xls" || d.Title != "" || string(d.Markdown) != bookText {
		t.Errorf("%s, %q\n got %q\nwant %q", d.Kind, d.Title, d.Markdown, bookText)
	}
}

func TestTextsOfExcel95AreInItsCodePage(t *testing.T) {
	d := read(t, ole.Book(0x500, ole.Record(0x42, ole.U16(1251)), ole.Sheet{Name: "\xca", Records: ole.Join(
		ole.Record(0x204, ole.Cell(0, 0), ole.U16(5), []byte("\xca\xe0\xec\xed\xe8")), ole.Record(0x0d6, ole.Cell(0, 1), ole.U16(2), []byte("ab"), []byte{0}),
	)}))
	if want := "## К\n\n| Камни | ab |\n|---|---|"; string(d.Markdown) != want {
		t.Errorf("got %q, want %q", d.Markdown, want)
	}
}

func TestHostileWorkbooksAreRefused(t *testing.T) {
	texts := func(said int, records ...[]byte) []byte {
		return ole.Book(0x600, ole.Record(0xfc, append([][]byte{ole.U32(said, said)}, records...)...))
	}
	cells := func(records ...[]byte) []byte {
		return ole.Book(0x600, bookTexts, ole.Sheet{Name: "S", Records: ole.Join(records...)})
	}
	stream := func(parts ...[]byte) []byte { return ole.File(map[string][]byte{"Workbook": ole.Join(parts...)}) }
	begin := ole.Record(0x809, ole.U16(0x600, 5))
	sheetAt := func(at int) []byte { return ole.Record(0x85, ole.U32(at), ole.U16(0), []byte{0, 0}) }
	row := func(n int) []byte {
		return ole.Join(ole.Record(0x0fd, ole.Cell(n, 0), ole.U32(3)), ole.Record(0x0fd, ole.Cell(n, 1), ole.U32(3)))
	}
	long := ole.Join(bookTexts, nil)
	copy(long[8:], ole.U32(4))
	for range 200 {
		long = append(long, ole.Record(0x3c)...)
	}
	long = append(long, ole.Record(0x3c, ole.Narrow(strings.Repeat("x", 8000)))...)
	rows := make([]byte, 0, 1<<20)
	for n := range 2000 {
		rows = append(rows, row(n)...)
	}
	var nested []byte
	for n := range 400 {
		nested = append(nested, sheetAt(len(begin)+400*12+4+n*8)...)
	}
	refuse(t, map[string]hostile{
		"a password":                   {ole.Book(0x600, ole.Record(0x2f, make([]byte, 54))), ErrEncrypted},
		"2^32 texts":                   {texts(1<<32-1, ole.Narrow("a")), ErrFormat},
		"a text of 65535 in 1":         {texts(1, ole.U16(65535), []byte{0}, []byte("a")), ErrFormat},
		"formats of 2^32":              {texts(1, ole.U16(1), []byte{4}, ole.U32(1<<32-1), []byte("a")), ErrFormat},
		"a text without a head":        {texts(1, []byte{1}), ErrFormat},
		"a table without a head":       {ole.Book(0x600, ole.Record(0xfc, []byte("1234"))), ErrFormat},
		"too many texts":               {stream(begin, manyTexts(maxTexts+1), ole.Record(0x0a)), ErrTooLarge},
		"a cell of a text that is not": {cells(ole.Record(0xfd, ole.Cell(0, 0), ole.U32(3))), ErrFormat},
		"a label cut short":            {cells(ole.Record(0x204, ole.Cell(0, 0), ole.U16(9), []byte{0}, []byte("a"))), ErrFormat},
		"a cell far to the right":      {cells(ole.Record(0x203, ole.Cell(0, 256), float64Bytes(1))), ErrFormat},
		"a record cut short":           {stream(begin, ole.U16(0x85, 400), []byte("abc")), ErrFormat},
		"a sheet that is not there":    {stream(begin, sheetAt(1<<32-1), ole.Record(0x0a)), ErrFormat},
		"a sheet without an end":       {stream(bookStream[:len(bookStream)-4]), ErrFormat},
		"a book without an end":        {stream(begin), ErrFormat},
		"a sheet that is none":         {stream(begin, sheetAt(len(begin)), ole.Record(0x0a)), ErrFormat},
		"sheets on top of each other":  {stream(begin, nested, ole.Record(0x0a), strings2(400, ole.Record(0x809, ole.U16(0x600, 0x10)))), ErrFormat},
		"Excel 4":                      {stream(ole.Record(0x409, ole.U16(0, 0x10))), ErrFormat},
		"a version of its own":         {stream(ole.Record(0x809, ole.U16(0x700, 5))), ErrFormat},
		"nothing":                      {stream(), ErrFormat},
		"one long text in many cells":  {ole.Book(0x600, long, ole.Sheet{Name: "S", Records: rows}), ErrTooLarge},
	})
}

// manyTexts makes a table of n empty texts.
func manyTexts(n int) []byte {
	table := ole.Record(0xfc, ole.U32(n, n))
	for n > 0 {
		part := min(n, 2740)
		table = append(table, ole.Record(0x3c, make([]byte, 3*part))...)
		n -= part
	}
	return table
}

func strings2(n int, b []byte) []byte { return []byte(strings.Repeat(string(b), n)) }
