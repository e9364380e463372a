// Package pdftest lets tests read PDF files with the real worker, and write
// small ones.
package pdftest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arborist/ingest/extract"
	"arborist/ingest/extract/pdf"
	"arborist/ingest/extract/pdf/worker"
)

// Main is the TestMain of a package whose tests read PDF files: the test program
// is its own worker.
func Main(m *testing.M) {
	Serve()
	os.Exit(m.Run())
}

// Serve is for a TestMain with other things to do, at its start: where the test
// program was started as a worker, it does not return.
func Serve() {
	if worker.Asked(os.Args) {
		os.Exit(worker.Main(os.Args))
	}
}

// Extract makes text with a reader of PDF files.
func Extract(t testing.TB) func(ctx context.Context, contentType, uri string, body []byte) (extract.Text, error) {
	return extract.Extractor{PDF: Reader(t)}.Extract
}

// Config has all tests of a machine share compiled code: to make it takes seconds.
func Config() pdf.Config {
	return pdf.Config{Command: pdf.Self(), Cache: filepath.Join(os.TempDir(), fmt.Sprintf("arborist-test-%d", os.Geteuid()), "pdf")}
}

// Reader gives a reader that is closed when the test ends.
func Reader(t testing.TB) *pdf.Reader {
	r := pdf.NewReader(Config())
	t.Cleanup(r.Close)
	return r
}

// File gives a PDF file with a title and one line of text on each page. Where there
// is no line, the page shows nothing.
func File(title string, pages ...string) []byte {
	var b bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), fmt.Sprintf(format, args...))
	}
	b.WriteString("%PDF-1.4\n")
	kids := ""
	for i := range pages {
		kids += fmt.Sprintf("%d 0 R ", 5+2*i)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [ %s] /Count %d >>", kids, len(pages))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	object("<< /Title (%s) >>", literal(title))
	for i, line := range pages {
		content := ""
		if line != "" {
			content = fmt.Sprintf("BT /F1 12 Tf 72 720 Td (%s) Tj ET", literal(line))
		}
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", 6+2*i)
		object("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer << /Size %d /Root 1 0 R /Info 4 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return b.Bytes()
}

func literal(s string) string {
	return strings.NewReplacer(`\`, `\\`, `(`, `\(`, `)`, `\)`).Replace(s)
}
