package office

import (
	"strings"
	"testing"

	"arborist/internal/arbtest/ole"
)

// modifiers are some of each length that a reader must step over.
var modifiers = ole.Join(
	ole.U16(0x2403), []byte{1}, ole.U16(0x840f, 720), ole.U16(0x6424), ole.U32(1), ole.U16(0xf000), []byte{1, 2, 3},
	ole.U16(0xc60d), []byte{2, 0, 0}, ole.U16(0xd608, 3), []byte{1, 2},
	ole.U16(0xc615), []byte{255, 1, 9, 9, 9, 9, 2, 9, 9, 9, 9, 9, 9},
)

// wordDoc has of everything a little: what is shown of it is wordText.
var wordDoc = ole.Doc{
	Title:  "Stones",
	Styles: []int{0, 62, 2},
	Paragraphs: []ole.Paragraph{
		{Text: "Granite\r", Style: 1},
		{Text: "Über den Abbau\r", Style: 2},
		{Text: "One\ttwo\x0bthree café \u0093quoted\u0094\r"},
		{Text: "\x13 HYPERLINK \"http://h/\" \x14see \x13 PAGE \x14seven\x15 there\x15, 2\x1e3\x01\x02 𝔘\r"},
		{Text: "gone\r"}, {Text: "kept\r"},
		{Text: "first\r", Options: ole.Join(modifiers, ole.Item)}, {Text: "second\r", Options: ole.Item},
		{Text: "Name\a", Options: ole.InTable}, {Text: "a|b\a", Options: ole.InTable}, {Text: "\a", Options: ole.RowEnd},
		{Text: "\a", Options: ole.InTable}, {Text: "two\r", Options: ole.InTable}, {Text: "lines\a", Options: ole.InTable}, {Text: "\a", Options: ole.RowEnd},
		{Text: "After the table\r"},
		{Text: "\x02 A note.\r"}, {Text: "On every page\r"}, {Text: "An endnote.\r"}, {Text: "In a box\r"},
	},
	Deleted: "gone\r",
	Stories: [8]int{1: len("\x02 A note.\r"), 2: len("On every page\r"), 5: len("An endnote.\r"), 6: len("In a box\r")},
}

const wordText = "# Granite\n\n## Über den Abbau\n\nOne two\nthree café “quoted”\n\nsee seven there, 2-3 𝔘\n\nkept\n\n- first\n- second\n\n" +
	"| Name | a\\|b |\n|---|---|\n|  | two lines |\n\nAfter the table\n\nIn a box\n\nA note.\n\nAn endnote."

func TestOldTextDocumentsKeepWhatTheyShow(t *testing.T) {
	d := read(t, wordDoc.File())
	if d.Kind != "doc" || d.Title != "Stones" || string(d.Markdown) != wordText {
		t.Errorf("%s, %q\n got %q\nwant %q", d.Kind, d.Title, d.Markdown, wordText)
	}
}

func TestTheTitleIsInTheSummarysCodePage(t *testing.T) {
	for _, c := range []struct {
		codePage int
		title    string
	}{{1251, "\xca\xe0\xec\xed\xe8\x00"}, {65001, "Камни\x00"}, {1200, string(ole.UTF16("Камни\x00"))}} {
		file := ole.File(map[string][]byte{"Workbook": bookStream, "\x05SummaryInformation": ole.Summary(c.codePage, []byte(c.title))})
		if d := read(t, file); d.Title != "Камни" {
			t.Errorf("%d: %q", c.codePage, d.Title)
		}
	}
}

// oldWord makes a document of Word 95.
func oldWord(flags, size int, text string) []byte {
	main := make([]byte, 768)
	copy(main, ole.Join(ole.U16(0xa5dc, 104), make([]byte, 6), ole.U16(flags), make([]byte, 12), ole.U32(768)))
	copy(main[52:], ole.U32(size))
	return ole.File(map[string][]byte{"WordDocument": append(main, text...), "\x05SummaryInformation": ole.Summary(1251, nil)})
}

