package proof

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"arborist/document"
	"arborist/merkle"
)

// NewBundle puts single proofs, in rank order, into one bundle. Each must hold
// its passage, and those of one corpus must be under one note, byte for byte:
// otherwise it fails with [ErrCheckpoints]. No two may be of one place. Each is
// verified, but without a key: no signature is checked.
func NewBundle(proofs []*Proof) (*Bundle, error) {
	b, err := newBundle(proofs)
	if err != nil {
		return nil, fmt.Errorf("make bundle: %w", err)
	}
	return b, nil
}

func newBundle(proofs []*Proof) (*Bundle, error) {
	switch n := len(proofs); {
	case n == 0:
		return nil, fmt.Errorf("%w: no hits", ErrFormat)
	case n > MaxHits:
		return nil, fmt.Errorf("%w: %d hits, at most %d", ErrTooLarge, n, MaxHits)
	}
	m := bundleMaker{logs: map[string]*madeLog{}, documents: map[document.ID]*madeDocument{}}
	for i, p := range proofs {
		// Merging drops hashes that follow from others, so a wrong one among them
		// would go unseen later.
		_, err := Verify(p, Expect{})
		if err == nil {
			err = m.add(i, p)
		}
		if err != nil {
			return nil, fmt.Errorf("hit %d: %w", i+1, err)
		}
	}
	return m.bundle(len(proofs))
}

// A bundleMaker groups single proofs by what they share.
type bundleMaker struct {
	logs      map[string]*madeLog // by origin
	documents map[document.ID]*madeDocument
}

type madeLog struct {
	origin  string
	size    uint64
	note    []byte
	records map[uint64]*madeDocument // by index
}

// A madeDocument is a document with the proofs of its passages.
type madeDocument struct {
	entry    Inclusion // of its record
	record   *Record
	line     []byte
	header   document.Header
	id       document.ID
	passages []madePassage
}

type madePassage struct {
	rank int // from 0
	*Proof
}

func (m *bundleMaker) add(rank int, p *Proof) error {
	c, err := p.check(ReadCheckpoint)
	if err != nil {
		return err
	}
	d := &madeDocument{header: p.Header, id: c.header.id}
	if p.Log == nil {
		d = known(m.documents, d.id, d)
	} else {
		d.record, d.line, d.entry = &p.Log.Record, c.line, p.Log.Entry
		head := c.checkpoint
		l := known(m.logs, head.Origin, &madeLog{origin: head.Origin, size: head.Size, note: p.Log.Note, records: map[uint64]*madeDocument{}})
		if !bytes.Equal(l.note, p.Log.Note) {
			return fmt.Errorf("%w: of %s, at size %d and at size %d", ErrCheckpoints, head.Origin, l.size, head.Size)
		}
		first := known(l.records, d.entry.Index, d)
		if !bytes.Equal(first.line, d.line) {
			return fmt.Errorf("%w: another hit has another record at %d in the log of %s", ErrTampered, d.entry.Index, head.Origin)
		}
		d = first
	}
	for _, other := range d.passages {
		if other.Chunk.Index == p.Chunk.Index {
			return fmt.Errorf("%w: hit %d is of the same place", ErrFormat, other.rank+1)
		}
	}
	d.passages = append(d.passages, madePassage{rank, p})
	return nil
}

// known returns what stands at key, which is v where nothing has stood there.
func known[K comparable, V any](m map[K]V, key K, v V) V {
	if have, ok := m[key]; ok {
		return have
	}
	m[key] = v
	return v
}

