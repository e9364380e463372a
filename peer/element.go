package peer

import (
	"context"
	"errors"

	"arborist/document"
	"arborist/proof"
)

// A place is where the element of a document stands in a pack.
type place struct {
	pack   resource
	offset int64 // in bytes
}

// placeOf returns the place of the document of record i of an entry bundle.
func placeOf(pack resource, all []*item, i int) place {
	at := place{pack: pack}
	for _, it := range all[:i] {
		if it.record.Op != proof.OpWithdraw {
			at.offset += elementSize(it.record.Header)
		}
	}
	return at
}

// element asks for one document by itself: by its root or, where the source does not
// have it so, as published trees need not, out of its pack. It returns the resource
// that the element is read from.
func (s *source) element(ctx context.Context, corpus CorpusID, header document.Header, at place) (*body, resource, error) {
	doc := resource{kind: kindDoc, corpus: corpus, root: header.Root}
	body, err := s.open(ctx, doc)
	if !errors.Is(err, ErrMissing) {
		return body, doc, err
	}
	s.docless.Store(true)
	if body, rangeErr := s.openRange(ctx, at.pack, at.offset, elementSize(header)); rangeErr == nil {
		return body, at.pack, nil
	}
	return nil, doc, err
}
