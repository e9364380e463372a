package peer

import (
	"context"
	"errors"
	"fmt"

	"arborist/document"
	"arborist/proof"
)

// searchedLog is how many bytes of records are read at most to find one document.
const searchedLog = 64 << 20

// packed finds a document in the log of a published tree that has no file of it, and
// reads it out of its pack. Nothing of that log is verified: the document is, by its
// root. Left is how many bytes of records may still be read, and is counted down.
func (p *Peer) packed(ctx context.Context, src *source, id CorpusID, root document.Root, left *int64) (*document.Document, error) {
	at := resource{kind: kindCheckpoint, corpus: id}
	note, err := src.get(ctx, at, maxCheckpoint)
	if err != nil {
		return nil, err
	}
	head, err := proof.ReadCheckpoint(note)
	if err != nil {
		return nil, src.fail(ctx, at, blameNote(err))
	}
	if p.chanceOf(ctx, &holder{id: id, size: head.Size, sources: []*source{src}}, root) == denied {
		return nil, fmt.Errorf("%w: its filter denies it", ErrMissing)
	}
	for index := uint64(0); index*tileWidth < head.Size; index++ {
		width := int(min(head.Size-index*tileWidth, tileWidth))
		items, err := src.records(ctx, resource{kind: kindEntries, corpus: id, index: index, width: width}, left)
		if err != nil {
			return nil, err
		}
		for i, it := range items {
			if it.record.Op == proof.OpWithdraw || it.record.Header.Root != root {
				continue
			}
			place := placeOf(resource{kind: kindPack, corpus: id, index: index, width: width}, items, i)
			body, err := src.openRange(ctx, place.pack, place.offset, elementSize(it.record.Header))
			if err != nil {
				return nil, err
			}
			defer body.Close()
			body.allow(0)
			d, err := readAny(body, root)
			return d, src.fail(ctx, place.pack, err)
		}
	}
	return nil, fmt.Errorf("%w: its log does not list it", ErrMissing)
}

// records reads an entry bundle without a proof that it is of the log.
func (s *source) records(ctx context.Context, res resource, left *int64) ([]*item, error) {
	raw, err := s.get(ctx, res, min(*left, int64(res.width)*(2+maxRecord)))
	if errors.Is(err, ErrTooLarge) {
		return nil, ErrTreeDocuments
	}
	if err != nil {
		return nil, err
	}
	*left -= int64(len(raw))
	lines, err := splitBundle(raw, res.width)
	if err != nil {
		return nil, s.fail(ctx, res, err)
	}
	items := make([]*item, len(lines))
	for i, line := range lines {
		r, err := proof.ParseRecord(line)
		if err != nil {
			return nil, s.fail(ctx, res, fmt.Errorf("%w: %w", ErrMalformed, err))
		}
		items[i] = &item{line: line, record: r}
	}
	return items, nil
}
