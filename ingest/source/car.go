package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"arborist/document/car"
	"arborist/ingest"
	"arborist/ingest/extract"
)

// CAR is an archive of documents in CARv1 form as an [ingest.Source]: one that
// package car wrote, or another tool with the same blocks. The whole archive is
// verified before the first document is emitted, so one that is damaged or cut
// off brings nothing in.
//
// Bodies are canonical text; they are to be run with [Canonical]. A document
// that the archive has no location for gets its ID as an ipfs: URI.
type CAR struct {
	Path     string
	Progress func(bytes int64) // hears how much was verified; may be nil
}

var _ ingest.Source = CAR{}

// Documents implements [ingest.Source].
func (c CAR) Documents(ctx context.Context, emit func(ingest.Raw) error, fail func(uri string, err error)) error {
	// Without O_NONBLOCK a pipe would be waited for.
	f, err := os.OpenFile(c.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return fmt.Errorf("read archive %s: %w", c.Path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read archive %s: %w", c.Path, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("read archive %s: %w", c.Path, ErrNotRegular)
	}
	archive, err := car.Open(ctx, f, info.Size(), c.Progress)
	if err == nil {
		err = archive.Each(ctx, func(item car.Item) error {
			h := item.Document.Header()
			if len(item.Locations) == 0 {
				raw := ingest.Raw{Body: item.Document.Text()}
				raw.Location.URI, raw.Location.Source = "ipfs:"+h.ID().String(), "car"
				return emit(raw)
			}
			for _, l := range item.Locations {
				// The pipeline may change what it is given.
				if err := emit(ingest.Raw{Location: l, Body: append([]byte(nil), item.Document.Text()...)}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("read archive %s: %w", c.Path, err)
	}
	return nil
}

// Canonical is the [ingest.ExtractFunc] of text that is canonical already.
func Canonical(_ context.Context, contentType, _ string, body []byte) (extract.Text, error) {
	return extract.Text{Markdown: body, ContentType: contentType}, nil
}
