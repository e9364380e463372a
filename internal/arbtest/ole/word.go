package ole

// A Paragraph is one of a [Doc], with the mark at its end: "\r", or "\a" for a
// cell or row.
type Paragraph struct {
	Text    string
	Style   int    // the number of its style
	Options []byte // modifiers of its format
}

// Modifiers of a format.
var (
	InTable = Join(U16(0x2416), []byte{1})
	RowEnd  = Join(InTable, U16(0x2417), []byte{1})
	Item    = U16(0x460b, 1)
)

// A Doc is a text document of Word 97. All its paragraphs are in as many pieces
// as there are of them, in turn of one and two bytes a character.
type Doc struct {
	Paragraphs []Paragraph
	Stories    [8]int      // characters of each part; of the first, what the others leave
	Deleted    string      // what is marked as deleted
	Styles     []int       // the program's numbers for the styles
	Flags      int         // what differs from the usual ones
	Tables     map[int]int // lengths of tables that are not as they should be
	Pieces     []byte      // instead of those that are
	Title      string      // in Latin-1
}

// File makes the document's file.
func (d Doc) File() []byte {
	const textAt = 1024
	var text, cps, pcds, starts, papx, chpx []byte
	characters := 0
	var formats [][]byte
	deletedAt := -1
	for i, p := range d.Paragraphs {
		at := textAt + len(text)
		starts = append(starts, U32(at)...)
		cps = append(cps, U32(characters)...)
		code := UTF16(p.Text)
		n := len(code) / 2
		fc := at
		if i%2 == 0 { // one byte a character
			var narrow []byte
			for _, r := range p.Text {
				narrow = append(narrow, byte(r))
			}
			code, fc = narrow, at*2|1<<30
		}
		if d.Deleted != "" && p.Text == d.Deleted {
			deletedAt = at
		}
		pcds = append(pcds, Join(U16(0), U32(fc), U16(0))...)
		text = append(text, code...)
		characters += n
		formats = append(formats, Join(U16(p.Style), p.Options))
	}
	end := textAt + len(text)
	starts, cps = append(starts, U32(end)...), append(cps, U32(characters)...)

	main := pad(Join(make([]byte, textAt), text), sector)
	papx = formatPage(starts, formats, 13)
	paraPage := len(main) / sector
	main = append(main, papx...)
	runs, deletion := U32(textAt, end), [][]byte{nil}
	if deletedAt >= 0 {
		runs = U32(textAt, deletedAt, deletedAt+len(d.Deleted), end)
		deletion = [][]byte{nil, Join(U16(0x0800), []byte{1}), nil}
	}
	chpx = formatPage(runs, deletion, 1)
	runPage := len(main) / sector
	main = append(main, chpx...)

	styles := U16(2, len(d.Styles))
	for _, s := range d.Styles {
		styles = append(styles, Join(U16(10, s), make([]byte, 8))...)
	}
	pieces := d.Pieces
	if pieces == nil {
		pieces = Join(cps, pcds)
	}
	tables := map[int][]byte{
		1: styles, 12: U32(textAt, end, runPage), 13: U32(textAt, end, paraPage),
		33: Join([]byte{1}, U16(3), []byte("abc"), []byte{2}, U32(len(pieces)), pieces),
	}
	table := make([]byte, 16)
	for n, t := range tables {
		size := len(t)
		if wrong, ok := d.Tables[n]; ok {
			size = wrong
		}
		copy(main[154+8*n:], U32(len(table), size))
		table = append(table, t...)
	}
	stories := d.Stories
	stories[0] = characters
	for _, n := range stories[1:] {
		stories[0] -= n
	}
	copy(main, Join(U16(0xa5ec, 0xc1), make([]byte, 6), U16(0x1200^d.Flags)))
	copy(main[76:], U32(stories[:]...))
	return File(map[string][]byte{"WordDocument": main, "1Table": table, "\x05SummaryInformation": Summary(1252, []byte(d.Title))})
}

// formatPage makes a page of formats. Entries are as large as entry says.
func formatPage(places []byte, formats [][]byte, entry int) []byte {
	page := make([]byte, sector)
	copy(page, places)
	end := sector - 1
	for i, f := range formats {
		if entry == 1 && f == nil {
			continue // a plain run
		}
		b := Join([]byte{byte(len(f))}, f)
		if entry > 1 { // half the length, in two bytes of which the first is 0
			b = pad(Join([]byte{0, byte((len(f) + 1) / 2)}, f), 2)
		}
		end = (end - len(b)) &^ 1
		copy(page[end:], b)
		page[len(places)+entry*i] = byte(end / 2)
	}
	page[sector-1] = byte(len(formats))
	return page
}
