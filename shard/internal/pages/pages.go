// Package pages reads the rows of an SQLite file page by page, without its trees:
// what stands on a page that is whole is found, whatever became of the pages that
// lead to it. It is for files that SQLite itself can read no more.
//
// A page does not say of which table it is. Whoever asks for rows must tell by
// their columns what they are, and must believe none of them before its content
// proves it: rows that were deleted, or that damage has made up, look like others.
//
// The format is that of https://www.sqlite.org/fileformat2.html, version 4 of the
// schema, UTF-8. A write-ahead log beside the file is not read.
package pages

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// MaxColumns is the most columns of a row that is read.
const MaxColumns = 64

// overflowBudget bounds what is read of overflow pages, in files: of a sound file
// each belongs to one row, of another one they may all lead to the same.
const overflowBudget = 4

// Limits say what is believed to be a row. The zero value finds none.
type Limits struct {
	// PageSize is the one to take where the head of the file has none, in bytes.
	PageSize int
	// MaxRow is the most bytes of a row.
	MaxRow int
}

// A Row is a row of a table, or an entry of an index; tables without row IDs are
// stored as indexes are.
type Row struct {
	Indexed bool  // from an index or such a table
	ID      int64 // of a row of another table; its column for it is nil
	Values  []any // nil, int64, float64, string or []byte
}

// Scan calls fn with each row that can be read in a file of size bytes, in the
// order of their pages. What is no page of rows, and each row that does not parse,
// is passed over; so are pages that the file says are free. It fails where the file
// cannot be read, and with the errors of fn. Time is linear in size.
func Scan(file io.ReaderAt, size int64, l Limits, fn func(Row) error) error {
	s := &scanner{file: file, max: l.MaxRow}
	if err := s.head(size, l.PageSize); err != nil {
		return err
	}
	free, err := s.freePages()
	if err != nil {
		return err
	}
	s.budget = overflowBudget * int64(s.pages)
	s.chained = make([]byte, s.pageSize)
	page := make([]byte, s.pageSize)
	for n := uint32(1); n <= s.pages; n++ {
		if free[n] {
			continue
		}
		if err := s.read(page, n); err != nil {
			return err
		}
		if err := s.page(page, n, fn); err != nil {
			return err
		}
	}
	return nil
}

type scanner struct {
	file     io.ReaderAt
	pageSize int
	usable   int // bytes of a page
	pages    uint32
	max      int            // bytes of a row
	budget   int64          // overflow pages that may still be read
	first    [headSize]byte // of the file
	overflow []byte         // of the last row that had some, with what came before it
	chained  []byte         // the overflow page read last
}

const (
	magic    = "SQLite format 3\x00" // how a file begins
	headSize = 100                   // bytes of the first page that are the file's
)

