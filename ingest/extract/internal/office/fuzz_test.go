package office

import (
	"bytes"
	"errors"
	"testing"
	"unicode/utf8"

	"arborist/ingest/extract/internal/office/cfb"
	"arborist/internal/arbtest/ole"
)

// checkRead demands what Read guarantees of any file.
func checkRead(t *testing.T, file []byte) {
	t.Helper()
	d, err := Read(t.Context(), file)
	switch {
	case err == nil && !Is(file):
		t.Fatalf("it was read, and is no file of an office program")
	case err != nil && !errors.Is(err, ErrFormat) && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrEncrypted):
		t.Fatal(err)
	case len(d.Markdown) > maxText || !utf8.Valid(d.Markdown) || !utf8.ValidString(d.Title):
		t.Fatalf("%d bytes, %.100q", len(d.Markdown), d.Markdown)
	}
	if again, _ := Read(t.Context(), file); !bytes.Equal(again.Markdown, d.Markdown) || again.Title != d.Title {
		t.Fatal("a second time it differs")
	}
}

// streamOf gives a stream of a sound file.
func streamOf(f *testing.F, file []byte, name string) []byte {
	f.Helper()
	c, err := cfb.Open(file)
	if err != nil {
		f.Fatal(err)
	}
	b, err := c.Stream(name)
	if err != nil {
		f.Fatal(err)
	}
	return b
}

func FuzzWord(f *testing.F) {
	short := ole.Doc{Paragraphs: []ole.Paragraph{{Text: "text\a", Options: ole.InTable}, {Text: "\a", Options: ole.RowEnd}}}
	for _, file := range [][]byte{wordDoc.File(), short.File()} {
		f.Add(streamOf(f, file, streamWord), streamOf(f, file, "1Table"), []byte(nil))
	}
	f.Add(streamOf(f, oldWord(0, 5, "text\r"), streamWord), []byte(nil), ole.Summary(1251, []byte("title")))
	f.Fuzz(func(t *testing.T, main, table, summary []byte) {
		checkRead(t, ole.File(map[string][]byte{streamWord: main, "0Table": table, "1Table": table, cfb.Summary: summary}))
	})
}

func FuzzBook(f *testing.F) {
	f.Add(streamOf(f, ole.Book(0x600, bookTexts, bookSheets...), streamBook))
	f.Add(streamOf(f, ole.Book(0x500, ole.Record(0x42, ole.U16(932)), bookSheets...), streamOldBook))
	f.Add(bookStream)
	f.Fuzz(func(t *testing.T, stream []byte) {
		checkRead(t, ole.File(map[string][]byte{streamBook: stream}))
	})
}

func FuzzShow(f *testing.F) {
	file := ole.Show(plainShow, showSlides...)
	f.Add(streamOf(f, file, streamSlides), streamOf(f, file, "Current User"))
	f.Fuzz(func(t *testing.T, stream, user []byte) {
		checkRead(t, ole.File(map[string][]byte{streamSlides: stream, "Current User": user}))
	})
}

func FuzzRichText(f *testing.F) {
	f.Add([]byte(rtfFile))
	f.Add([]byte(`{\rtf1\mac\uc0{\upr a{\*\ud\u-10187\u56600}}{\footnote{\footnote\cell}\row}\bin1 }\'8`))
	f.Fuzz(func(t *testing.T, file []byte) {
		if bytes.HasPrefix(file, []byte(rtfMagic)) {
			checkRead(t, file)
		}
	})
}
