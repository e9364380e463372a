package shard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"arborist/document"
)

// A Subset is a part of all documents, chosen by their roots alone: the same
// ones at every time and on every machine. The zero Subset has all of them.
type Subset struct {
	from, to uint64 // of the number in a root's bytes 8 to 15; to is inclusive
	part     bool
}

// ErrSubset: a text names no subset.
var ErrSubset = errors.New("want a part such as 1/10, or a percentage such as 5%")

// ParseSubset reads "5%", the first five percent, or "1/10" to "10/10", of
// which each document is in exactly one. An empty text is all documents.
func ParseSubset(s string) (Subset, error) {
	if s == "" {
		return Subset{}, nil
	}
	if text, ok := strings.CutSuffix(s, "%"); ok {
		p, err := strconv.ParseFloat(text, 64)
		if err != nil || !(p > 0) || p > 100 {
			return Subset{}, fmt.Errorf("%w, not %.40q", ErrSubset, s)
		}
		if p == 100 {
			return Subset{}, nil
		}
		return Subset{to: uint64(p / 100 * math.MaxUint64), part: true}, nil
	}
	first, second, ok := strings.Cut(s, "/")
	n, err1 := strconv.ParseUint(first, 10, 16)
	m, err2 := strconv.ParseUint(second, 10, 16)
	if !ok || err1 != nil || err2 != nil || n < 1 || n > m {
		return Subset{}, fmt.Errorf("%w, not %.40q", ErrSubset, s)
	}
	width := math.MaxUint64 / m
	sub := Subset{from: (n - 1) * width, to: n*width - 1, part: m > 1}
	if n == m {
		sub.to = math.MaxUint64
	}
	return sub, nil
}

// All reports whether the subset leaves nothing out.
func (s Subset) All() bool { return !s.part }

// Has reports whether a document is in the subset. The bytes of a root that
// choose its shard do not count: a part has documents of every shard.
func (s Subset) Has(root document.Root) bool {
	v := binary.BigEndian.Uint64(root[8:])
	return !s.part || s.from <= v && v <= s.to
}
