package index

import "math"

// BM25 (Robertson and Zaragoza 2009), with the weight of a term in the form
// that is positive for every term, times how often the term stands in a passage
// that has it, on the average: a word that is said again where it is said is
// one that passages are about. docs/decisions/007-words.md has the measurements.
const (
	k1         = 1.2
	b          = 0.75
	maxAverage = 4.0
)

// Statistics are what BM25 needs to know of everything that is searched.
type Statistics struct {
	Passages int64
	Words    int64   // in all passages
	Holding  []Count // of each clause
}

// Add adds the statistics of another file about the same clauses.
func (s *Statistics) Add(o Statistics) {
	s.Passages += o.Passages
	s.Words += o.Words
	if s.Holding == nil {
		s.Holding = make([]Count, len(o.Holding))
	}
	for i, n := range o.Holding {
		s.Holding[i] = s.Holding[i].plus(n)
	}
}

// A Scorer gives scores by statistics. It is immutable.
type Scorer struct {
	idf     []float64
	average float64
	norms   []float64   // by length, up to tableLength
	table   [][]float64 // of each clause: by frequency-1 and length, see add
}

// Lengths and frequencies up to these, almost all of them, are looked up.
const (
	tableLength = 512
	tableTF     = 3
)

// Scorer returns the scorer of the statistics.
func (s Statistics) Scorer() *Scorer {
	c := &Scorer{average: 1, idf: make([]float64, len(s.Holding)), norms: make([]float64, tableLength)}
	if s.Words > 0 && s.Passages > 0 {
		c.average = float64(s.Words) / float64(s.Passages)
	}
	for i, n := range s.Holding {
		idf := math.Log1p((float64(s.Passages-n.Passages) + 0.5) / (float64(n.Passages) + 0.5))
		if n.Passages > 0 {
			idf *= min(maxAverage, float64(n.Times)/float64(n.Passages))
		}
		c.idf[i] = idf
	}
	for l := range c.norms {
		c.norms[l] = c.norm(l)
	}
	c.table = make([][]float64, len(c.idf))
	for i := range c.table {
		c.table[i] = make([]float64, tableTF*tableLength)
		for tf := range tableTF {
			for l, norm := range c.norms {
				c.table[i][tf*tableLength+l] = c.part(i, uint32(tf+1), norm)
			}
		}
	}
	return c
}

// The conversions keep the compiler from fusing operations, so that a score is
// the same bits on every machine.

func (c *Scorer) norm(length int) float64 {
	return float64(k1 * float64((1.0-b)+float64(b*float64(float64(length)/c.average))))
}

func (c *Scorer) part(clause int, tf uint32, norm float64) float64 {
	f := float64(tf)
	return float64(c.idf[clause] * float64(float64(f*(k1+1.0))/float64(f+norm)))
}

// clause returns what a clause that stands tf times in a passage of so many
// words adds to its score.
func (c *Scorer) clause(i int, tf uint32, length int) float64 {
	if tf-1 < tableTF && length < tableLength {
		return c.table[i][int(tf-1)*tableLength+length]
	}
	return c.part(i, tf, c.norm(length))
}

// most returns at least what a clause adds to the score of any passage within a
// limit: rounding may give a little more than the limit's own.
func (c *Scorer) most(i int, l limit) float64 {
	return c.clause(i, l.maxTF, int(l.minLength)) * (1 + slack)
}

// slack is far above what rounding can do to a score.
const slack = 1e-9

// Score returns the score of a passage with so many words, in which each clause
// stands counts times, to the bit what a search gives it.
func (c *Scorer) Score(counts []int, length int) float64 {
	score := 0.0
	for i, n := range counts {
		if n > 0 {
			score += c.clause(i, uint32(n), length)
		}
	}
	return score
}
