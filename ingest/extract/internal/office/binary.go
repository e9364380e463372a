package office

import (
	"encoding/binary"
	"unicode/utf16"
)

// A record is bytes with numbers in them, least significant byte first. What
// is outside of it reads as 0.
type record []byte

func (r record) u8(at int) int {
	if at < 0 || at >= len(r) {
		return 0
	}
	return int(r[at])
}

func (r record) u16(at int) int {
	if at < 0 || at > len(r)-2 {
		return 0
	}
	return int(binary.LittleEndian.Uint16(r[at:]))
}

func (r record) u32(at int) uint32 {
	if at < 0 || at > len(r)-4 {
		return 0
	}
	return binary.LittleEndian.Uint32(r[at:])
}

// part gives size bytes at a place, and false where they are not all there.
func (r record) part(at, size int64) (record, bool) {
	if at < 0 || size < 0 || at > int64(len(r)) || size > int64(len(r))-at {
		return nil, false
	}
	return r[at : at+size], true
}

// utf16Text decodes UTF-16, and leaves out half a character at the end.
func utf16Text(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}
