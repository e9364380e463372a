package office

import (
	"fmt"
	"strings"
	"unicode"
)

// A markdown is text that is being written.
type markdown struct {
	text    []byte
	heading string // the first one
	list    bool   // the last block was an item
	rows    int    // of the table that is being written
}

// block writes a paragraph, or a heading where level is 1 or more.
func (m *markdown) block(text string, level int) error {
	if text = strings.TrimSpace(clean(text)); text == "" {
		return nil
	}
	m.end()
	if level > 0 {
		text = oneLine(text)
		if m.heading == "" {
			m.heading = text
		}
		text = strings.Repeat("#", min(level, 6)) + " " + text
	}
	return m.write(text + "\n\n")
}

// item writes an item of a list.
func (m *markdown) item(text string) error {
	if text = oneLine(clean(text)); text == "" {
		return nil
	}
	if !m.list {
		m.end()
	}
	m.list = true
	return m.write("- " + text + "\n")
}

// row writes a row of a table, the first as its head. One without text is left
// out.
func (m *markdown) row(cells []string) error {
	for len(cells) > 0 && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) == 0 {
		return nil
	}
	if m.rows == 0 {
		m.end()
	}
	var b strings.Builder
	for _, c := range cells {
		if b.Len() > maxText { // many cells may hold one long text
			break
		}
		b.WriteString("| " + strings.ReplaceAll(oneLine(clean(c)), "|", `\|`) + " ")
	}
	b.WriteString("|\n")
	if m.rows == 0 {
		b.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
	}
	m.rows++
	return m.write(b.String())
}

// sheet writes a sheet of a workbook, whose rows cells writes: its name and a
// table. An empty one leaves nothing.
func (m *markdown) sheet(name string, cells func() error) error {
	before, heading := len(m.text), m.heading
	if err := m.block(name, 2); err != nil {
		return err
	}
	after := len(m.text)
	err := cells()
	if len(m.text) == after {
		m.text = m.text[:before]
	}
	m.heading = heading // the name of a sheet is no title
	m.end()
	return err
}

// end ends a list or table.
func (m *markdown) end() {
	if m.list || m.rows > 0 {
		m.text = append(m.text, '\n')
	}
	m.list, m.rows = false, 0
}

func (m *markdown) write(text string) error {
	if len(m.text)+len(text) > maxText {
		return fmt.Errorf("%w: over %d bytes of text", ErrTooLarge, maxText)
	}
	m.text = append(m.text, text...)
	return nil
}

// clean drops what no text should hold: control characters other than white
// space.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
