package office

import "sort"

// Single property modifiers that matter here ([MS-DOC], section Sprm): what
// they say of a run or paragraph.
const (
	sprmDeleted    = 0x0800 // sprmCFRMarkDel
	sprmSymbol     = 0x6a09 // sprmCSymbol: the character stands for another one
	sprmList       = 0x460b // sprmPIlfo
	sprmInTable    = 0x2416 // sprmPFInTable
	sprmRowEnd     = 0x2417 // sprmPFTtp
	sprmChangeTabs = 0xc615 // sprmPChgTabs, whose length may be 255 for more
	sprmTable      = 0xd608 // sprmTDefTable, with a length of two bytes
)

// pageSize is the size of a page of formats (section PapxFkp).
const pageSize = 512

// A format is what is known of a run or paragraph.
type format struct {
	style   int
	item    bool
	inTable bool
	rowEnd  bool
	leftOut bool // deleted, or a symbol
}

// formats finds the formats of places in the main stream: a table of pages, each
// of which has the formats of some runs or paragraphs (sections PlcBtePapx,
// PlcBteChpx, PapxFkp, ChpxFkp).
type formats struct {
	main       record
	pages      record
	paragraphs bool

	from, to int64 // the place that the last answer holds for
	last     format
}

// at gives the format of a place, the plain one where it has none.
func (f *formats) at(place int64) format {
	if place >= f.from && place < f.to {
		return f.last
	}
	f.from, f.to, f.last = place, place+1, format{}
	n := (len(f.pages) - 4) / 8
	i := sort.Search(n, func(i int) bool { return int64(f.pages.u32(4*i+4)) > place })
	if i >= n || int64(f.pages.u32(4*i)) > place {
		return f.last
	}
	number := int64(f.pages.u32(4*(n+1)+4*i) & 0x3fffff)
	page, ok := f.main.part(number*pageSize, pageSize)
	if !ok {
		return f.last
	}
	runs := page.u8(pageSize - 1)
	i = sort.Search(runs, func(i int) bool { return int64(page.u32(4*i+4)) > place })
	if i >= runs || int64(page.u32(4*i)) > place {
		return f.last
	}
	f.from, f.to = int64(page.u32(4*i)), int64(page.u32(4*i+4))
	if f.paragraphs {
		f.last = paragraphFormat(page, 2*page.u8(4*(runs+1)+13*i))
	} else {
		f.last = runFormat(page, 2*page.u8(4*(runs+1)+i))
	}
	return f.last
}

// paragraphFormat reads a PapxInFkp.
func paragraphFormat(page record, at int) format {
	if at == 0 {
		return format{}
	}
	size := 2*page.u8(at) - 1
	if size < 0 {
		at++
		size = 2 * page.u8(at)
	}
	modifiers, ok := page.part(int64(at)+3, int64(size)-2)
	if !ok {
		return format{}
	}
	f := format{style: page.u16(at + 1)}
	f.apply(modifiers)
	return f
}

// runFormat reads a Chpx.
func runFormat(page record, at int) format {
	var f format
	if modifiers, ok := page.part(int64(at)+1, int64(page.u8(at))); ok && at != 0 {
		f.apply(modifiers)
	}
	return f
}

// apply reads a list of modifiers, up to one that is cut short.
func (f *format) apply(list record) {
	for len(list) > 2 {
		sprm := list.u16(0)
		size := operandSize(sprm, list[2:])
		operand, ok := list.part(2, int64(size))
		if !ok {
			return
		}
		on := operand.u8(0) != 0
		switch sprm {
		case sprmDeleted:
			f.leftOut = f.leftOut || operand.u8(0) == 1
		case sprmSymbol:
			f.leftOut = true
		case sprmList:
			f.item = operand.u16(0) != 0 && operand.u16(0) != 0xf801 // the second: no longer one
		case sprmInTable:
			f.inTable = on
		case sprmRowEnd:
			f.rowEnd = on
		}
		list = list[2+size:]
	}
}

// operandSize gives how many bytes follow a modifier (section Sprm, spra).
func operandSize(sprm int, operand record) int {
	switch sprm >> 13 {
	case 0, 1:
		return 1
	case 2, 4, 5:
		return 2
	case 3:
		return 4
	case 7:
		return 3
	}
	switch {
	case sprm == sprmTable:
		return operand.u16(0) + 1
	case sprm == sprmChangeTabs && operand.u8(0) == 255:
		deleted := operand.u8(1)
		return 3 + 4*deleted + 3*operand.u8(2+4*deleted)
	}
	return 1 + operand.u8(0)
}

// Styles that are headings in every language, by their number in the program
// (section StdfBase, sti).
const (
	styleHeading1 = 1
	styleHeading9 = 9
	styleTitle    = 62
)

// headingStyles reads which styles are headings from the style sheet (section
// STSH).
func headingStyles(sheet record) map[int]int {
	levels := map[int]int{}
	at := 2 + sheet.u16(0)
	for n := range sheet.u16(2) {
		size := sheet.u16(at)
		if size > 0 {
			switch sti := sheet.u16(at+2) & 0xfff; {
			case sti >= styleHeading1 && sti <= styleHeading9:
				levels[n] = sti
			case sti == styleTitle:
				levels[n] = 1
			}
		}
		at += 2 + size + size%2
	}
	return levels
}
