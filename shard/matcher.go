package shard

import (
	"time"

	"arborist/shard/internal/index"
	"arborist/shard/internal/words"
)

// A Match says how well a passage answers a query, by its text and by what is
// known of where it was found.
type Match int

// The values of Match, the better ones greater.
const (
	MatchNone Match = iota // it would not be found
	MatchSome              // it has some of the words: found where no passage has all
	MatchAll               // it has all of them
)

// A Matcher holds a passage that somebody else found against a query. It is for
// one goroutine.
type Matcher struct {
	query     parsed
	parts     []index.Clause
	tokenizer words.Tokenizer
}

// NewMatcher parses the text of a query as [Search] does, with its errors.
func NewMatcher(query string) (*Matcher, error) {
	p, err := parse(query)
	if err != nil {
		return nil, err
	}
	return &Matcher{query: p, parts: p.parts()}, nil
}

// Match says whether [Search] would find the passage at this location of this
// corpus, from the passage's own bytes.
func (m *Matcher) Match(text []byte, origin, uri string, fetched time.Time) Match {
	f, at := m.query.filters, fetched.Unix()
	if f.after != 0 && at < f.after || f.before != 0 && at >= f.before || !f.passes(origin, uri) {
		return MatchNone
	}
	var terms []string
	m.tokenizer.Each(text, func(term []byte, _, _ int) { terms = append(terms, string(term)) })
	has := func(all []index.Clause) (n int) {
		for _, c := range all {
			if c.Count(terms) > 0 {
				n++
			}
		}
		return n
	}
	switch {
	case has(m.query.not) > 0:
		return MatchNone
	case has(m.query.clauses) == len(m.query.clauses):
		return MatchAll
	case has(m.parts) > 0:
		return MatchSome
	}
	return MatchNone
}
