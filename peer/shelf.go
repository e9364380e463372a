package peer

import (
	"context"
	"errors"
	"fmt"

	"arborist/document"
	"arborist/proof"
)

// A shelf gives single documents of one corpus at one source, where it is known at
// which place of the log they are listed. Of a published tree that has no files of
// single documents it reads the entry bundle, for the place in the pack, and the pack
// from there: nothing of the log is verified, the document is.
type shelf struct {
	src  *source
	id   CorpusID
	size uint64 // of the log, as the source says
	tree bool   // there may be packs alone

	bundle resource // the one that was read last
	items  []*item
}

func openShelf(ctx context.Context, src *source, id CorpusID, tree bool) (*shelf, error) {
	at := resource{kind: kindCheckpoint, corpus: id}
	note, err := src.get(ctx, at, maxCheckpoint)
	if err != nil {
		return nil, err
	}
	head, err := proof.ReadCheckpoint(note)
	if err != nil {
		return nil, src.fail(ctx, at, blameNote(err))
	}
	return &shelf{src: src, id: id, size: head.Size, tree: tree}, nil
}

// document returns one document, verified.
func (s *shelf) document(ctx context.Context, l Listed) (*document.Document, error) {
	if !s.tree || !s.src.docless.Load() {
		d, err := s.src.document(ctx, s.id, l.Header)
		if !s.tree || !errors.Is(err, ErrMissing) {
			return d, err
		}
	}
	d, err := s.packed(ctx, l)
	if err == nil {
		s.src.docless.Store(true)
	}
	return d, err
}

func (s *shelf) packed(ctx context.Context, l Listed) (*document.Document, error) {
	if l.Index >= s.size {
		return nil, fmt.Errorf("%w: its log ends before", ErrMissing)
	}
	at := resource{kind: kindEntries, corpus: s.id, index: l.Index / tileWidth}
	at.width = int(min(s.size-at.index*tileWidth, tileWidth))
	if s.bundle != at {
		left := int64(at.width) * (2 + maxRecord)
		items, err := s.src.records(ctx, at, &left)
		if err != nil {
			return nil, err
		}
		s.bundle, s.items = at, items
	}
	i := int(l.Index % tileWidth)
	if r := s.items[i].record; r.Op == proof.OpWithdraw || r.Header != l.Header {
		return nil, fmt.Errorf("%w: its log lists another there", ErrMissing)
	}
	pack := at
	pack.kind = kindPack
	place := placeOf(pack, s.items, i)
	body, err := s.src.openRange(ctx, place.pack, place.offset, elementSize(l.Header))
	if err != nil {
		return nil, err
	}
	return s.src.readDocument(ctx, place.pack, body, l.Header)
}
