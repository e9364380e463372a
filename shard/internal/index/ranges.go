package index

import (
	"cmp"
	"slices"
	"sort"
)

// A Range is passages from First up to, not including, End.
type Range struct{ First, End int64 }

// Union returns the passages of all ranges as ranges that ascend and do not
// touch each other.
func Union(all ...[]Range) []Range {
	sorted := slices.Concat(all...)
	slices.SortFunc(sorted, func(x, y Range) int { return cmp.Compare(x.First, y.First) })
	out := sorted[:0]
	for _, r := range sorted {
		if r.First >= r.End {
			continue
		}
		if n := len(out); n > 0 && r.First <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, r.End)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Complement returns the passages below end that are in none of the ranges of
// a union.
func Complement(union []Range, end int64) []Range {
	var out []Range
	at := int64(0)
	for _, r := range union {
		if r.First > at {
			out = append(out, Range{at, min(r.First, end)})
		}
		at = max(at, r.End)
	}
	if at < end {
		out = append(out, Range{at, end})
	}
	return out
}

// Holds reports whether a range of a union holds the passage.
func Holds(union []Range, passage int64) bool {
	i := sort.Search(len(union), func(i int) bool { return union[i].End > passage })
	return i < len(union) && union[i].First <= passage
}

// A walk goes through the ranges of a union with passages that ascend.
type walk struct{ rest []Range }

// holds reports whether a range holds the passage.
func (w *walk) holds(passage int64) bool {
	for len(w.rest) > 0 && w.rest[0].End <= passage {
		w.rest = w.rest[1:]
	}
	return len(w.rest) > 0 && w.rest[0].First <= passage
}
