package office

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"arborist/ingest/extract/internal/office/cfb"
)

// Names of the streams that tell what a compound file is.
const (
	streamWord      = "WordDocument"
	streamBook      = "Workbook"
	streamOldBook   = "Book" // until Excel 95
	streamSlides    = "PowerPoint Document"
	streamEncrypted = "EncryptedPackage" // an Office Open XML file with a password
)

// readCompound reads a binary file of Office.
func readCompound(ctx context.Context, body []byte) (Document, error) {
	f, err := cfb.Open(body)
	if err != nil {
		return Document{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	var d Document
	out := &markdown{}
	switch {
	case f.Has(streamEncrypted):
		return Document{}, ErrEncrypted
	case f.Has(streamWord):
		d.Kind, err = "doc", readWord(ctx, f, out)
	case f.Has(streamBook), f.Has(streamOldBook):
		d.Kind, err = "xls", readBook(ctx, f, out)
	case f.Has(streamSlides):
		d.Kind, err = "ppt", readSlides(ctx, f, out)
	default:
		err = fmt.Errorf("%w: a compound file without a document", ErrFormat)
	}
	if errors.Is(err, cfb.ErrFormat) || errors.Is(err, cfb.ErrNoStream) {
		err = fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if err != nil {
		return Document{}, err
	}
	title, number := f.Property(cfb.PropertyTitle)
	d.Title = oneLine(clean(strings.TrimRight(decode(number, title), "\x00")))
	if d.Title == "" || d.Kind == "ppt" && out.heading != "" {
		d.Title = out.heading
	}
	d.Markdown = bytes.TrimSpace(out.text)
	return d, nil
}
