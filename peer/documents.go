package peer

import (
	"context"
	"errors"
	"fmt"

	"arborist/document"
)

// A Listed is a document that the log of a corpus lists.
type Listed struct {
	Header document.Header
	Index  uint64 // of a record that lists it
}

// Documents asks one source for documents that a corpus lists, one by one, and
// hands on each that it has, verified against its header. From is what it is for
// [Peer.Sync]; a tree that was published without single documents has them read out
// of its packs. A document that the source lacks is left out; [ErrNoCorpus] says
// that it does not serve the corpus at all. Other faults of the
// source end it, as do errors of take; three requests in a row have to fail
// before it is given up as unavailable. Nothing is stored.
//
// The source learns which documents of the corpus are asked for.
func (p *Peer) Documents(ctx context.Context, from, origin string, wanted []Listed, take func(*document.Document) error) error {
	ctx, leave, err := p.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	id, err := ParseCorpusID(origin)
	if err != nil {
		return fmt.Errorf("ask for documents: %w", err)
	}
	src, err := p.open(ctx, from)
	if err != nil {
		return fmt.Errorf("ask for documents of %s: %w", id, err)
	}
	defer src.close()
	has, err := openShelf(ctx, src, id, mayBeTree(from))
	if errors.Is(err, ErrMissing) {
		err = ErrNoCorpus
	}
	if err != nil {
		return fmt.Errorf("ask for documents of %s: %w", id, err)
	}
	failed := 0 // in a row
	for _, w := range wanted {
		d, err := has.document(ctx, w)
		switch {
		case err == nil:
			failed, err = 0, take(d)
		case errors.Is(err, ErrMissing):
			failed, err = 0, nil
		case errors.Is(err, ErrUnavailable) && ctx.Err() == nil:
			// It may be this document that is damaged there, or all that is left.
			if failed++; failed < maxFailures {
				err = nil
			}
		}
		if err != nil {
			return fmt.Errorf("ask for documents of %s: %w", id, err)
		}
	}
	return nil
}

// maxFailures is how many requests in a row may fail before a source is given up.
const maxFailures = 3

// document reads one document by its root and verifies it.
func (s *source) document(ctx context.Context, corpus CorpusID, header document.Header) (*document.Document, error) {
	res := resource{kind: kindDoc, corpus: corpus, root: header.Root}
	body, err := s.open(ctx, res)
	if err != nil {
		return nil, err
	}
	return s.readDocument(ctx, res, body, header)
}

// readDocument reads one document, all of the body, and verifies it.
func (s *source) readDocument(ctx context.Context, res resource, body *body, header document.Header) (*document.Document, error) {
	defer body.Close()
	pack := packReader{r: body}
	body.allow(header.Bytes)
	text, _, err := pack.next(header)
	if err == nil {
		err = pack.end()
	}
	if err != nil {
		return nil, s.fail(ctx, res, err)
	}
	d, err := document.Verify(header, text)
	if err != nil {
		return nil, s.fail(ctx, res, fmt.Errorf("%w: %w", ErrTampered, err))
	}
	return d, nil
}
