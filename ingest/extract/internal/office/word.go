package office

import (
	"context"
	"fmt"

	"arborist/ingest/extract/internal/office/cfb"
)

// Marks of the file information block ([MS-DOC], section FibBase).
const (
	fibWord    = 0xa5ec // wIdent since Word 97
	fibWord6   = 0xa5dc // in Word 6 and 95
	fibFirst97 = 0xc1   // nFib of Word 97
	fibComplex = 0x0004
	fibEncrypt = 0x0100
	fibTable1  = 0x0200
	fibLongs   = 64  // where the counts of characters are (FibRgLw97)
	fibTables  = 154 // where the places of tables are (FibRgFcLcb97)
	maxStories = 8

	storyMain  = 0
	storyNotes = 1
	storyEnds  = 5 // endnotes
	storyBoxes = 6 // text boxes
)

// Tables of a document by their number in FibRgFcLcb97.
const (
	tableStyles     = 1
	tableCharacters = 12
	tableParagraphs = 13
	tablePieces     = 33
)

// A wordFile is an open text document.
type wordFile struct {
	ctx     context.Context
	main    record            // the stream with the text
	table   record            // the stream with the tables
	stories [maxStories]int64 // characters of each part of the text, in their order
	pieces  []piece
	styles  map[int]int // level of a heading by the style's number
	paras   formats
	runs    formats
}

// readWord writes a text document: the body, then text boxes and notes.
func readWord(ctx context.Context, f *cfb.File, out *markdown) error {
	main, err := f.Stream(streamWord)
	if err != nil {
		return err
	}
	w := &wordFile{ctx: ctx, main: main}
	ident, version, flags := w.main.u16(0), w.main.u16(2), w.main.u16(10)
	switch {
	case ident != fibWord && ident != fibWord6:
		return fmt.Errorf("%w: doc: it begins with %#x", ErrFormat, ident)
	case flags&fibEncrypt != 0:
		return ErrEncrypted
	case ident == fibWord6 || version < fibFirst97:
		return readOldWord(f, w.main, flags, out)
	}
	if err := w.open(f, flags); err != nil {
		return err
	}
	for _, story := range []int{storyMain, storyBoxes, storyNotes, storyEnds} {
		var from int64
		for _, n := range w.stories[:story] {
			from += n
		}
		if err := w.story(from, from+w.stories[story], out); err != nil {
			return err
		}
		out.end()
	}
	return nil
}

// open reads the tables of a document.
func (w *wordFile) open(f *cfb.File, flags int) error {
	name := "0Table"
	if flags&fibTable1 != 0 {
		name = "1Table"
	}
	table, err := f.Stream(name)
	if err != nil {
		return err
	}
	w.table = table
	var total int64
	for i := range w.stories {
		w.stories[i] = int64(w.main.u32(fibLongs + 4*(3+i))) // ccpText is the fourth
		total += w.stories[i]
	}
	clx, err := w.tableNumber(tablePieces)
	if err != nil {
		return err
	}
	if w.pieces, err = readPieces(clx, w.main); err != nil {
		return err
	}
	if n := len(w.pieces); n == 0 || w.pieces[n-1].end < total {
		return fmt.Errorf("%w: doc: pieces do not make up its %d characters", ErrFormat, total)
	}
	styles, err := w.tableNumber(tableStyles)
	if err != nil {
		return err
	}
	w.styles = headingStyles(styles)
	for n, to := range map[int]*formats{tableParagraphs: &w.paras, tableCharacters: &w.runs} {
		pages, err := w.tableNumber(n)
		if err != nil {
			return err
		}
		*to = formats{main: w.main, pages: pages, paragraphs: n == tableParagraphs}
	}
	return nil
}

// tableNumber gives a table by its number.
func (w *wordFile) tableNumber(n int) (record, error) {
	at := fibTables + 8*n
	r, ok := w.table.part(int64(w.main.u32(at)), int64(w.main.u32(at+4)))
	if !ok {
		return nil, fmt.Errorf("%w: doc: table %d is not in the file", ErrFormat, n)
	}
	return r, nil
}
