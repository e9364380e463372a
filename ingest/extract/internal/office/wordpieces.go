package office

import (
	"context"
	"fmt"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"
)

// A piece is a run of a document's characters that lie side by side in the file.
type piece struct {
	start, end int64 // characters, counted from the start of the document
	offset     int64 // of the first, in bytes
	width      int64 // bytes of a character: 1 or 2
}

// Parts of a Clx ([MS-DOC], sections Clx, Prc, Pcdt).
const (
	clxFormats = 1
	clxPieces  = 2
	pcdSize    = 8

	fcCompressed = 1 << 30
)

// readPieces reads the piece table. Pieces follow one another; all of them
// together are not larger than the stream that they are in, so that none is
// read again and again.
func readPieces(clx, main record) ([]piece, error) {
	for len(clx) > 0 && clx[0] == clxFormats {
		size := int64(clx.u16(1))
		rest, ok := clx.part(3+size, int64(len(clx))-3-size)
		if !ok {
			break
		}
		clx = rest
	}
	if clx.u8(0) != clxPieces {
		return nil, fmt.Errorf("%w: doc: it has no piece table", ErrFormat)
	}
	plc, ok := clx.part(5, int64(clx.u32(1)))
	if !ok {
		return nil, fmt.Errorf("%w: doc: its piece table is cut short", ErrFormat)
	}
	n := (len(plc) - 4) / (4 + pcdSize)
	var pieces []piece
	var total int64
	for i := range n {
		start, end := plc.u32(4*i), plc.u32(4*i+4)
		fc := plc.u32(4*(n+1) + pcdSize*i + 2)
		p := piece{start: int64(start), end: int64(end), offset: int64(fc &^ (3 << 30)), width: 2}
		if fc&fcCompressed != 0 {
			p.offset, p.width = p.offset/2, 1
		}
		size := (p.end - p.start) * p.width
		if _, ok := main.part(p.offset, size); !ok || i == 0 && start != 0 {
			return nil, fmt.Errorf("%w: doc: piece %d (characters %d to %d) is not in the file", ErrFormat, i, start, end)
		}
		if total += size; total > int64(len(main)) {
			return nil, fmt.Errorf("%w: doc: its pieces lie on top of each other", ErrFormat)
		}
		pieces = append(pieces, p)
	}
	return pieces, nil
}

// each calls f with the characters of a document from one place to another, and
// where in the file each of them is. Half a character of UTF-16 is U+FFFD.
func (w *wordFile) each(from, to int64, f func(r rune, at int64) error) error {
	var high rune // the first half of a pair
	count := 0
	for _, p := range w.pieces {
		for c := max(from, p.start); c < min(to, p.end); c++ {
			if count++; count%(1<<16) == 0 && w.ctx.Err() != nil {
				return context.Cause(w.ctx)
			}
			at := p.offset + (c-p.start)*p.width
			r := rune(w.main.u16(int(at)))
			if p.width == 1 {
				r = charmap.Windows1252.DecodeByte(w.main[at]) // FcCompressed: Latin-1, but for what Windows has in 0x80 to 0x9f
			}
			if utf16.IsSurrogate(r) {
				if high == 0 && r < 0xdc00 {
					high = r
					continue
				}
				r = utf16.DecodeRune(high, r)
			}
			high = 0
			if err := f(r, at); err != nil {
				return err
			}
		}
	}
	return nil
}
