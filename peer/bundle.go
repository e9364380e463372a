package peer

import (
	"encoding/binary"
	"fmt"

	"arborist/document"
	"arborist/merkle"
	"arborist/proof"
)

// entries reads an entry bundle and checks its records against the signed
// head before anything in them is believed.
func (f *fetcher) entries(src *source, index uint64) ([]*item, error) {
	res := resource{kind: kindEntries, corpus: f.corpus, index: index, width: f.width(index)}
	raw, err := src.get(f.ctx, res, int64(res.width)*(2+maxRecord))
	if err != nil {
		return nil, err
	}
	lines, err := splitBundle(raw, res.width)
	if err != nil {
		return nil, src.fail(f.ctx, res, err)
	}
	leaves := make([]merkle.Hash, len(lines))
	for i, line := range lines {
		leaves[i] = merkle.LeafHash(line)
	}
	if err := f.tree.verifyBundle(index, leaves); err != nil {
		return nil, src.fail(f.ctx, res, err)
	}
	items := make([]*item, len(lines))
	for i, line := range lines {
		r, err := proof.ParseRecord(line)
		if err != nil {
			return nil, src.fail(f.ctx, res, fmt.Errorf("%w: the publisher signed record %d: %w", ErrMalformed, index*tileWidth+uint64(i), err))
		}
		if h := r.Header; r.Op != proof.OpWithdraw && (h.Norm != document.NormName || h.Chunker != document.ChunkerName) {
			return nil, src.fail(f.ctx, res, fmt.Errorf("%w: document %s is in the form %s, %s", ErrNewer, h.Root, h.Norm, h.Chunker))
		}
		items[i] = &item{line: line, record: r, ready: make(chan struct{})}
	}
	return items, nil
}

// splitBundle splits an entry bundle into the lines of its records.
func splitBundle(raw []byte, records int) ([][]byte, error) {
	lines := make([][]byte, 0, records)
	for len(raw) > 0 && len(lines) < records {
		if len(raw) < 2 {
			return nil, ErrTruncated
		}
		n := int(binary.BigEndian.Uint16(raw))
		if n > maxRecord {
			return nil, fmt.Errorf("%w: a record of %d bytes", ErrTooLarge, n)
		}
		if len(raw) < 2+n {
			return nil, ErrTruncated
		}
		lines = append(lines, raw[2:2+n:2+n])
		raw = raw[2+n:]
	}
	switch {
	case len(lines) < records:
		return nil, ErrTruncated
	case len(raw) > 0:
		return nil, fmt.Errorf("%w: bytes follow the last record", ErrMalformed)
	}
	return lines, nil
}
