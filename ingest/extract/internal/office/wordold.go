package office

import (
	"fmt"

	"arborist/ingest/extract/internal/office/cfb"
)

// readOldWord writes the paragraphs of a document of Word 6 or 95, and its notes
// after them. Its text is in one place and one code page, which is taken from
// its summary; its tables of formats have another form and are not read, so that
// a cell is a paragraph.
func readOldWord(f *cfb.File, main record, flags int, out *markdown) error {
	if flags&fibComplex != 0 {
		return fmt.Errorf("%w: doc: saved in pieces by Word 95 or earlier: save it anew", ErrFormat)
	}
	from, size := int64(main.u32(24)), int64(main.u32(52))+int64(main.u32(56))
	text, ok := main.part(from, size)
	if !ok {
		return fmt.Errorf("%w: doc: its %d characters are not in the file", ErrFormat, size)
	}
	flow := &wordFlow{w: &wordFile{}, story: story{out: out}}
	for _, r := range decode(f.CodePage(), text) {
		if r == charCell {
			r = charParagraph
		}
		if err := flow.char(r, 0); err != nil {
			return err
		}
	}
	return flow.end()
}