func TestTextOfWord95IsInItsCodePage(t *testing.T) {
	text := "\xca\xe0\xec\xed\xe8\rName\aPrice\a\a\x13 PAGE \x141\x15\r"
	if d := read(t, oldWord(0, len(text), text)); string(d.Markdown) != "Камни\n\nName\n\nPrice\n\n1" {
		t.Errorf("%q", d.Markdown)
	}
}

func TestHostileTextDocumentsAreRefused(t *testing.T) {
	piece := func(offset int) []byte { return ole.Join(ole.U16(0), ole.U32(offset), ole.U16(0)) }
	with := func(change func(*ole.Doc)) []byte {
		d := wordDoc
		change(&d)
		return d.File()
	}
	var overlap, places []byte
	for i := range 100 {
		places = append(places, ole.U32(400*i)...)
		overlap = append(overlap, piece(1024)...)
	}
	places = append(places, ole.U32(40_000)...)
	const textAt = 1024 * 2
	refuse(t, map[string]hostile{
		"encrypted":                   {with(func(d *ole.Doc) { d.Flags = 0x100 }), ErrEncrypted},
		"the other table":             {with(func(d *ole.Doc) { d.Flags = 0x200 }), ErrFormat},
		"no table of pieces":          {with(func(d *ole.Doc) { d.Tables = map[int]int{33: 0} }), ErrFormat},
		"a table of 4 GiB":            {with(func(d *ole.Doc) { d.Tables = map[int]int{33: 1<<32 - 1} }), ErrFormat},
		"formats of 4 GiB":            {with(func(d *ole.Doc) { d.Tables = map[int]int{13: 1<<32 - 1} }), ErrFormat},
		"pieces on top of each other": {with(func(d *ole.Doc) { d.Pieces = ole.Join(places, overlap) }), ErrFormat},
		"pieces that run backwards":   {with(func(d *ole.Doc) { d.Pieces = ole.Join(ole.U32(0, 10, 5), piece(textAt), piece(textAt)) }), ErrFormat},
		"a piece outside":             {with(func(d *ole.Doc) { d.Pieces = ole.Join(ole.U32(0, 10), piece(1<<29)) }), ErrFormat},
		"a piece of 2^32 characters":  {with(func(d *ole.Doc) { d.Pieces = ole.Join(ole.U32(0, 1<<32-1), piece(textAt)) }), ErrFormat},
		"pieces that begin late":      {with(func(d *ole.Doc) { d.Pieces = ole.Join(ole.U32(5, 400), piece(textAt|1<<30)) }), ErrFormat},
		"pieces for too little":       {with(func(d *ole.Doc) { d.Pieces = ole.Join(ole.U32(0, 10), piece(textAt)) }), ErrFormat},
		"no pieces":                   {with(func(d *ole.Doc) { d.Pieces = []byte{} }), ErrFormat},
		"2^32 characters":             {with(func(d *ole.Doc) { d.Stories[3] = 1<<32 - 1 }), ErrFormat},
		"fields in each other": {with(func(d *ole.Doc) {
			d.Paragraphs = []ole.Paragraph{{Text: strings.Repeat("\x13", maxFields+1) + "\r"}}
			d.Stories = [8]int{}
		}), ErrFormat},
		"too much text": {with(func(d *ole.Doc) {
			d.Paragraphs = []ole.Paragraph{{Text: strings.Repeat("text ", maxText/5+1) + "\r"}}
			d.Stories = [8]int{}
		}), ErrTooLarge},
		"a row without an end": {with(func(d *ole.Doc) {
			d.Paragraphs = []ole.Paragraph{{Text: strings.Repeat("\a", maxCells+1), Options: ole.InTable}}
			d.Stories = [8]int{}
		}), ErrTooLarge},
		"Word 95 in pieces":         {oldWord(4, 3, "abc"), ErrFormat},
		"Word 95 with a password":   {oldWord(0x100, 3, "abc"), ErrEncrypted},
		"Word 95, cut short":        {oldWord(0, 4, "abc"), ErrFormat},
		"a stream of another thing": {ole.File(map[string][]byte{"WordDocument": []byte("text")}), ErrFormat},
		"no tables":                 {ole.File(map[string][]byte{"WordDocument": ole.U16(0xa5ec, 0xc1)}), ErrFormat},
	})
}
