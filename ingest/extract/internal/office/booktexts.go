package office

import (
	"fmt"
	"strings"
)

// Flags of a text ([MS-XLS], section XLUnicodeRichExtendedString).
const (
	textWide   = 1 // two bytes a character, else the lower half of each
	textSounds = 4 // how it is pronounced follows
	textRuns   = 8 // its formats follow
)

// Limits of a workbook's table of texts.
const (
	maxTexts     = 1 << 20
	maxTextBytes = 32 << 20 // of UTF-8
)

var errShortText = fmt.Errorf("%w: xls: a text is cut short", ErrFormat)

// sheetName reads the name of a sheet (section ShortXLUnicodeString).
func (b *book) sheetName(r record, at int) string {
	n, at := r.u8(at), at+1
	wide := b.wide && r.u8(at)&textWide != 0
	if b.wide {
		at++
	}
	if wide {
		n *= 2
	}
	at = min(at, len(r))
	if name := r[at:min(at+n, len(r))]; b.wide {
		return characterText(name, wide)
	} else {
		return decode(b.code, name)
	}
}

// text reads the text at a place of a record, which other records may continue.
func (b *book) text(parts []record, at int) (string, error) {
	rest, ok := parts[0].part(int64(at), int64(len(parts[0])-at))
	if !ok {
		return "", errShortText
	}
	r := &textReader{part: rest, more: parts[1:]}
	if b.wide {
		return r.text()
	}
	n, err := r.take(2)
	if err != nil {
		return "", err
	}
	coded, err := r.take(n.u16(0))
	return decode(b.code, coded), err
}

// characterText decodes stored characters.
func characterText(b []byte, wide bool) string {
	if wide {
		return utf16Text(b)
	}
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}

// A textReader reads the table of texts over the records that it is spread over
// (section Continue).
type textReader struct {
	part record   // what is left of the record
	more []record // those after it
}

// readTexts reads the table of texts (section SST). What it says of their number
// is not believed.
func readTexts(parts []record) ([]string, error) {
	first, ok := parts[0].part(8, int64(len(parts[0]))-8)
	if !ok {
		return nil, fmt.Errorf("%w: xls: the table of texts has no head", ErrFormat)
	}
	said := parts[0].u32(4)
	r := &textReader{part: first, more: parts[1:]}
	var texts []string
	total := 0
	for n := uint32(0); n < said && r.enter(); n++ {
		if n == maxTexts || total > maxTextBytes {
			return nil, fmt.Errorf("%w: over %d texts or %d bytes of them", ErrTooLarge, maxTexts, maxTextBytes)
		}
		text, err := r.text()
		if err != nil {
			return nil, err
		}
		texts = append(texts, oneLine(clean(text))) // as rows write it, once for all cells that name it
		total += len(text)
	}
	if uint32(len(texts)) < said {
		return nil, fmt.Errorf("%w: xls: %d texts of %d are in the file", ErrFormat, len(texts), said)
	}
	return texts, nil
}

// enter goes to the next record where this one has ended, and is false after
// the last.
func (r *textReader) enter() bool {
	for len(r.part) == 0 {
		if len(r.more) == 0 {
			return false
		}
		r.part, r.more = r.more[0], r.more[1:]
	}
	return true
}

// take gives n bytes of this record.
func (r *textReader) take(n int) (record, error) {
	b, ok := r.part.part(0, int64(n))
	if !ok {
		return nil, errShortText
	}
	r.part = r.part[n:]
	return b, nil
}

// text reads one text. Its characters may go on in the next record, which says
// anew how they are stored.
func (r *textReader) text() (string, error) {
	head, err := r.take(3)
	if err != nil {
		return "", err
	}
	left, flags := head.u16(0), head.u8(2)
	var after int64
	if flags&textRuns != 0 {
		if head, err = r.take(2); err != nil {
			return "", err
		}
		after += 4 * int64(head.u16(0))
	}
	if flags&textSounds != 0 {
		if head, err = r.take(4); err != nil {
			return "", err
		}
		after += int64(head.u32(0))
	}
	var text strings.Builder
	for wide := flags&textWide != 0; ; {
		size := 1
		if wide {
			size = 2
		}
		n := min(left, len(r.part)/size)
		characters, err := r.take(n * size)
		if err != nil {
			return "", err
		}
		text.WriteString(characterText(characters, wide))
		if left -= n; left == 0 {
			break
		}
		r.part = nil // half a character, if anything
		if !r.enter() {
			return "", errShortText
		}
		wide = r.part.u8(0)&textWide != 0
		r.part = r.part[1:]
	}
	for after > 0 {
		if !r.enter() {
			return "", errShortText
		}
		n := min(after, int64(len(r.part)))
		r.part, after = r.part[n:], after-n
	}
	return text.String(), nil
}
