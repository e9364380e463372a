package office

import (
	"fmt"
	"strings"
)

// maxCells is how many cells a row of a table in a text may have.
const maxCells = 4096

// A story writes running text whose paragraphs, cells and rows have an end but
// no beginning, as they have it in .doc and .rtf.
type story struct {
	out  *markdown
	text strings.Builder // of the paragraph
	cell strings.Builder // of the paragraphs before it in its cell
	row  []string
}

// add adds to the paragraph.
func (s *story) add(text string) error {
	if s.text.Len()+s.cell.Len()+len(text) > maxText {
		return fmt.Errorf("%w: over %d bytes of text", ErrTooLarge, maxText)
	}
	s.text.WriteString(text)
	return nil
}

// endParagraph ends a paragraph: a heading where level is 1 or more, an item of
// a list, a part of a cell.
func (s *story) endParagraph(level int, item, inTable bool) error {
	if inTable {
		s.intoCell(" ")
		return nil
	}
	if err := s.endRow(); err != nil { // of a table that was cut off
		return err
	}
	text := s.text.String()
	s.text.Reset()
	if item && level == 0 {
		return s.out.item(text)
	}
	return s.out.block(text, level)
}

// intoCell moves the paragraph to the cell that is open.
func (s *story) intoCell(after string) {
	s.cell.WriteString(s.text.String() + after)
	s.text.Reset()
}

func (s *story) endCell() error {
	if len(s.row) == maxCells {
		return fmt.Errorf("%w: a row of over %d cells", ErrTooLarge, maxCells)
	}
	s.intoCell("")
	s.row = append(s.row, s.cell.String())
	s.cell.Reset()
	return nil
}

// endRow ends a row, and does nothing where there is none.
func (s *story) endRow() error {
	row := s.row
	s.row = nil
	if s.cell.Len() > 0 {
		row = append(row, s.cell.String())
		s.cell.Reset()
	}
	return s.out.row(row)
}

// end ends the text.
func (s *story) end() error {
	if err := s.endParagraph(0, false, false); err != nil {
		return err
	}
	s.out.end()
	return nil
}
