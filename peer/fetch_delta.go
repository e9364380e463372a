package peer

import (
	"bufio"
	"context"
	"errors"

	"arborist/document"
	"arborist/merkle"
	"arborist/proof"
)

// minDelta is the size from which on a document may come as a delta, in bytes. A
// smaller one comes among others in a pack, and what it would save is less than what
// a request of its own costs: docs/decisions/011.
const minDelta = 128 << 10

// hasDeltas reports whether a source may have deltas.
func (s *source) hasDeltas() bool { return s.deltaless.Load() < maxFailures }

// findOld finds, for each document that is missing and could come as a delta, a
// version of its URI that is here: the newest one under the head that was followed
// before. That version was stored before the head moved.
func (f *fetcher) findOld(all []*item, b *bundle) error {
	if f.known.Size == 0 {
		return nil
	}
	for i, it := range all {
		r := it.record
		if i < b.next || !b.missing[i] || r.Op != proof.OpSupersede || r.Header.Bytes < minDelta {
			continue
		}
		history, err := f.store.History(f.ctx, f.corpus.String(), r.URI, 1)
		if err != nil {
			return err
		}
		// The old one bounds what a delta can make a reader hold.
		if len(history) == 1 && history[0].Record.Op != proof.OpWithdraw && r.Header.Chunks <= 2*history[0].Record.Header.Chunks {
			it.old = &history[0].Record.Header
		}
	}
	return nil
}

// fetchDelta makes the next document of a bundle of an older version that is here
// and the chunks that it lacks. It reports false where there is no delta to be had,
// and the document has to come whole.
func (f *fetcher) fetchDelta(src *source, b *bundle) (made bool, err error) {
	it := b.all[b.next]
	if err := f.hold(b, it); err != nil {
		return false, err
	}
	old, err := f.shared.Document(f.ctx, it.old.Root)
	if err != nil { // damaged, which a check says
		return false, context.Cause(f.ctx)
	}
	header := it.record.Header
	res := resource{kind: kindDelta, corpus: f.corpus, root: header.Root, old: it.old.Root}
	body, err := src.open(f.ctx, res)
	if errors.Is(err, ErrMissing) || errors.Is(err, ErrUnavailable) {
		src.deltaless.Add(1)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer body.Close()
	src.deltaless.Store(0)
	text, came, err := readDelta(body, header, old)
	if err != nil {
		return false, src.fail(f.ctx, res, err)
	}
	f.arriving.Add(came)
	return true, f.verify(src, b, res, text, nil, came)
}

// readDelta reads a delta and returns the text of the document, not verified yet,
// and how many bytes of it came.
func readDelta(body *body, header document.Header, old *document.Document) (text []byte, came int64, err error) {
	d := deltaReader{r: bufio.NewReader(body), header: header, old: old}
	body.allow(header.Chunks * merkle.HashSize)
	if err := d.list(); err != nil {
		return nil, 0, err
	}
	body.allow(uint64(d.bytes))
	text, err = d.text()
	body.pause()
	return text, d.bytes, err
}
