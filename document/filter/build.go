package filter

import (
	"encoding/binary"
	"fmt"
	"slices"

	"arborist/document"
)

// maxSeeds is how many seeds are tried. Each fails with less than one half, so
// that all of them never do.
const maxSeeds = 256

// A Builder gathers the roots of a filter. The zero value is ready.
type Builder struct{ keys []uint64 }

// Add adds a root. One that was added before changes nothing.
func (b *Builder) Add(root document.Root) { b.keys = append(b.keys, keyOf(root)) }

// Filter returns the filter of all roots. It takes about 40 bytes a root while it
// builds. It fails with [ErrTooMany].
func (b *Builder) Filter() (*Filter, error) {
	slices.Sort(b.keys)
	b.keys = slices.Compact(b.keys)
	if len(b.keys) > MaxRoots {
		return nil, fmt.Errorf("build filter: %w: %d, at most %d", ErrTooMany, len(b.keys), MaxRoots)
	}
	l := layoutOf(len(b.keys))
	peeled := newPeeling(l, len(b.keys))
	for seed := range uint64(maxSeeds) {
		if peeled.try(b.keys, seed) {
			return &Filter{layout: l, roots: len(b.keys), seed: seed, bytes: peeled.fill(len(b.keys), seed)}, nil
		}
	}
	return nil, fmt.Errorf("build filter: none of %d seeds gives one for %d roots", maxSeeds, len(b.keys))
}

// A peeling orders roots so that each has a slot which none of those before it
// touches: whoever is alone in a slot is taken out, which leaves others alone.
type peeling struct {
	layout
	count []uint32 // roots left in each slot
	xor   []uint64 // of their hashes
	alone []uint32 // slots that held one when they were looked at

	hashes []uint64 // of the roots, in the order in which they were taken out
	own    []uint32 // the slot that each was alone in
}

func newPeeling(l layout, roots int) *peeling {
	return &peeling{
		layout: l,
		count:  make([]uint32, l.slots()), xor: make([]uint64, l.slots()), alone: make([]uint32, 0, l.slots()),
		hashes: make([]uint64, 0, roots), own: make([]uint32, 0, roots),
	}
}

// try reports whether a seed lets all roots be taken out.
func (p *peeling) try(keys []uint64, seed uint64) bool {
	clear(p.count)
	clear(p.xor)
	p.alone, p.hashes, p.own = p.alone[:0], p.hashes[:0], p.own[:0]
	for _, key := range keys {
		h := mix(key + seed)
		for _, at := range p.places(h) {
			p.count[at]++
			p.xor[at] ^= h
		}
	}
	for at, n := range p.count {
		if n == 1 {
			p.alone = append(p.alone, uint32(at))
		}
	}
	for len(p.alone) > 0 {
		at := p.alone[len(p.alone)-1]
		p.alone = p.alone[:len(p.alone)-1]
		if p.count[at] == 1 { // its root may have gone by another slot
			p.take(at)
		}
	}
	return len(p.hashes) == len(keys)
}

// take takes out the root that is alone in a slot.
func (p *peeling) take(at uint32) {
	h := p.xor[at]
	p.hashes, p.own = append(p.hashes, h), append(p.own, at)
	for _, other := range p.places(h) {
		p.xor[other] ^= h
		if p.count[other]--; p.count[other] == 1 {
			p.alone = append(p.alone, other)
		}
	}
}

// fill gives each root's own slot what makes its three slots its fingerprint, the
// last taken out first, and returns the filter.
func (p *peeling) fill(roots int, seed uint64) []byte {
	b := append(make([]byte, 0, p.size()), Version...)
	b = binary.BigEndian.AppendUint32(b, uint32(roots))
	b = binary.BigEndian.AppendUint64(b, seed)
	b = b[:p.size()]
	slots := b[headSize:]
	for i := len(p.hashes) - 1; i >= 0; i-- {
		value := fingerprint(p.hashes[i])
		for _, at := range p.places(p.hashes[i]) {
			value ^= binary.BigEndian.Uint16(slots[2*at:]) // its own is 0 yet
		}
		binary.BigEndian.PutUint16(slots[2*p.own[i]:], value)
	}
	return b
}
