package office

import (
	"strings"
	"testing"

	"arborist/internal/arbtest/ole"
)

const plainShow = 0xe391c05f

var showSlides = []ole.Slide{
	{
		Outline: ole.Join(ole.Text(6, "First"), ole.Text(1, "of\vall\rand then")),
		Shapes:  ole.Join(ole.Box(ole.Atom(0xf9e, ole.U32(0))), ole.Box(ole.Atom(0xf9e, ole.U32(1)))),
	},
	{Shapes: ole.Join(
		ole.Box(ole.Text(0, "Last")),
		ole.Container(0xf003, 0, ole.Box(ole.Atom(0xf9f, ole.U32(4)), ole.Atom(0xfa8, []byte("caf\xe9 *")), ole.Atom(0xfd8, ole.U32(5)))),
		ole.Box(ole.Atom(0xf9e, ole.U32(7))),
	)},
}

func TestOldSlidesComeInTheirOrder(t *testing.T) {
	d := read(t, ole.Show(plainShow, showSlides...))
	if want := "## First\n\nof\nall\n\nand then\n\n## Last\n\ncafé"; d.Kind != "ppt" || d.Title != "First" || string(d.Markdown) != want {
		t.Errorf("%s, %q\n got %q\nwant %q", d.Kind, d.Title, d.Markdown, want)
	}
}

// What was saved last counts.
func TestALaterEditOfASlideCounts(t *testing.T) {
	slide := func(text string) []byte { return ole.Container(0x3ee, 0, ole.Box(ole.Text(1, text))) }
	list := ole.Container(0x3e8, 0, ole.Container(0xff0, 0, ole.Atom(0x3f3, ole.U32(2, 0, 0, 256, 0))))
	old, now := slide("old"), slide("new")
	stream := ole.Join(list, old, now)
	first := len(stream)
	stream = append(stream, ole.Atom(0x1772, ole.U32(1|2<<20, 0, len(list)))...)
	edit := len(stream)
	stream = append(stream, ole.Atom(0xff5, ole.U32(0, 0, 0, first, 1, 0, 0))...)
	second := len(stream)
	stream = append(stream, ole.Atom(0x1772, ole.U32(2|1<<20, len(list)+len(old)))...)
	last := len(stream)
	stream = append(stream, ole.Atom(0xff5, ole.U32(0, 0, edit, second, 1, 0, 0))...)
	d := read(t, ole.File(map[string][]byte{"PowerPoint Document": stream, "Current User": ole.Atom(0xff6, ole.U32(20, plainShow, last, 0))}))
	if string(d.Markdown) != "new" {
		t.Errorf("%q", d.Markdown)
	}
}

func TestHostilePresentationsAreRefused(t *testing.T) {
	show := func(s ole.Slide) []byte { return ole.Show(plainShow, s) }
	deep := ole.Text(1, "deep")
	for range maxShowDepth + 1 {
		deep = ole.Container(0xf003, 0, deep)
	}
	of := func(stream []byte, offsets ...int) []byte { return ole.ShowOf(plainShow, stream, offsets) }
	slides := func(n int) []byte {
		var list []byte
		for range n {
			list = append(list, ole.Atom(0x3f3, ole.U32(2, 0, 0, 256, 0))...)
		}
		return ole.Container(0x3e8, 0, ole.Container(0xff0, 0, list))
	}
	one := slides(1)
	// edits are n of them, the first after another one, all with one directory.
	// Without it being read so often the file is sound.
	empty := slides(0)
	edits := func(previous, n int, table []byte) []byte {
		stream := ole.Join(empty, table)
		for range n {
			edit := ole.Atom(0xff5, ole.U32(0, 0, previous, len(empty), 1, 0, 0))
			previous = len(stream)
			stream = append(stream, edit...)
		}
		return ole.File(map[string][]byte{"PowerPoint Document": stream, "Current User": ole.Atom(0xff6, ole.U32(20, plainShow, previous, 0))})
	}
	none := ole.Atom(0x1772)
	long := ole.Slide{Outline: ole.Text(1, strings.Repeat("\x01", 1<<20))}
	for range 100 {
		long.Shapes = append(long.Shapes, ole.Box(ole.Atom(0xf9e, ole.U32(0)))...)
	}
	refuse(t, map[string]hostile{
		"encrypted":                        {ole.Show(0xf3d1c4df, showSlides...), ErrEncrypted},
		"records in each other":            {show(ole.Slide{Shapes: deep}), ErrFormat},
		"a record cut short":               {show(ole.Slide{Shapes: ole.Join(ole.U16(0, 0xfa0), ole.U32(1<<32-1))}), ErrFormat},
		"half a record":                    {show(ole.Slide{Shapes: []byte("abc")}), ErrFormat},
		"one text in many places":          {show(long), ErrTooLarge},
		"too much text":                    {show(ole.Slide{Shapes: ole.Box(ole.Text(1, strings.Repeat("text ", maxText/5+1)))}), ErrTooLarge},
		"one slide many times":             {of(ole.Join(slides(9), ole.Container(0x3ee, 0, make([]byte, 4096))), 0, len(slides(9))), ErrFormat},
		"a slide that is not there":        {of(one, 0), ErrFormat},
		"a slide outside":                  {of(one, 0, 1<<32-1), ErrFormat},
		"a document that is none":          {of(ole.Container(0x3ee, 0)), ErrFormat},
		"a document of another kind":       {of(ole.Container(0x3ee, 0), 0), ErrFormat},
		"an edit before itself":            {edits(len(empty)+len(none), 1, none), ErrFormat},
		"an edit that is none":             {edits(4, 1, none), ErrFormat},
		"a user who edited nothing":        {ole.File(map[string][]byte{"PowerPoint Document": one, "Current User": nil}), ErrFormat},
		"nobody who edited":                {ole.File(map[string][]byte{"PowerPoint Document": one}), ErrFormat},
		"a directory without the document": {ole.ShowOf(plainShow, one, nil), ErrFormat},
		"a directory cut short":            {edits(0, 1, ole.Atom(0x1772, ole.U32(1|4095<<20))), ErrFormat},
		"one directory in many edits":      {edits(0, 2000, ole.Atom(0x1772, ole.U32(1|4000<<20), make([]byte, 16_000))), ErrFormat},
	})
}
