package source

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits of a WARC file beside those of its documents.
const (
	warcHeader = 64 << 10  // bytes of a record's header
	warcFields = 200       // lines of it
	warcRatio  = 200       // decompressed bytes in all for each byte of the file,
	warcFloor  = 256 << 20 // and so many in any case
)

var (
	// ErrCut: an archive ends in the middle of a record, or is damaged there.
	ErrCut = errors.New("archive is cut off or damaged")
	// ErrBomb: an archive grows out of all proportion when it is decompressed.
	ErrBomb = errors.New("archive decompresses to far more than it is")
	// ErrArchive: a file is no archive of the kind that its name says.
	ErrArchive = errors.New("not a WARC archive")
)

// A warcRecord is the header of a record.
type warcRecord struct {
	offset int64             // of the gzip member, or of the record, in the file
	first  bool              // it is the first one there
	fields map[string]string // by lower-case name; of repeated ones the first
	length int64             // of its block
}

// uri gives the target without the brackets that some writers add.
func (r warcRecord) uri() string {
	return strings.TrimSuffix(strings.TrimPrefix(r.fields["warc-target-uri"], "<"), ">")
}

// A warcReader reads the records of one WARC file one after the other, gzipped
// by record, gzipped whole, or plain. It holds no more than a header.
type warcReader struct {
	file   *meter
	src    *bufio.Reader    // of file
	zip    *gzip.Reader     // reused
	member *bufio.Reader    // what records are read from: a member, or src itself
	spent  *spend           // on members
	block  io.LimitedReader // what is left of the current record's block
	plain  bool
	begun  bool // a record of the member was read
	read   int  // records so far
}

// A meter counts the bytes read from a file.
type meter struct {
	r io.Reader
	n int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	return n, err
}

// A budget is how many bytes may still come out of a file: by decompression of its
// records, by that of the bodies in them, and by revisits of these.
type budget struct{ left int64 }

func newBudget(size int64) *budget { return &budget{max(size*warcRatio, warcFloor)} }

// take takes n bytes, and fails where none are left.
func (b *budget) take(n int64) error {
	if b.left -= n; b.left <= 0 {
		return fmt.Errorf("%w: unpack it yourself if you trust it", ErrBomb)
	}
	return nil
}

// A spend reader fails once its budget is spent.
type spend struct {
	r      io.Reader
	budget *budget
}

func (s *spend) Read(p []byte) (int, error) {
	if err := s.budget.take(0); err != nil {
		return 0, err
	}
	n, err := s.r.Read(p[:min(int64(len(p)), s.budget.left)])
	s.budget.left -= int64(n)
	return n, err
}

// newWARC reads r, which holds size bytes.
func newWARC(r io.Reader, size int64) *warcReader {
	w := &warcReader{file: &meter{r: r}, spent: &spend{budget: newBudget(size)}}
	w.src = bufio.NewReaderSize(w.file, 64<<10)
	return w
}

// at gives how far the file has been read.
func (w *warcReader) at() int64 { return w.file.n - int64(w.src.Buffered()) }

// next gives the next record, whose block is then read from w.block. At a
// clean end of the file it gives io.EOF.
func (w *warcReader) next() (rec warcRecord, err error) {
	if _, err := io.Copy(io.Discard, &w.block); err != nil {
		return rec, w.damaged(err)
	}
	if w.block.N > 0 {
		return rec, w.damaged(io.ErrUnexpectedEOF)
	}
	rec.offset, rec.first, err = w.seek()
	if err != nil {
		return rec, err
	}
	if err := w.header(&rec); err != nil {
		return rec, w.damaged(err)
	}
	w.read++
	w.block = io.LimitedReader{R: w.member, N: rec.length}
	return rec, nil
}

// seek goes to the start of the next record, into the next member if need be.
func (w *warcReader) seek() (offset int64, first bool, err error) {
	for {
		if w.member != nil {
			c, err := w.member.ReadByte()
			switch {
			case err == nil && (c == '\r' || c == '\n'): // between records
				continue
			case err == nil:
				w.member.UnreadByte()
				if w.plain {
					return w.at(), true, nil
				}
				first, w.begun = !w.begun, true
				return offset, first, nil
			case err != io.EOF:
				return 0, false, w.damaged(err)
			case w.plain:
				return 0, false, io.EOF
			}
			w.member = nil
		}
		offset, err = w.at(), nil
		magic, err := w.src.Peek(2)
		switch {
		case len(magic) == 0 && err == io.EOF:
			return 0, false, io.EOF
		case bytes.Equal(magic, []byte{0x1f, 0x8b}):
			if err := w.openMember(); err != nil {
				return 0, false, w.damaged(err)
			}
		case offset == 0 && bytes.Equal(magic, []byte("WA")):
			w.member, w.plain = w.src, true
		default:
			return 0, false, w.damaged(errors.New("no record starts here"))
		}
	}
}

func (w *warcReader) openMember() (err error) {
	if w.zip == nil {
		w.zip, err = gzip.NewReader(w.src)
	} else {
		err = w.zip.Reset(w.src)
	}
	if err != nil {
		return err
	}
	w.zip.Multistream(false) // so that the next member's place in the file is known
	w.spent.r, w.begun = w.zip, false
	w.member = bufio.NewReaderSize(w.spent, 32<<10)
	return nil
}

// damaged says where the file stops making sense.
func (w *warcReader) damaged(err error) error {
	if errors.Is(err, ErrBomb) {
		return err
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if w.read == 0 && err != io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: %w", ErrArchive, err)
	}
	return fmt.Errorf("%w at byte %d (%w): what comes before was read, what comes after was not", ErrCut, w.at(), err)
}

// header reads the version line and the fields.
func (w *warcReader) header(rec *warcRecord) error {
	left := warcHeader
	first, err := w.line(&left)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(first, "WARC/1.") && !strings.HasPrefix(first, "WARC/0.1") {
		return fmt.Errorf("%.20q is no WARC version", first)
	}
	rec.fields = map[string]string{}
	last := ""
	for n := 0; ; n++ {
		s, err := w.line(&left)
		switch {
		case err != nil:
			return err
		case s == "":
			rec.length, err = strconv.ParseInt(rec.fields["content-length"], 10, 64)
			if err != nil || rec.length < 0 {
				return fmt.Errorf("content length %.30q is no number", rec.fields["content-length"])
			}
			return nil
		case n >= warcFields:
			return fmt.Errorf("a header of more than %d lines", warcFields)
		case (s[0] == ' ' || s[0] == '\t') && last != "":
			rec.fields[last] += " " + strings.TrimSpace(s)
			continue
		}
		name, value, ok := strings.Cut(s, ":")
		if !ok {
			return fmt.Errorf("%.30q is no header line", s)
		}
		last = strings.ToLower(strings.TrimSpace(name))
		if _, twice := rec.fields[last]; !twice {
			rec.fields[last] = strings.TrimSpace(value)
		} else {
			last = "(repeated)"
		}
	}
}

// line reads one line without its end, of at most *left bytes.
func (w *warcReader) line(left *int) (string, error) {
	var b []byte
	for {
		piece, err := w.member.ReadSlice('\n')
		if *left -= len(piece); *left < 0 {
			return "", fmt.Errorf("a header of more than %d bytes", warcHeader)
		}
		b = append(b, piece...)
		switch {
		case err == nil:
			return strings.TrimRight(string(b), "\r\n"), nil
		case err != bufio.ErrBufferFull:
			return "", err
		}
	}
}
