// Package office reads the text of files of office programs: Office Open XML
// (.docx, .xlsx, .pptx), the binary files that Office wrote before 2007 (.doc,
// .xls, .ppt) and Rich Text Format (.rtf). Bytes decide which it is.
//
// [Read] guarantees:
//
//   - The same bytes give the same text for one [Document.Kind] and version of
//     the extractor that is named after it.
//   - Bounded work: at most 10,000 parts, 32 MiB of XML (2 s, of which no tag or
//     text has over 4 MiB) with 64 tables or paragraphs in each other, and 8 MiB
//     of text; of binary files and RTF, every byte is read a fixed number of times
//     at most, whatever sizes and counts they declare. No entity is expanded, and
//     nothing outside the file is read.
//   - What it cannot read is an error, never a part of the text alone.
//
// Text is what a reader sees in the body of the file: headings, lists and tables
// as such, notes at the end. Headers, footers, comments, deleted text, charts,
// a speaker's notes, the numbers of list items and the number formats of cells
// are left out: a date in a cell is the number that it is stored as.
package office

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"arborist/ingest/extract/internal/office/cfb"
)

const (
	maxText  = 8 << 20 // bytes of text that are made of a file
	maxTitle = 4096    // bytes, after which no more is added to a title
)

var (
	// ErrFormat: it is no file of an office program, or a damaged one.
	ErrFormat = errors.New("not a sound Office file")
	// ErrTooLarge: it is over a limit of this package.
	ErrTooLarge = errors.New("office file is too large")
	// ErrEncrypted: it opens with a password only.
	ErrEncrypted = errors.New("office file is encrypted")
)

// A Document is the text of a file.
type Document struct {
	Kind     string // "docx", "xlsx", "pptx", "doc", "xls", "ppt" or "rtf"
	Title    string // from its properties or first heading; may be empty
	Markdown []byte
}

// Container names what a file is by its first bytes, and is empty where it can
// be no file of an office program.
func Container(body []byte) string {
	for _, c := range []struct{ magic, name string }{
		{zipMagic, "ZIP archive"}, {cfb.Magic, "compound file"}, {rtfMagic, "RTF file"},
	} {
		if bytes.HasPrefix(body, []byte(c.magic)) {
			return c.name
		}
	}
	return ""
}

// Is reports whether a file is one of an office program, and not something else
// in the same container, such as a program in a zip file or an installer in a
// compound one. It may be a damaged or an encrypted one.
func Is(body []byte) bool {
	switch Container(body) {
	case "RTF file":
		return true
	case "ZIP archive":
		return bytes.Contains(body, []byte("_rels/.rels")) // in its list of files
	case "compound file":
		for _, name := range []string{streamWord, streamBook, streamOldBook, streamSlides, streamEncrypted} {
			if bytes.Contains(body, []byte(strings.Join(strings.Split(name, ""), "\x00")+"\x00\x00")) {
				return true
			}
		}
	}
	return false
}

// Begins is [Is] for the first bytes of a file: of a zip file the name of what
// comes first in it counts, of a compound file nothing more.
func Begins(start []byte) bool {
	if Container(start) != "ZIP archive" {
		return Container(start) != ""
	}
	name := start[min(len(start), zipNameAt):]
	for _, first := range []string{"[Content_Types].xml", "_rels/", "docProps/", "word/", "xl/", "ppt/"} {
		if bytes.HasPrefix(name, []byte(first)) {
			return true
		}
	}
	return false
}

// Read reads a file. Its errors are [ErrFormat], [ErrTooLarge], [ErrEncrypted]
// and the context's.
func Read(ctx context.Context, body []byte) (Document, error) {
	switch {
	case bytes.HasPrefix(body, []byte(cfb.Magic)):
		return readCompound(ctx, body)
	case bytes.HasPrefix(body, []byte(rtfMagic)):
		return readRTF(ctx, body)
	}
	return readOpenXML(ctx, body)
}