// head finds out how the file is cut into pages.
func (s *scanner) head(size int64, pageSize int) error {
	if _, err := s.file.ReadAt(s.first[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(s.first[:len(magic)]) == magic {
		said := int(binary.BigEndian.Uint16(s.first[16:]))
		if said == 1 {
			said = 1 << 16
		}
		if isPageSize(said) {
			pageSize = said
		}
	}
	if !isPageSize(pageSize) {
		return nil // no pages
	}
	s.pageSize, s.usable = pageSize, pageSize
	s.pages = uint32(min(size/int64(pageSize), 1<<32-2))
	return nil
}

func isPageSize(n int) bool { return n >= 512 && n <= 1<<16 && n&(n-1) == 0 }

// read reads page n, which counts from 1.
func (s *scanner) read(page []byte, n uint32) error {
	_, err := s.file.ReadAt(page, int64(n-1)*int64(s.pageSize))
	if errors.Is(err, io.EOF) {
		clear(page) // the file was cut meanwhile
		return nil
	}
	return err
}

// freePages returns the pages on the list of free ones, which may hold rows that
// were deleted; none where the list is not as long as the file says.
func (s *scanner) freePages() (map[uint32]bool, error) {
	if string(s.first[:len(magic)]) != magic {
		return nil, nil
	}
	free := make(map[uint32]bool)
	trunk := make([]byte, s.pageSize)
	for n := binary.BigEndian.Uint32(s.first[32:]); n != 0; n = binary.BigEndian.Uint32(trunk) {
		if n > s.pages || free[n] {
			return nil, nil
		}
		if err := s.read(trunk, n); err != nil {
			return nil, err
		}
		free[n] = true
		leaves := binary.BigEndian.Uint32(trunk[4:])
		if leaves > uint32(s.usable/4-2) {
			return nil, nil
		}
		for i := range leaves {
			leaf := binary.BigEndian.Uint32(trunk[8+4*i:])
			if leaf > s.pages || free[leaf] {
				return nil, nil
			}
			free[leaf] = true
		}
	}
	if len(free) != int(binary.BigEndian.Uint32(s.first[36:])) {
		return nil, nil
	}
	return free, nil
}

// page reads the rows of one page.
func (s *scanner) page(page []byte, n uint32, fn func(Row) error) error {
	at := 0
	if n == 1 {
		at = headSize
	}
	kind := page[at]
	head, child := 8, 0
	switch kind {
	case leafTable, leafIndex:
	case innerIndex: // it holds rows too
		head, child = 12, 4
	default:
		return nil
	}
	cells := int(binary.BigEndian.Uint16(page[at+3:]))
	pointers := at + head
	if pointers+2*cells > s.usable {
		return nil
	}
	for i := range cells {
		cell := int(binary.BigEndian.Uint16(page[pointers+2*i:]))
		if cell < pointers+2*cells || cell+child >= s.usable {
			continue
		}
		row, ok, err := s.cell(page[cell+child:s.usable], kind)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := fn(row); err != nil {
			return err
		}
	}
	return nil
}

// The kinds of pages with rows.
const (
	innerIndex = 0x02
	leafIndex  = 0x0a
	leafTable  = 0x0d
)

// cell reads the row whose cell begins b.
func (s *scanner) cell(b []byte, kind byte) (row Row, ok bool, err error) {
	length, b, ok := varint(b)
	if !ok || length > uint64(s.max) {
		return row, false, nil
	}
	most := (s.usable-12)*64/255 - 23 // of a row that is stored whole on its page
	if row.Indexed = kind != leafTable; !row.Indexed {
		var id uint64
		if id, b, ok = varint(b); !ok {
			return row, false, nil
		}
		row.ID, most = int64(id), s.usable-35
	}
	payload, ok, err := s.payload(b, int(length), most)
	if !ok || err != nil {
		return row, false, err
	}
	row.Values, ok = record(payload)
	return row, ok, nil
}

// payload returns the length bytes of a row that begin in b and may go on in
// overflow pages. It is valid until the next call.
func (s *scanner) payload(b []byte, length, most int) (payload []byte, ok bool, err error) {
	if length <= most {
		if length > len(b) {
			return nil, false, nil
		}
		return b[:length], true, nil
	}
	least := (s.usable-12)*32/255 - 23
	local := least + (length-least)%(s.usable-4)
	if local > most {
		local = least
	}
	if local+4 > len(b) {
		return nil, false, nil
	}
	payload = append(slices.Grow(s.overflow[:0], min(length, 1<<20)), b[:local]...)
	page := s.chained
	for n := binary.BigEndian.Uint32(b[local:]); len(payload) < length; n = binary.BigEndian.Uint32(page) {
		if n < 2 || n > s.pages || s.budget <= 0 {
			return nil, false, nil
		}
		s.budget--
		if err := s.read(page, n); err != nil {
			return nil, false, err
		}
		payload = append(payload, page[4:min(s.usable, 4+length-len(payload))]...)
	}
	s.overflow = payload
	return payload, true, nil
}
