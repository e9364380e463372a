package extract

import (
	"context"
	"errors"
	"fmt"

	"arborist/ingest/extract/internal/office"
)

// fromOffice gives the text of a file of an office program.
func fromOffice(ctx context.Context, body []byte) (Text, error) {
	d, err := office.Read(ctx, body)
	switch {
	case errors.Is(err, office.ErrTooLarge):
		return Text{}, fmt.Errorf("%w: %w: split it, or leave it out", ErrTooLarge, err)
	case errors.Is(err, office.ErrEncrypted):
		return Text{}, fmt.Errorf("%w: %w: save it without its password first", ErrUnsupported, err)
	case errors.Is(err, office.ErrFormat):
		return Text{}, fmt.Errorf("%w: %s: %w", ErrUnsupported, office.Container(body), err)
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
	"doc":  "application/msword",
	"xls":  "application/vnd.ms-excel",
	"ppt":  "application/vnd.ms-powerpoint",
	"rtf":  "application/rtf",
}

// isOfficeType reports whether a file is declared as one of an office program.
// Not a few that are no such file are pages of HTML.
func isOfficeType(media string) bool {
	for _, t := range officeTypes {
		if t == media {
			return true
		}
	}
	return false
}

// IsDocument reports whether bytes are a document file that [Extract] reads
// whatever they are declared as: to many servers such files are just bytes.
func IsDocument(body []byte) bool { return office.Is(body) || isPDF("", body) }

// BeginsDocument is [IsDocument] for the first bytes of a file, some hundred of
// them. It may take something else for a document.
func BeginsDocument(start []byte) bool { return office.Begins(start) || isPDF("", start) }
