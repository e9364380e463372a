package ole

// Record makes a record of a workbook.
func Record(kind int, parts ...[]byte) []byte {
	data := Join(parts...)
	return Join(U16(kind, len(data)), data)
}

// Cell is where a cell is: its row, its column, its format.
func Cell(row, column int) []byte { return U16(row, column, 0) }

// Narrow makes a text of Latin-1 as BIFF8 stores it.
func Narrow(text string) []byte { return Join(U16(len(text)), []byte{0}, []byte(text)) }

// Wide makes a text of UTF-16 as BIFF8 stores it.
func Wide(text string) []byte { return Join(U16(len(UTF16(text))/2), []byte{1}, UTF16(text)) }

// A Sheet is a sheet of a [Book].
type Sheet struct {
	Name    string
	Records []byte // of its cells
}

// Book makes a workbook. globals are records that come before those of its
// sheets; version is 0x600 for Excel 97, 0x500 for Excel 5.
func Book(version int, globals []byte, sheets ...Sheet) []byte {
	name := func(s Sheet) []byte {
		if version >= 0x600 {
			return Join([]byte{byte(len(s.Name)), 0}, []byte(s.Name))
		}
		return Join([]byte{byte(len(s.Name))}, []byte(s.Name))
	}
	begin := func(kind int) []byte { return Record(0x809, U16(version, kind, 0, 0)) }
	end := Record(0x0a)
	head := Join(begin(5), globals)
	at := len(head) + len(end)
	for _, s := range sheets {
		at += 4 + 6 + len(name(s))
	}
	var bodies []byte
	for _, s := range sheets {
		head = append(head, Record(0x85, U32(at+len(bodies)), U16(0), name(s))...)
		bodies = append(bodies, Join(begin(0x10), s.Records, end)...)
	}
	stream := "Workbook"
	if version < 0x600 {
		stream = "Book"
	}
	return File(map[string][]byte{stream: Join(head, end, bodies)})
}
