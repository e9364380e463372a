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
	edits := func(previous int) []byte {
		table := ole.Atom(0x1772)
		return ole.File(map[string][]byte{
			"PowerPoint Document": ole.Join(table, ole.Atom(0xff5, ole.U32(0, 0, previous, 0, 1, 0, 0))),
			"Current User":        ole.Atom(0xff6, ole.U32(20, plainShow, len(table), 0)),
		})
	}
	long := ole.Slide{Outline: ole.Text(1, strings.Repeat("\x01", 1<<20))}
	for range 100 {
		long.Shapes = append(long.Shapes, ole.Box(ole.Atom(0xf9e, ole.U32(0)))...)
	}
	refuse(t, map[string]hostile{
		"encrypted":                  {ole.Show(0xf3d1c4df, showSlides...), ErrEncrypted},
		"records in each other":      {show(ole.Slide{Shapes: deep}), ErrFormat},
		"a record cut short":         {show(ole.Slide{Shapes: ole.Join(ole.U16(0, 0xfa0), ole.U32(1<<32-1))}), ErrFormat},
		"half a record":              {show(ole.Slide{Shapes: []byte("abc")}), ErrFormat},
		"one text in many places":    {show(long), ErrTooLarge},
		"too much text":              {show(ole.Slide{Shapes: ole.Box(ole.Text(1, strings.Repeat("text ", maxText/5+1)))}), ErrTooLarge},
		"one slide many times":       {of(ole.Join(slides(9), ole.Container(0x3ee, 0, make([]byte, 4096))), 0, len(slides(9))), ErrFormat},
		"a slide that is not there":  {of(one, 0), ErrFormat},
		"a slide outside":            {of(one, 0, 1<<32-1), ErrFormat},
		"a document that is none":    {of(ole.Container(0x3ee, 0)), ErrFormat},
		"a document of another kind": {of(ole.Container(0x3ee, 0), 0), ErrFormat},
		"an edit before itself":      {edits(len(ole.Atom(0x1772))), ErrFormat},
		"an edit that is none":       {edits(4), ErrFormat},
		"a user who edited nothing":  {ole.File(map[string][]byte{"PowerPoint Document": one, "Current User": nil}), ErrFormat},
		"nobody who edited":          {ole.File(map[string][]byte{"PowerPoint Document": one}), ErrFormat},
		"a directory of 4095 in 1":   {ole.ShowOf(plainShow, one, make([]int, 0)), ErrFormat},
	})
}
