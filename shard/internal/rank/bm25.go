package rank

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// MaxPhrases is how many phrases a query may have.
const MaxPhrases = 64

const (
	k1 = 1.2
	b  = 0.75
)

// A Phrase is words that stand next to each other, as the index sees them.
type Phrase []string

// Statistics are what BM25 needs to know of everything that is searched.
type Statistics struct {
	Passages int64   // rows
	Words    int64   // in all rows
	Rows     []int64 // that hold each phrase
}

// Add adds the statistics of another file about the same phrases.
func (s *Statistics) Add(o Statistics) {
	s.Passages += o.Passages
	s.Words += o.Words
	if s.Rows == nil {
		s.Rows = make([]int64, len(o.Rows))
	}
	for i, n := range o.Rows {
		s.Rows[i] += n
	}
}

// IDF returns the weight of each phrase: log(1 + (N - n + 0.5) / (n + 0.5)),
// the form that is positive for every n. It depends on the sums alone, so it is
// the same bits for every split.
func (s Statistics) IDF() []float64 {
	weights := make([]float64, len(s.Rows))
	for i, n := range s.Rows {
		weights[i] = math.Log1p((float64(s.Passages-n) + 0.5) / (float64(n) + 0.5))
	}
	return weights
}

// Average returns the words in a row, never zero.
func (s Statistics) Average() float64 {
	if s.Words <= 0 || s.Passages <= 0 {
		return 1
	}
	return float64(s.Words) / float64(s.Passages)
}

// Score returns what arborist_score returns for a row, to the bit: the score
// of length words among which each phrase stands counts times. The conversions
// keep the compiler from fusing operations.
func (s Statistics) Score(idf []float64, counts []int, length int) float64 {
	norm := float64(k1 * float64((1.0-b)+float64(b*float64(float64(length)/s.Average()))))
	score := 0.0
	for i, n := range counts {
		if n > 0 {
			tf := float64(n)
			score += float64(idf[i] * float64(float64(tf*(k1+1.0))/float64(tf+norm)))
		}
	}
	return score
}

// Count returns how often a phrase stands in a text's words.
func (p Phrase) Count(words []string) int {
	n := 0
	for i := 0; i+len(p) <= len(words); i++ {
		if slices.Equal(words[i:i+len(p)], p) {
			n++
		}
	}
	return n
}

// Params returns the second argument of arborist_score.
func (s Statistics) Params(keep int, floor float64) []byte {
	p := binary.NativeEndian.AppendUint64(nil, uint64(keep))
	p = binary.NativeEndian.AppendUint64(p, uint64(len(s.Rows)))
	p = binary.NativeEndian.AppendUint64(p, math.Float64bits(s.Average()))
	p = binary.NativeEndian.AppendUint64(p, math.Float64bits(floor))
	for _, w := range s.IDF() {
		p = binary.NativeEndian.AppendUint64(p, math.Float64bits(w))
	}
	return p
}

// A Range is rowids from First up to but not including End.
type Range struct{ First, End int64 }

// Skips returns ranges in the form that the functions take: sorted, disjoint.
// The ranges that are given may repeat each other but not overlap partly.
func Skips(ranges []Range) []byte {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(x, y Range) int { return cmp.Compare(x.First, y.First) })
	sorted = slices.Compact(sorted)
	out := make([]byte, 0, 16*len(sorted)) // not nil, which would bind NULL
	for _, r := range sorted {
		out = binary.NativeEndian.AppendUint64(out, uint64(r.First))
		out = binary.NativeEndian.AppendUint64(out, uint64(r.End))
	}
	return out
}

var errBlob = errors.New("rank: a result is cut short")

// Words reads the result of arborist_tokens.
func Words(blob []byte) (Phrase, error) {
	var words Phrase
	for len(blob) > 0 {
		if len(blob) < 4 {
			return nil, errBlob
		}
		n := int(binary.NativeEndian.Uint32(blob))
		if blob = blob[4:]; n > len(blob) {
			return nil, errBlob
		}
		words = append(words, string(blob[:n]))
		blob = blob[n:]
	}
	return words, nil
}

// Rows reads the result of arborist_df for n phrases.
func Rows(blob []byte, n int) ([]int64, error) {
	if len(blob) != 8*n {
		return nil, errBlob
	}
	rows := make([]int64, n)
	for i := range rows {
		rows[i] = int64(binary.NativeEndian.Uint64(blob[8*i:]))
	}
	return rows, nil
}

// A Row is a row with its score.
type Row struct {
	ID    int64
	Score float64
}

// Top reads the result of arborist_top: how many rows matched, and those among
// them that are at least as good as the k-th best.
func Top(blob []byte) (matched int64, rows []Row, err error) {
	if len(blob) < 16 || (len(blob)-16)%16 != 0 {
		return 0, nil, errBlob
	}
	matched = int64(binary.NativeEndian.Uint64(blob))
	n := (len(blob) - 16) / 16
	if binary.NativeEndian.Uint64(blob[8:]) != uint64(n) {
		return 0, nil, fmt.Errorf("%w: %d rows", errBlob, n)
	}
	rows = make([]Row, n)
	for i := range rows {
		at := blob[16+16*i:]
		rows[i] = Row{ID: int64(binary.NativeEndian.Uint64(at)), Score: math.Float64frombits(binary.NativeEndian.Uint64(at[8:]))}
	}
	return matched, rows, nil
}
