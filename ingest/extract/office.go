package extract

import (
	"context"
	"errors"
	"fmt"

	"arborist/ingest/extract/internal/office"
)

// fromOffice gives the text of a zip file that is an Office Open XML file.
func fromOffice(ctx context.Context, body []byte) (Text, error) {
	d, err := office.Read(ctx, body)
	switch {
	case errors.Is(err, office.ErrTooLarge):
		return Text{}, fmt.Errorf("%w: %w: split it, or leave it out", ErrTooLarge, err)
	case errors.Is(err, office.ErrFormat):
		return Text{}, fmt.Errorf("%w: ZIP archive: %w", ErrUnsupported, err)
	case err != nil:
		return Text{}, err
	case len(d.Markdown) == 0:
		return Text{}, fmt.Errorf("%w: an Office file of pictures or nothing: leave it out", ErrEmpty)
	}
	return Text{Title: d.Title, Markdown: d.Markdown, Extractor: d.Kind + "/1", ContentType: officeTypes[d.Kind]}, nil
}

var officeTypes = map[string]string{
	"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}
