package ole

// Atom makes a record of a presentation with data, Container one with records.
func Atom(kind int, parts ...[]byte) []byte {
	data := Join(parts...)
	return Join(U16(0, kind), U32(len(data)), data)
}

// Container is described with [Atom].
func Container(kind, instance int, parts ...[]byte) []byte {
	data := Join(parts...)
	return Join(U16(instance<<4|15, kind), U32(len(data)), data)
}

// Text makes the records of a text of a kind: 0 is a title, 1 the body.
func Text(kind int, text string) []byte {
	return Join(Atom(0xf9f, U32(kind)), Atom(0xfa0, UTF16(text)))
}

// Box makes the shape of a text box with these records.
func Box(records ...[]byte) []byte {
	return Container(0xf004, 0, Container(0xf00d, 0, records...))
}

// A Slide is one of a [Show].
type Slide struct {
	Outline []byte // records of its texts in the list of slides
	Shapes  []byte // records of its shapes
}

// Show makes a presentation of slides. In the file they lie from the last to the
// first; token is 0xe391c05f in the file of one that is not encrypted.
func Show(token int, slides ...Slide) []byte {
	var stream, list []byte
	offsets := make([]int, len(slides)+1)
	for i := len(slides) - 1; i >= 0; i-- {
		offsets[i+1] = len(stream)
		drawing := Container(0x40c, 0, Container(0xf002, 0, Container(0xf003, 0, slides[i].Shapes)))
		stream = append(stream, Container(0x3ee, 0, drawing)...)
	}
	for i, s := range slides {
		list = append(list, Join(Atom(0x3f3, U32(i+2, 0, 0, 256+i, 0)), s.Outline)...)
	}
	offsets[0] = len(stream)
	masters := Container(0xff0, 1, Atom(0x3f3, U32(99, 0, 0, 1, 0)), Text(1, "of the master"))
	stream = append(stream, Container(0x3e8, 0, masters, Container(0xff0, 0, list))...)
	return ShowOf(token, stream, offsets)
}

// ShowOf makes a presentation of the records in stream, of which objects 1 and
// up are at offsets. Object 1 is the document.
func ShowOf(token int, stream []byte, offsets []int) []byte {
	table := len(stream)
	stream = append(stream, Atom(0x1772, U32(1|len(offsets)<<20), U32(offsets...))...)
	edit := len(stream)
	stream = append(stream, Atom(0xff5, U32(0, 0, 0, table, 1, 0, 0))...)
	return File(map[string][]byte{
		"PowerPoint Document": stream,
		"Current User":        Atom(0xff6, U32(20, token, edit, 0)),
	})
}