// bundle sorts everything and merges the paths.
func (m *bundleMaker) bundle(hits int) (*Bundle, error) {
	b := &Bundle{Hits: make([]Place, hits)}
	number := uint64(0)
	document := func(d *madeDocument) (BundleDocument, error) {
		for _, p := range d.passages {
			b.Hits[p.rank] = Place{number, p.Chunk.Index}
		}
		number++
		return d.merge()
	}
	for _, l := range sorted(m.logs, func(x, y *madeLog) int { return cmp.Compare(x.origin, y.origin) }) {
		made := BundleLog{Note: bytes.Clone(l.note)}
		var paths [][]merkle.Hash
		for _, r := range sorted(l.records, func(x, y *madeDocument) int { return cmp.Compare(x.entry.Index, y.entry.Index) }) {
			d, err := document(r)
			if err != nil {
				return nil, err
			}
			d.Index, d.Record = r.entry.Index, r.record
			made.Documents = append(made.Documents, d)
			paths = append(paths, r.entry.Path)
		}
		var err error
		if made.Path, err = merkle.MergeInclusion(made.indices(), l.size, paths); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrTampered, err)
		}
		b.Logs = append(b.Logs, made)
	}
	for _, s := range sorted(m.documents, func(x, y *madeDocument) int { return bytes.Compare(x.id[:], y.id[:]) }) {
		d, err := document(s)
		if err != nil {
			return nil, err
		}
		b.Documents = append(b.Documents, d)
	}
	return b, nil
}

func sorted[K comparable, V any](m map[K]V, compare func(x, y V) int) []V {
	all := make([]V, 0, len(m))
	for _, v := range m {
		all = append(all, v)
	}
	slices.SortFunc(all, compare)
	return all
}

func (d *madeDocument) merge() (BundleDocument, error) {
	slices.SortFunc(d.passages, func(x, y madePassage) int { return cmp.Compare(x.Chunk.Index, y.Chunk.Index) })
	made := BundleDocument{Header: d.header}
	var paths [][]merkle.Hash
	for _, p := range d.passages {
		made.Passages = append(made.Passages, Passage{Chunk: p.Chunk.Index, Text: p.Text})
		paths = append(paths, p.Chunk.Path)
	}
	var err error
	if made.Path, err = merkle.MergeInclusion(made.indices(), d.header.Chunks, paths); err != nil {
		return made, fmt.Errorf("%w: %w", ErrTampered, err)
	}
	return made, nil
}

// Proofs returns the single proof of each hit, in rank order, with its passage.
// They verify exactly where the bundle does. It fails where b has no encoding.
func (b *Bundle) Proofs() ([]*Proof, error) {
	c, err := b.check(ReadCheckpoint)
	if err != nil {
		return nil, fmt.Errorf("split bundle: %w", err)
	}
	at := map[Place]*Proof{}
	number := 0
	split := func(d *BundleDocument, log func() *LogPart) error {
		paths, err := merkle.SplitMulti(d.leaves(), d.indices(), d.Header.Chunks, d.Path)
		if err != nil {
			return err
		}
		for i, p := range d.Passages {
			at[Place{uint64(number), p.Chunk}] = &Proof{
				Chunk: Inclusion{Index: p.Chunk, Path: paths[i]}, Header: d.Header, Log: log(), Text: p.Text,
			}
		}
		number++
		return nil
	}
	for i := range b.Logs {
		l := &b.Logs[i]
		leaves := recordLeaves(c.lines[number : number+len(l.Documents)])
		paths, err := merkle.SplitMulti(leaves, l.indices(), c.heads[i].Size, l.Path)
		if err != nil {
			return nil, err
		}
		for j := range l.Documents {
			d := &l.Documents[j]
			part := func() *LogPart {
				return &LogPart{Record: *d.Record, Entry: Inclusion{Index: d.Index, Path: paths[j]}, Note: l.Note}
			}
			if err := split(d, part); err != nil {
				return nil, err
			}
		}
	}
	for i := range b.Documents {
		if err := split(&b.Documents[i], func() *LogPart { return nil }); err != nil {
			return nil, err
		}
	}
	proofs := make([]*Proof, len(b.Hits))
	for rank, h := range b.Hits {
		proofs[rank] = at[h]
	}
	return proofs, nil
}
