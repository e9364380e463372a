// Package filter says of a set of document roots which it cannot hold, in about
// 18 bits a root: a 3-wise binary fuse filter with fingerprints of 16 bits (Graf
// and Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor Filters", 2022).
//
// The package guarantees:
//
//   - No root of the set is denied. Of others about 1 in 65,536 is not.
//   - One spelling: [Parse] accepts the bytes that a filter of so many roots has,
//     and no others. A filter of n roots has the same length whoever builds it.
//   - Pure: no I/O, no clock, no randomness. The same roots give the same bytes.
//
// The format is specified in docs/formats.md. A filter is not secret: whoever has
// it can test roots that he knows, and learns nothing of others.
package filter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"arborist/document"
)

const (
	// Version starts every filter.
	Version = "arborist-fuse16/1\n"
	// MaxRoots is the largest number of roots in a filter.
	MaxRoots = 1 << 22
	// MaxBytes is the length of the longest filter.
	MaxBytes = headSize + 2*(MaxRoots+MaxRoots/8+1<<14)

	headSize = len(Version) + 4 + 8
)

var (
	// ErrFormat: the bytes are not a filter in its one spelling.
	ErrFormat = errors.New("not a filter")
	// ErrTooMany: more than [MaxRoots] roots.
	ErrTooMany = errors.New("too many roots for a filter")
)

// A Filter is a set of roots that forgets what they are. It is immutable and
// safe for concurrent use.
type Filter struct {
	layout
	roots int
	seed  uint64
	bytes []byte // all of it, as it is sent
}

// Parse parses a filter, whose bytes it keeps. It fails with [ErrFormat].
func Parse(b []byte) (*Filter, error) {
	head, ok := bytes.CutPrefix(b, []byte(Version))
	if !ok || len(b) < headSize {
		return nil, fmt.Errorf("parse filter: %w: it does not start with %q and 12 bytes", ErrFormat, Version)
	}
	n := binary.BigEndian.Uint32(head)
	if n > MaxRoots {
		return nil, fmt.Errorf("parse filter: %w: %d roots, at most %d", ErrFormat, n, MaxRoots)
	}
	f := &Filter{layout: layoutOf(int(n)), roots: int(n), seed: binary.BigEndian.Uint64(head[4:]), bytes: b}
	if want := f.size(); len(b) != want {
		return nil, fmt.Errorf("parse filter: %w: %d bytes, for %d roots it has %d", ErrFormat, len(b), n, want)
	}
	return f, nil
}

// Bytes returns the filter's only spelling, which is not to be changed.
func (f *Filter) Bytes() []byte { return f.bytes }

// Roots returns how many roots the filter was built of. Two with the same first 8
// bytes count as one.
func (f *Filter) Roots() int { return f.roots }

// MayHold reports whether a root may be in the set: false is certain.
func (f *Filter) MayHold(root document.Root) bool {
	if f.roots == 0 {
		return false
	}
	h := mix(keyOf(root) + f.seed)
	found := fingerprint(h)
	for _, at := range f.places(h) {
		found ^= binary.BigEndian.Uint16(f.bytes[headSize+2*int(at):])
	}
	return found == 0
}

// A layout is how the slots of a filter lie: segments of a power of two, in three
// of which, one after the other, each root has one slot.
type layout struct {
	segment uint32 // slots of one
	starts  uint32 // slots in which the first of a root's three can be
}

// layoutOf returns the layout for n roots, in whole numbers so that everybody
// comes to the same.
func layoutOf(n int) layout {
	if n == 0 {
		return layout{}
	}
	log := bits.Len(uint(n)) - 1
	segment := 1 << ((9*log + 36) / 16)
	// The fewer roots, the more room they need for a filter to exist.
	slots := max(n+n/8, n*7/8+n*5/max(log, 1))
	segments := max((slots+segment-1)/segment-2, 1)
	return layout{segment: uint32(segment), starts: uint32(segments * segment)}
}

// slots returns how many there are.
func (l layout) slots() int { return int(l.starts + 2*l.segment) }

// size returns the length of a filter in bytes.
func (l layout) size() int { return headSize + 2*l.slots() }

// places returns the three slots of a hashed root, in three different segments.
func (l layout) places(h uint64) [3]uint32 {
	first, _ := bits.Mul64(h, uint64(l.starts))
	at, within := uint32(first), l.segment-1
	return [3]uint32{at, (at + l.segment) ^ uint32(h>>18)&within, (at + 2*l.segment) ^ uint32(h)&within}
}

// keyOf returns what stands for a root: a hash itself, of which 8 bytes do.
func keyOf(root document.Root) uint64 { return binary.BigEndian.Uint64(root[:]) }

// mix is a bijection in which every bit of x moves every other (the finalizer of
// MurmurHash3).
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// fingerprint returns what the slots of a hashed root give together.
func fingerprint(h uint64) uint16 { return uint16(h ^ h>>32) }
