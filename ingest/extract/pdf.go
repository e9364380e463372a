package extract

import (
	"context"
	"errors"
	"fmt"

	"arborist/ingest/extract/pdf"
)

// A PDFReader gives the text of PDF files: a [pdf.Reader].
type PDFReader interface {
	Read(ctx context.Context, file []byte) (pdf.Document, error)
}

// fromPDF gives the text of a PDF file.
func (e Extractor) fromPDF(ctx context.Context, body []byte) (Text, error) {
	if e.PDF == nil {
		return Text{}, unsupported("PDF document")
	}
	d, err := e.PDF.Read(ctx, body)
	switch {
	case errors.Is(err, pdf.ErrEncrypted):
		return Text{}, fmt.Errorf("%w: %w: save it without its password first", ErrUnsupported, err)
	case errors.Is(err, pdf.ErrFormat):
		return Text{}, fmt.Errorf("%w: %w", ErrUnsupported, err)
	case errors.Is(err, pdf.ErrLimit):
		return Text{}, fmt.Errorf("%w: %w: split it, or leave it out", ErrTooLarge, err)
	case errors.Is(err, pdf.ErrWorker), errors.Is(err, pdf.ErrClosed):
		return Text{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case err != nil:
		return Text{}, err
	case len(d.Text) == 0:
		return Text{}, fmt.Errorf("%w: no text on %d pages of a PDF file: have its pictures read (OCR) first, or leave it out", ErrEmpty, d.Pages)
	}
	return Text{Title: d.Title, Markdown: d.Text, Extractor: "pdf/1", ContentType: "application/pdf"}, nil
}
