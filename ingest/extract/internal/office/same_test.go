package office

import (
	"testing"

	"arborist/internal/arbtest/ole"
	"arborist/internal/arbtest/ooxml"
)

// A file saved anew in another format is the same document, by root.
func TestTheSameContentGivesTheSameText(t *testing.T) {
	item := `<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>first</w:t></w:r></w:p>`
	cell := func(text string) string { return "<w:tc>" + para(text) + "</w:tc>" }
	heading := `<w:p><w:pPr><w:pStyle w:val="h"/></w:pPr><w:r><w:t>Granite</w:t></w:r></w:p>`
	for name, files := range map[string][][]byte{
		"text": {
			ooxml.Docx(heading+para("One, “two”.")+item+"<w:tbl><w:tr>"+cell("a")+cell("b")+"</w:tr><w:tr>"+cell("")+cell("2")+"</w:tr></w:tbl>"+para("End."), map[string]string{
				"word/_rels/document.xml.rels": ooxml.Relations("1", "styles", "styles.xml", "2", "footnotes", "notes.xml"),
				"word/styles.xml":              `<w:styles><w:style w:styleId="h"><w:name w:val="heading 2"/></w:style></w:styles>`,
				"word/notes.xml":               "<w:footnotes><w:footnote>" + para("A note.") + "</w:footnote></w:footnotes>",
			}),
			ole.Doc{Styles: []int{0, 2}, Stories: [8]int{1: len("A note.\r")}, Paragraphs: []ole.Paragraph{
				{Text: "Granite\r", Style: 1}, {Text: "One, “two”.\r"}, {Text: "first\r", Options: ole.Item},
				{Text: "a\a", Options: ole.InTable}, {Text: "b\a", Options: ole.InTable}, {Text: "\a", Options: ole.RowEnd},
				{Text: "\a", Options: ole.InTable}, {Text: "2\a", Options: ole.InTable}, {Text: "\a", Options: ole.RowEnd},
				{Text: "End.\r"}, {Text: "A note.\r"},
			}}.File(),
			[]byte(`{\rtf1\ansi{\stylesheet{\s3 heading 2;}}\pard\s3 Granite\par\pard One, \ldblquote two\'94.{\footnote A note.}\par\ls1 first\par` +
				`\trowd\pard\intbl a\cell b\cell\row\cell 2\cell\row\pard End.\par}`),
		},
		"workbook": {
			ooxml.File("xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="S" r:id="a"/></sheets></workbook>`, map[string]string{
				"xl/_rels/workbook.xml.rels": ooxml.Relations("a", "worksheet", "s.xml"),
				"xl/s.xml":                   `<worksheet><sheetData><row><c r="A1" t="str"><v>a|b</v></c><c r="C1"><v>0.1</v></c></row><row><c r="A2" t="b"><v>1</v></c><c r="B2"><v>1E-05</v></c></row></sheetData></worksheet>`,
			}),
			ole.Book(0x600, nil, ole.Sheet{Name: "S", Records: ole.Join(
				ole.Record(0x204, ole.Cell(0, 0), ole.Narrow("a|b")), ole.Record(0x203, ole.Cell(0, 2), float64Bytes(0.1)),
				ole.Record(0x205, ole.Cell(1, 0), []byte{1, 0}), ole.Record(0x203, ole.Cell(1, 1), float64Bytes(1e-5)),
			)}),
		},
		"slides": {
			ooxml.File("ppt/presentation.xml", `<p:presentation><p:sldIdLst><p:sldId id="256" r:id="a"/></p:sldIdLst></p:presentation>`, map[string]string{
				"ppt/_rels/presentation.xml.rels": ooxml.Relations("a", "slide", "s.xml"),
				"ppt/s.xml": `<p:sld><p:sp><p:nvPr><p:ph type="ctrTitle"/></p:nvPr><p:txBody><a:p><a:r><a:t>Title</a:t></a:r></a:p></p:txBody></p:sp>` +
					`<p:sp><p:txBody><a:p><a:r><a:t>one</a:t></a:r><a:br/><a:r><a:t>line</a:t></a:r></a:p><a:p><a:r><a:t>two</a:t></a:r></a:p></p:txBody></p:sp></p:sld>`,
			}),
			ole.Show(plainShow, ole.Slide{Shapes: ole.Join(ole.Box(ole.Text(6, "Title")), ole.Box(ole.Text(1, "one\vline\rtwo")))}),
		},
	} {
		first := read(t, files[0])
		for _, file := range files[1:] {
			if d := read(t, file); string(d.Markdown) != string(first.Markdown) || d.Title != first.Title {
				t.Errorf("%s: %s, %q\n got %q\nwant %q", name, d.Kind, d.Title, d.Markdown, first.Markdown)
			}
		}
	}
}
