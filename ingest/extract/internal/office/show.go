package office

import (
	"context"
	"fmt"
	"strings"

	"arborist/ingest/extract/internal/office/cfb"
)

// Records of a presentation ([MS-PPT], section RecordType; [MS-ODRAW] for the
// text boxes of shapes).
const (
	typeDocument      = 0x03e8
	typeSlidePersist  = 0x03f3
	typeOutlineRef    = 0x0f9e // a text of the list of slides stands here
	typeTextHeader    = 0x0f9f
	typeTextChars     = 0x0fa0
	typeTextBytes     = 0x0fa8
	typeSlideNumber   = 0x0fd8
	typeSlideList     = 0x0ff0
	typeUserEdit      = 0x0ff5
	typeCurrentUser   = 0x0ff6
	typeDateTime      = 0x0ff7
	typeGenericDate   = 0x0ff8
	typeRTFDate       = 0x1015
	typePersistTable  = 0x1772
	typeClientTextbox = 0xf00d

	listOfSlides   = 0 // the instance of a list; others are masters and notes
	textTitle      = 0 // kinds of a text
	textCentered   = 6
	tokenEncrypted = 0xf3d1c4df

	maxShowDepth = 64
)

// A show is an open presentation.
type show struct {
	ctx     context.Context
	stream  record
	persist map[uint32]uint32 // where in the stream each object is
	read    int64             // bytes of the objects that were read
	chars   int               // of the texts that were read or written
	out     *markdown
}

// A slideEntry is a slide in the list of them.
type slideEntry struct {
	persist uint32
	texts   []slideText // of its outline
}

type slideText struct {
	kind int
	text []rune
}

// readSlides writes the slides of a presentation of PowerPoint 97 to 2003 in
// their order.
func readSlides(ctx context.Context, f *cfb.File, out *markdown) error {
	stream, err := f.Stream(streamSlides)
	if err != nil {
		return err
	}
	user, err := f.Stream("Current User")
	if err != nil {
		return err
	}
	if record(user).u32(12) == tokenEncrypted || f.Has("EncryptedSummary") {
		return ErrEncrypted
	}
	s := &show{ctx: ctx, stream: stream, persist: map[uint32]uint32{}, out: out}
	main, err := s.directory(record(user).u32(16))
	if err != nil {
		return err
	}
	slides, err := s.list(main)
	if err != nil {
		return err
	}
	for _, e := range slides {
		if err := s.slide(e); err != nil {
			return err
		}
		out.end()
	}
	return nil
}

// A showRecord is the head of a record, and its bytes.
type showRecord struct {
	container bool
	instance  int
	kind      int
	data      record
}

// recordAt reads the record at a place of r (section RecordHeader), and returns
// how long it is.
func recordAt(r record, at int64) (showRecord, int64, error) {
	head, ok := r.part(at, 8)
	if !ok {
		return showRecord{}, 0, fmt.Errorf("%w: ppt: there is no record at %d of %d bytes", ErrFormat, at, len(r))
	}
	size := int64(head.u32(4))
	data, ok := r.part(at+8, size)
	if !ok {
		return showRecord{}, 0, fmt.Errorf("%w: ppt: a record of %d bytes is cut short", ErrFormat, size)
	}
	return showRecord{head.u16(0)&15 == 15, head.u16(0) >> 4, head.u16(2), data}, 8 + size, nil
}

// each calls f with the records in r.
func (s *show) each(r record, f func(showRecord) error) error {
	for n, at := 1, int64(0); at < int64(len(r)); n++ {
		if n%1024 == 0 && s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		rec, size, err := recordAt(r, at)
		if err != nil {
			return err
		}
		if err := f(rec); err != nil {
			return err
		}
		at += size
	}
	return nil
}

// directory reads where objects are, from the latest edit to the first (sections
// UserEditAtom, PersistDirectoryAtom), and returns the object of the document.
func (s *show) directory(edit uint32) (document uint32, err error) {
	entries := 0
	for last, first := int64(len(s.stream)), true; first || edit != 0; first = false {
		if int64(edit) >= last {
			return 0, fmt.Errorf("%w: ppt: its edits run in a circle", ErrFormat)
		}
		last = int64(edit)
		e, _, err := recordAt(s.stream, int64(edit))
		if err != nil || e.kind != typeUserEdit || len(e.data) < 20 {
			return 0, fmt.Errorf("%w: ppt: there is no edit at %d", ErrFormat, edit)
		}
		if first {
			document = e.data.u32(16)
		}
		table, _, err := recordAt(s.stream, int64(e.data.u32(12)))
		if err != nil || table.kind != typePersistTable {
			return 0, fmt.Errorf("%w: ppt: there is no directory at %d", ErrFormat, e.data.u32(12))
		}
		for rest := table.data; len(rest) >= 4; {
			id, count := rest.u32(0)&0xfffff, int64(rest.u32(0)>>20)
			offsets, ok := rest.part(4, 4*count)
			if entries += int(count) + 1; !ok || entries > len(s.stream)/4 {
				return 0, fmt.Errorf("%w: ppt: a directory is cut short, or is in the file once only", ErrFormat)
			}
			for i := range uint32(count) {
				if _, newer := s.persist[id+i]; !newer {
					s.persist[id+i] = offsets.u32(int(4 * i))
				}
			}
			rest = rest[4+4*count:]
		}
		edit = e.data.u32(8)
	}
	return document, nil
}

