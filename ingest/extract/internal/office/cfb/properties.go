package cfb

import "encoding/binary"

// Summary is the name of the stream with a document's summary properties.
const Summary = "\x05SummaryInformation"

// Properties of the summary ([MS-OLEPS], section PropertySetStream, and
// [MS-OSHARED], PIDSI values) and the types of their values.
const (
	PropertyTitle = 2

	propertyCodePage = 1
	typeInt16        = 2
	typeBytes        = 0x1e // VT_LPSTR: in the set's code page
	typeUTF16        = 0x1f // VT_LPWSTR

	maxProperties = 1000
	maxProperty   = 4096 // bytes of a text
)

// CodePageUTF16 is the number of the code page whose texts are UTF-16.
const CodePageUTF16 = 1200

// Property gives a text of the summary as its bytes and their code page. A
// summary that is missing or damaged has none: it is not the document's text.
func (f *File) Property(id uint32) (text []byte, codePage int) {
	kind, value := f.property(id)
	if len(value) < 4 {
		return nil, 0
	}
	size := int64(binary.LittleEndian.Uint32(value))
	switch kind {
	case typeBytes:
		codePage = f.CodePage()
	case typeUTF16:
		size, codePage = 2*size, CodePageUTF16
	default:
		return nil, 0
	}
	return value[4:min(4+size, 4+maxProperty, int64(len(value)))], codePage
}

// CodePage gives the code page of the program that wrote the file, 0 where it
// does not say.
func (f *File) CodePage() int {
	kind, value := f.property(propertyCodePage)
	if kind != typeInt16 {
		return 0
	}
	return int(binary.LittleEndian.Uint16(value))
}

// property gives the type of a property, and what follows it in the stream: 4
// bytes at least, or nothing.
func (f *File) property(id uint32) (kind int, value []byte) {
	set, err := f.Stream(Summary)
	if err != nil || len(set) < 48 {
		return 0, nil
	}
	start := int64(binary.LittleEndian.Uint32(set[44:])) // of the first section
	if start+8 > int64(len(set)) {
		return 0, nil
	}
	section := set[start:]
	count := int64(binary.LittleEndian.Uint32(section[4:]))
	for i := range min(count, maxProperties, int64(len(section)-8)/8) {
		at := int64(binary.LittleEndian.Uint32(section[12+8*i:]))
		if binary.LittleEndian.Uint32(section[8+8*i:]) == id && at+8 <= int64(len(section)) {
			return int(binary.LittleEndian.Uint16(section[at:])), section[at+4:]
		}
	}
	return 0, nil
}
