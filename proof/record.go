package proof

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"arborist/document"
)

// Limits of a record, in bytes. They are counted before escaping, but the line
// is counted as it stands.
const (
	MaxRecord = 16 << 10
	MaxURI    = 8 << 10
	MaxTitle  = 1 << 10
	MaxSource = 64
)

// An Op is what a record does to the corpus.
type Op string

const (
	// OpAdd lists a document at a URI that has no current document.
	OpAdd Op = "add"
	// OpSupersede lists a document at a URI in place of another.
	OpSupersede Op = "supersede"
	// OpWithdraw takes a document off the list at a URI. The log keeps what it
	// said before: a withdrawal hides nothing.
	OpWithdraw Op = "withdraw"
)

// A Record is one entry of a corpus's log. Add and supersede carry everything
// but Supersedes, which supersede alone carries; withdraw carries ID, URI and
// FetchedAt. Fields that an operation does not carry must be zero.
type Record struct {
	Op         Op
	ID         document.ID     // the document; equal to Header.ID()
	Header     document.Header // what ID is the hash of
	URI        string          // 1 to [MaxURI] bytes; the identity under which documents supersede each other
	Title      string          // up to [MaxTitle] bytes, may be empty
	Source     string          // up to [MaxSource] bytes, may be empty
	FetchedAt  time.Time       // when it was fetched or, of a withdrawal, withdrawn; whole seconds
	Supersedes document.ID     // the document that was current at the URI; zero: none
}

// NewRecord returns the record that lists a document at a location: an add, or
// a supersede where supersedes is not zero. Title and time are brought into
// the form that records demand; whatever else is wrong [Record.Line] reports.
func NewRecord(h document.Header, loc document.Location, supersedes document.ID) Record {
	r := Record{
		Op: OpAdd, ID: h.ID(), Header: h,
		URI: loc.URI, Title: TrimTitle(loc.Title), Source: loc.Source,
		FetchedAt: loc.FetchedAt.UTC().Truncate(time.Second),
	}
	if supersedes != (document.ID{}) {
		r.Op, r.Supersedes = OpSupersede, supersedes
	}
	return r
}

// Withdrawal returns the record that withdraws what r lists.
func (r Record) Withdrawal(at time.Time) Record {
	return Record{Op: OpWithdraw, ID: r.ID, URI: r.URI, FetchedAt: at.UTC().Truncate(time.Second)}
}

// TrimTitle brings a title into the form that records demand: control
// characters and line ends become spaces, bytes that are not UTF-8 become
// U+FFFD, and it is cut at a character boundary to at most [MaxTitle] bytes.
func TrimTitle(title string) string {
	title = strings.ToValidUTF8(title, "\uFFFD")
	title = strings.TrimSpace(strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, title))
	if len(title) <= MaxTitle {
		return title
	}
	end := MaxTitle
	for !utf8.RuneStart(title[end]) {
		end--
	}
	return strings.TrimSpace(title[:end])
}

// isControl reports whether records refuse r: C0, DEL, C1 and the two line
// ends of Unicode. Without them JSON has nothing to escape but the quotation
// mark and the backslash, and a record is one line for every program.
func isControl(r rune) bool {
	return r < ' ' || r >= 0x7f && r <= 0x9f || r == '\u2028' || r == '\u2029'
}

// check checks everything that [Record.Line] promises but the line's length.
func (r Record) check() error {
	if r.Op == OpWithdraw {
		return r.checkWith(hashedHeader{})
	}
	h, err := hashHeader(r.Header)
	if err != nil {
		return err
	}
	return r.checkWith(h)
}

// checkWith is check where the record's header has been checked and hashed.
func (r Record) checkWith(h hashedHeader) error {
	switch r.Op {
	case OpAdd, OpSupersede:
		if err := r.checkListing(h.id); err != nil {
			return err
		}
	case OpWithdraw:
		bare := Record{Op: r.Op, ID: r.ID, URI: r.URI, FetchedAt: r.FetchedAt}
		if r != bare {
			return fmt.Errorf("a withdraw carries an ID, a URI and a time alone")
		}
	default:
		return fmt.Errorf("op %.20q is not add, supersede or withdraw", r.Op)
	}
	if r.ID == (document.ID{}) {
		return fmt.Errorf("no document ID")
	}
	if r.URI == "" {
		return fmt.Errorf("no URI")
	}
	if t := r.FetchedAt.UTC(); t.IsZero() || t.Nanosecond() != 0 || t.Year() < 1 || t.Year() > 9999 {
		return fmt.Errorf("time %s is not whole seconds of the years 1 to 9999", t.Format(time.RFC3339Nano))
	}
	for _, f := range []struct {
		name, value string
		max         int
	}{{"uri", r.URI, MaxURI}, {"title", r.Title, MaxTitle}, {"source", r.Source, MaxSource}} {
		if len(f.value) > f.max {
			return fmt.Errorf("%s: %w: %d bytes, at most %d", f.name, ErrTooLarge, len(f.value), f.max)
		}
		if !utf8.ValidString(f.value) {
			return fmt.Errorf("%s is not UTF-8", f.name)
		}
		if strings.ContainsFunc(f.value, isControl) {
			return fmt.Errorf("%s holds a control character or line end", f.name)
		}
	}
	return nil
}

// checkListing checks what add and supersede carry beyond a withdraw.
func (r Record) checkListing(id document.ID) error {
	if r.ID != id {
		return fmt.Errorf("%w: ID %s, the header fields give %s", ErrTampered, r.ID, id)
	}
	switch none := r.Supersedes == (document.ID{}); {
	case r.Op == OpAdd && !none:
		return fmt.Errorf("an add supersedes nothing")
	case r.Op == OpSupersede && none:
		return fmt.Errorf("a supersede names no document to supersede")
	case r.Supersedes == r.ID:
		return fmt.Errorf("the document supersedes itself")
	}
	return nil
}
