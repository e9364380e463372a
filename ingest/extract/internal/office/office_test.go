package office

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"arborist/internal/arbtest/ole"
	"arborist/internal/arbtest/ooxml"
)

func read(t *testing.T, file []byte) Document {
	t.Helper()
	d, err := Read(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func para(text string) string { return "<w:p><w:r><w:t>" + text + "</w:t></w:r></w:p>" }

func TestTextDocumentsKeepWhatTheyShow(t *testing.T) {
	styled := func(style, text string) string {
		return `<w:p><w:pPr><w:pStyle w:val="` + style + `"/><w:tabs><w:tab w:pos="9"/></w:tabs></w:pPr><w:r><w:t>` + text + "</w:t></w:r></w:p>"
	}
	cell := func(text string) string { return "<w:tc><w:tcPr/>" + para(text) + "</w:tc>" }
	body := styled("Titel", "Über Granit") + styled("berschrift2", "Abbau") +
		`<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>One </w:t></w:r><w:r><w:tab/><w:t>two</w:t><w:br/><w:t>three&lt;</w:t></w:r></w:p>` +
		`<w:p><w:del><w:r><w:t>gone</w:t><w:delText>gone</w:delText></w:r></w:del><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:r><w:instrText>PAGE</w:instrText><w:t>kept</w:t></w:r></w:p>` +
		`<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>first</w:t></w:r></w:p><w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>second</w:t></w:r></w:p>` +
		"<w:tbl><w:tr>" + cell("Name") + cell("a|b") + "</w:tr><w:tr>" + cell("Inner") + "<w:tc><w:tbl><w:tr>" + cell("x") + cell("y") + "</w:tr></w:tbl></w:tc></w:tr></w:tbl>" +
		`<w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>` + para("box") + `</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>` + para("box") + `</w:txbxContent></mc:Fallback></mc:AlternateContent><w:t>around</w:t></w:r></w:p>`
	d := read(t, ooxml.Docx(body, map[string]string{
		"word/_rels/document.xml.rels": ooxml.Relations("rId1", "styles", "styles.xml", "rId2", "footnotes", "/word/notes.xml", "rId3", "header", "header1.xml"),
		"word/styles.xml":              `<w:styles><w:style w:styleId="Titel"><w:name w:val="Title"/></w:style><w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style></w:styles>`,
		"word/notes.xml":               "<w:footnotes><w:footnote>" + para("A note.") + "</w:footnote></w:footnotes>",
		"word/header1.xml":             "<w:hdr>" + para("On every page") + "</w:hdr>",
	}))
	want := "# Über Granit\n\n## Abbau\n\nOne  two\nthree<\n\nkept\n\n- first\n- second\n\n| Name | a\\|b |\n|---|---|\n| Inner | x y |\n\nbox\n\naround\n\nA note."
	if d.Kind != "docx" || d.Title != "Über Granit" || string(d.Markdown) != want {
		t.Errorf("%s, %q\n got %q\nwant %q", d.Kind, d.Title, d.Markdown, want)
	}
}

func TestWorkbooksAreTables(t *testing.T) {
	d := read(t, ooxml.File("xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="Stones" sheetId="7" r:id="b"/><sheet name="Nothing" r:id="a"/></sheets></workbook>`, map[string]string{
		"xl/_rels/workbook.xml.rels": ooxml.Relations("a", "worksheet", "worksheets/sheet1.xml", "b", "worksheet", "worksheets/sheet2.xml", "c", "sharedStrings", "sharedStrings.xml"),
		"xl/sharedStrings.xml":       `<sst><si><t>gra</t><r><t>nite</t></r><rPh><t>guranaito</t></rPh></si><si><t>mar|ble</t></si></sst>`,
		"xl/worksheets/sheet1.xml":   `<worksheet><sheetData><row><c r="A1"/></row></sheetData></worksheet>`,
		"xl/worksheets/sheet2.xml": `<worksheet><sheetData><row><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row><row/>` +
			`<row><c r="A3"><f>1+1</f><v>2</v></c><c r="B3" t="b"><v>1</v></c><c r="C3" t="e"><v>#REF!</v></c><c r="D3" t="inlineStr"><is><t>in line</t></is></c></row></sheetData></worksheet>`,
		"docProps/core.xml": `<cp:coreProperties><dc:title>All stones</dc:title><dc:creator>Nobody</dc:creator></cp:coreProperties>`,
		"_rels/.rels":       ooxml.Relations("1", "officeDocument", "xl/workbook.xml", "2", "core-properties", "docProps/core.xml"),
	}))
	want := "## Stones\n\n| granite |  | mar\\|ble |\n|---|---|---|\n| 2 | TRUE |  | in line |"
	if d.Kind != "xlsx" || d.Title != "All stones" || string(d.Markdown) != want {
		t.Errorf("%s, %q\n got %q\nwant %q", d.Kind, d.Title, d.Markdown, want)
	}
}

func TestSlidesComeInTheirOrder(t *testing.T) {
	slide := func(title, text string) string {
		return `<p:sld><p:sp><p:nvPr><p:ph type="title"/></p:nvPr><p:txBody><a:p><a:r><a:t>` + title + `</a:t></a:r></a:p></p:txBody></p:sp>` +
			`<p:sp><p:nvPr><p:ph type="body"/></p:nvPr><p:txBody><a:p><a:r><a:t>` + text + `</a:t></a:r></a:p><a:p><a:fld><a:t>7</a:t></a:fld></a:p></p:txBody></p:sp></p:sld>`
	}
	d := read(t, ooxml.File("ppt/presentation.xml", `<p:presentation><p:sldIdLst><p:sldId id="256" r:id="x"/><p:sldId id="257" r:id="w"/></p:sldIdLst></p:presentation>`, map[string]string{
		"ppt/_rels/presentation.xml.rels": ooxml.Relations("w", "slide", "slides/slide1.xml", "x", "slide", "slides/slide2.xml"),
		"ppt/slides/slide1.xml":           slide("Last", "of all"),
		"ppt/slides/slide2.xml":           slide("First", "of all"),
	}))
	if want := "## First\n\nof all\n\n## Last\n\nof all"; d.Kind != "pptx" || d.Title != "First" || string(d.Markdown) != want {
		t.Errorf("%s, %q\n got %q\nwant %q", d.Kind, d.Title, d.Markdown, want)
	}
}

// A text box and a table lie in what has text of its own around them.
func TestTextAroundABoxOrTableIsKept(t *testing.T) {
	box := `<w:p><w:r><w:t>before </w:t></w:r><w:r><w:txbxContent>` + para("box") + `</w:txbxContent><w:t>and after</w:t></w:r></w:p>`
	table := "<w:tbl><w:tr><w:tc>" + para("outer") + "<w:tbl><w:tr><w:tc>" + para("inner") + "</w:tc></w:tr></w:tbl>" + para("again") + "</w:tc></w:tr></w:tbl>"
	d := read(t, ooxml.Docx(box+table, nil))
	if want := "box\n\nbefore and after\n\n| outer inner again |\n|---|"; string(d.Markdown) != want {
		t.Errorf("got %q, want %q", d.Markdown, want)
	}
}

func TestHostileXMLTakesLittleMemory(t *testing.T) {
	titled := ooxml.File("x.xml", "<document/>", map[string]string{
		"_rels/.rels": ooxml.Relations("1", "officeDocument", "x.xml", "2", "core-properties", "core.xml"),
		"core.xml":    "<title>" + strings.Repeat("title<!-- -->", 100_000) + "</title>",
	})
	refuse(t, map[string]hostile{
		"paragraphs in each other": {ooxml.Docx(strings.Repeat("<p>", 1_000_000), nil), ErrFormat},
		"tables in each other":     {ooxml.Docx(strings.Repeat("<tbl>", 1_000_000), nil), ErrFormat},
		"text in many tables": {ooxml.Docx(strings.Repeat("<tbl><tr><tc>", 1000)+para(strings.Repeat("text ", 100_000))+strings.Repeat("</tc></tr></tbl>", 1000), nil),
			ErrFormat},
		"a title in many pieces": {titled, nil},
	})
	if d := read(t, titled); len(d.Title) > 2*maxTitle {
		t.Errorf("a title of %d bytes", len(d.Title))
	}
}

// A text that is white space would cost its length in each cell that names it,
// and no limit of what is written would end that.
func TestTextsOfCellsAreCleanedOnce(t *testing.T) {
	file := ooxml.Zip(map[string]string{"t.xml": "<sst><si><t> a\n b" + strings.Repeat(" ", 1000) + "</t></si></sst>"})
	p, err := open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := p.sharedStrings("t.xml")
	old, oldErr := readTexts([]record{ole.Join(ole.U32(1, 1), ole.Narrow(" a\n b"+strings.Repeat(" ", 1000)))})
	for _, texts := range [][]string{shared, old} {
		if err != nil || oldErr != nil || len(texts) != 1 || texts[0] != "a b" {
			t.Errorf("%q, %v, %v", texts, err, oldErr)
		}
	}
}

func TestHostileFilesAreRefused(t *testing.T) {
	many := map[string]string{}
	for i := range maxParts + 1 {
		many[strings.Repeat("x", i%7)+string(rune('a'+i%26))+strings.Repeat("y", i/26)] = ""
	}
	sound := ooxml.Docx(para("text"), nil)
	flipped := bytes.Clone(sound)
	flipped[len("PK..")+80] ^= 1
	var twice bytes.Buffer
	z := zip.NewWriter(&twice)
	for range 2 {
		z.Create("word/document.xml")
	}
	z.Close()
	sheet := func(cells, texts string) []byte {
		return ooxml.File("xl/workbook.xml", `<workbook><sheets><sheet name="S" r:id="a"/></sheets></workbook>`, map[string]string{
			"xl/_rels/workbook.xml.rels": ooxml.Relations("a", "worksheet", "s.xml", "c", "sharedStrings", "t.xml"),
			"xl/s.xml":                   "<worksheet><sheetData>" + cells + "</sheetData></worksheet>", "xl/t.xml": "<sst>" + texts + "</sst>",
		})
	}
	long := "<si><t>" + strings.Repeat("a long text, ", 100_000) + "</t></si>"
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"no zip file":                {[]byte("PK\x03\x04 and nothing"), ErrFormat},
		"cut short":                  {sound[:len(sound)-30], ErrFormat},
		"a flipped bit":              {flipped, ErrFormat},
		"two parts of one name":      {twice.Bytes(), ErrFormat},
		"a zip file of other things": {ooxml.Zip(map[string]string{"a.txt": "a"}), ErrFormat},
		"a main part that is none":   {ooxml.Zip(map[string]string{"_rels/.rels": ooxml.Relations("1", "officeDocument", "../../etc/passwd")}), ErrFormat},
		"another kind":               {ooxml.File("x.xml", "<FictionBook/>", nil), ErrFormat},
		"an entity":                  {ooxml.File("x.xml", `<!DOCTYPE x [<!ENTITY e "eeee">]><document><p><r><t>&e;</t></r></p></document>`, nil), ErrFormat},
		"XML that is cut short":      {ooxml.File("x.xml", `<document><p><r><t>text</t></r></p><p><r><t>lost`, nil), ErrFormat},
		"another charset":            {ooxml.File("x.xml", `<?xml version="1.0" encoding="EBCDIC"?><document/>`, nil), ErrFormat},
		"a text that is not there":   {sheet(`<row><c t="s"><v>1</v></c></row>`, "<si><t>0</t></si>"), ErrFormat},
		"a negative text":            {sheet(`<row><c t="s"><v>-1</v></c></row>`, "<si><t>0</t></si>"), ErrFormat},
		"too many parts":             {ooxml.Zip(many), ErrTooLarge},
		"a bomb of XML":              {ooxml.Docx("<!--"+strings.Repeat(" ", maxXML)+"-->", nil), ErrTooLarge},
		"a bomb of attributes":       {ooxml.Docx("<x"+strings.Repeat(` a=""`, maxToken/4)+"/>", nil), ErrTooLarge},
		"a bomb of text":             {ooxml.Docx(para(strings.Repeat("text ", maxText/5+1)), nil), ErrTooLarge},
		"a bomb of rows":             {sheet(strings.Repeat(`<row><c t="s"><v>0</v></c></row>`, 10_000), long), ErrTooLarge},
		"a bomb of cells":            {sheet("<row>"+strings.Repeat(`<c t="s"><v>0</v></c>`, 100_000)+"</row>", long), ErrTooLarge},
	} {
		if d, err := Read(t.Context(), c.file); !errors.Is(err, c.want) {
			t.Errorf("%s: %d bytes, %v", name, len(d.Markdown), err)
		}
	}
	// Tags that nobody closes, or that nothing opened.
	for _, body := range []string{strings.Repeat("<w:p><w:tbl><w:tr><w:tc>", 50_000), "</w:p></w:tc></w:tr></w:tbl></w:t></w:pPr>", "<w:t>outside</w:t>"} {
		if _, err := Read(t.Context(), ooxml.Docx(body, nil)); err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("%.40q: %v", body, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ended, ooxml.Docx(strings.Repeat(para("x"), 1000), nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

var word = regexp.MustCompile(`[\p{L}\p{N}]+`)

func FuzzRead(f *testing.F) {
	f.Add("word/document.xml", "<document><p><r><t>a</t></r></p></document>")
	f.Add("word/document.xml", "<document><p><t>a</t><p><t>b</t></p><t>c</t></p><tbl><tc><p><t>a</t></p><tbl><tr><tc/></tr></tbl></tc></tbl></document>")
	f.Add("xl/workbook.xml", `<workbook><sheets><sheet name="S" r:id="a"/></sheets></workbook>`)
	f.Add("p.xml", `<presentation><sldId r:id="a"/></presentation>`)
	f.Fuzz(func(t *testing.T, name, main string) {
		name = strings.TrimRight(name, "/") // a folder has no contents
		file := ooxml.File(name, main, map[string]string{"_rels/" + name + ".rels": ooxml.Relations("a", "worksheet", name, "b", "styles", name)})
		d, err := Read(t.Context(), file)
		if err != nil && !errors.Is(err, ErrFormat) && !errors.Is(err, ErrTooLarge) {
			t.Fatal(err)
		}
		if len(d.Markdown) > maxText {
			t.Fatalf("%d bytes", len(d.Markdown))
		}
	})
}