// object gives an object by its number.
func (s *show) object(id uint32) (showRecord, error) {
	at, ok := s.persist[id]
	if !ok {
		return showRecord{}, fmt.Errorf("%w: ppt: object %d is not in its directory", ErrFormat, id)
	}
	rec, size, err := recordAt(s.stream, int64(at))
	if s.read += size; err == nil && s.read > int64(len(s.stream)) {
		err = fmt.Errorf("%w: ppt: its slides lie on top of each other", ErrFormat)
	}
	return rec, err
}

// list reads the list of slides with the texts of their outlines (section
// SlideListWithTextContainer).
func (s *show) list(document uint32) (slides []slideEntry, err error) {
	main, err := s.object(document)
	if err != nil {
		return nil, err
	}
	if main.kind != typeDocument {
		return nil, fmt.Errorf("%w: ppt: its document is a record of the kind %#x", ErrFormat, main.kind)
	}
	err = s.each(main.data, func(r showRecord) error {
		if r.kind != typeSlideList || r.instance != listOfSlides {
			return nil
		}
		return s.each(r.data, func(r showRecord) (err error) {
			if r.kind == typeSlidePersist {
				slides = append(slides, slideEntry{persist: r.data.u32(0)})
			} else if len(slides) > 0 {
				last := &slides[len(slides)-1]
				last.texts, err = s.addText(last.texts, r)
			}
			return err
		})
	})
	return slides, err
}

// addText takes a record of a text: its head, its characters, or a place in
// them where the program puts the date or the number of the slide.
func (s *show) addText(texts []slideText, r showRecord) ([]slideText, error) {
	if r.kind == typeTextHeader {
		return append(texts, slideText{kind: int(r.data.u32(0))}), nil
	}
	if len(texts) == 0 {
		return texts, nil
	}
	t := &texts[len(texts)-1]
	switch r.kind {
	default:
		return texts, nil
	case typeTextChars:
		t.text = []rune(utf16Text(r.data))
	case typeTextBytes:
		t.text = []rune(characterText(r.data, false))
	case typeSlideNumber, typeDateTime, typeGenericDate, typeRTFDate:
		if at := int64(r.data.u32(0)); at < int64(len(t.text)) {
			t.text[at] = 0 // dropped when it is written
		}
		return texts, nil
	}
	return texts, s.count(len(t.text))
}

// count bounds the texts that are held, and how often one is written.
func (s *show) count(characters int) error {
	if s.chars += characters; s.chars > 2*maxText {
		return fmt.Errorf("%w: over %d characters of text", ErrTooLarge, 2*maxText)
	}
	return nil
}

// slide writes the texts of a slide's shapes.
func (s *show) slide(e slideEntry) error {
	rec, err := s.object(e.persist)
	if err != nil {
		return err
	}
	return s.shapes(rec.data, e.texts, 0)
}

// shapes goes through the records of a slide down to the text boxes.
func (s *show) shapes(r record, outline []slideText, depth int) error {
	if depth > maxShowDepth {
		return fmt.Errorf("%w: ppt: records nested over %d deep", ErrFormat, maxShowDepth)
	}
	return s.each(r, func(r showRecord) error {
		switch {
		case r.kind == typeClientTextbox:
			return s.textbox(r.data, outline)
		case r.container:
			return s.shapes(r.data, outline, depth+1)
		}
		return nil
	})
}

func (s *show) textbox(r record, outline []slideText) error {
	var texts []slideText
	err := s.each(r, func(r showRecord) error {
		if n := r.data.u32(0); r.kind == typeOutlineRef && int64(n) < int64(len(outline)) {
			texts = append(texts, outline[n])
			return s.count(len(outline[n].text))
		}
		var err error
		texts, err = s.addText(texts, r)
		return err
	})
	for _, t := range texts {
		level := 0
		if t.kind == textTitle || t.kind == textCentered {
			level = 2
		}
		for p := range strings.SplitSeq(string(t.text), "\r") {
			if err == nil {
				err = s.out.block(strings.ReplaceAll(p, "\v", "\n"), level)
			}
		}
	}
	return err
}
