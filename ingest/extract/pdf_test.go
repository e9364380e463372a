package extract

import (
	"context"
	"errors"
	"strings"
	"testing"

	"arborist/ingest/extract/pdf"
)

// answers is a reader that has one answer; package pdf has the real ones.
type answers struct {
	doc pdf.Document
	err error
}

func (a answers) Read(context.Context, []byte) (pdf.Document, error) { return a.doc, a.err }

func TestWhatAPDFReaderSaysIsPassedOn(t *testing.T) {
	gone := errors.New("gone")
	for _, c := range []struct {
		name  string
		said  answers
		want  error
		names string
	}{
		{"text", answers{doc: pdf.Document{Title: "T", Text: []byte("text"), Pages: 1}}, nil, ""},
		{"no text", answers{doc: pdf.Document{Title: "T", Pages: 7}}, ErrEmpty, "7 pages"},
		{"a password", answers{err: pdf.ErrEncrypted}, ErrUnsupported, "password"},
		{"damage", answers{err: pdf.ErrFormat}, ErrUnsupported, "not a sound PDF"},
		{"too much", answers{err: pdf.ErrLimit}, ErrTooLarge, "limit"},
		{"no worker", answers{err: pdf.ErrWorker}, ErrUnavailable, "worker"},
		{"the end", answers{err: gone}, gone, "gone"},
	} {
		got, err := Extractor{PDF: c.said}.Extract(t.Context(), "application/octet-stream", "", []byte("%PDF-1.7"))
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.names) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil && (string(got.Markdown) != "text" || got.Title != "T" || got.Extractor != "pdf/1" || got.ContentType != "application/pdf") {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// Programs put bytes of their own before a PDF file, and open such files.
func TestPDFFilesAreKnownByTheirBytes(t *testing.T) {
	r := Extractor{PDF: answers{doc: pdf.Document{Text: []byte("read as a PDF file")}}}
	for _, c := range []struct {
		contentType, body string
		want              bool
	}{
		{"", "%PDF-1.4\n", true},
		{"text/html", "%PDF-1.4\n", true},
		{"application/pdf", "\n\n%PDF-1.4\n", true},
		{"text/plain", "Files start with %PDF-1.4.", false},
		{"application/pdf", strings.Repeat(" x", 600) + "%PDF-1.4\n", false},
		{"application/pdf", "<p>Please log in.", false},
	} {
		got, _ := r.Extract(t.Context(), c.contentType, "", []byte(c.body))
		if is := got.Extractor == "pdf/1"; is != c.want {
			t.Errorf("%s %.20q: %v", c.contentType, c.body, is)
		}
	}
}
