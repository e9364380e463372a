package shard

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"arborist/shard/internal/index"
	"arborist/shard/internal/words"
)

// MaxSnippet is the most bytes of a snippet's text.
const MaxSnippet = 240

// A Snippet is the piece of a passage that shows best why it was found.
type Snippet struct {
	Text  string
	Start int // byte of the passage that Text begins at
	// Marks are the byte spans in Text of what the query looked for: ascending,
	// none empty, none touching another, on character boundaries.
	Marks [][2]int
}

// A Snippeter cuts snippets for one query. It is for one goroutine.
type Snippeter struct {
	query     parsed
	tokenizer words.Tokenizer
	tokens    []token
	terms     []byte // of all tokens, one behind the other
}

// A token is one term of the passage.
type token struct {
	start, end int // span in the passage
	term       int // where its term ends in terms
}

// A sighting is a token that a clause of the query matches.
type sighting struct{ start, end, clause int }

// NewSnippeter parses the text of a query as [Search] does, with its errors.
func NewSnippeter(query string) (*Snippeter, error) {
	p, err := parse(query)
	if err != nil {
		return nil, err
	}
	return &Snippeter{query: p}, nil
}

// Snippet cuts the piece out of a passage that has the most different words and
// phrases of the query, of those the one with the most of them, of those the
// first. It is cut between words and has marks for every word that the query
// matches, in phrases and by prefixes too. The passage is the caller's proven
// text; nothing else goes into the snippet, but U+FFFD for what is not UTF-8.
func (s *Snippeter) Snippet(passage []byte) Snippet {
	if !utf8.Valid(passage) {
		passage = bytes.ToValidUTF8(passage, []byte("\uFFFD"))
	}
	s.read(passage)
	seen := s.sightings()
	from, to := s.window(len(passage), best(seen, len(s.query.clauses)))
	return cut(passage, from, to, seen)
}

// read takes the passage apart.
func (s *Snippeter) read(passage []byte) {
	s.tokens, s.terms = s.tokens[:0], s.terms[:0]
	s.tokenizer.Each(passage, func(term []byte, start, end int) {
		s.terms = append(s.terms, term...)
		s.tokens = append(s.tokens, token{start, end, len(s.terms)})
	})
}

func (s *Snippeter) term(i int) []byte {
	from := 0
	if i > 0 {
		from = s.tokens[i-1].term
	}
	return s.terms[from:s.tokens[i].term]
}

// sightings finds what the clauses match, in the order of the text; of a clause
// that matches nothing, the words that it is taken apart into where any will do.
func (s *Snippeter) sightings() (all []sighting) {
	for c, clause := range s.query.clauses {
		found := s.look(clause, c)
		if found == nil {
			for _, part := range s.query.apart(c) {
				found = append(found, s.look(part, c)...)
			}
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b sighting) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	return all
}

// look finds what a clause matches, as sightings of clause number c. A word that
// is longer than a snippet, through characters that nobody sees, is none.
func (s *Snippeter) look(clause index.Clause, c int) (all []sighting) {
	marked := 0 // tokens before it have their sighting for this clause
	for i := range s.tokens {
		if !s.matches(clause, i) {
			continue
		}
		last := i + len(clause.Words) - 1
		for j := max(i, marked); j <= last; j++ {
			t := s.tokens[j]
			// Of a pair of characters that is found by its first one, that one.
			if j == last && clause.Prefix && j+1 < len(s.tokens) && string(s.term(j)) != clause.Words[j-i] {
				t.end = min(t.end, s.tokens[j+1].start)
			}
			if t.end-t.start <= MaxSnippet {
				all = append(all, sighting{t.start, t.end, c})
			}
		}
		marked = last + 1
	}
	return all
}

// matches reports whether a clause matches the tokens from i on, as
// [index.Clause.Count] has it.
func (s *Snippeter) matches(c index.Clause, i int) bool {
	if i+len(c.Words) > len(s.tokens) {
		return false
	}
	for j, w := range c.Words {
		starts := c.Prefix && j == len(c.Words)-1
		if term := s.term(i + j); string(term) != w && !(starts && bytes.HasPrefix(term, []byte(w))) {
			return false
		}
	}
	return true
}

// best returns the run of sightings that fits into a snippet and shows most.
func best(seen []sighting, clauses int) []sighting {
	count := make([]int, clauses)
	var run []sighting
	var most, distinct, from int
	for to, w := range seen {
		if count[w.clause]++; count[w.clause] == 1 {
			distinct++
		}
		for w.end-seen[from].start > MaxSnippet {
			if count[seen[from].clause]--; count[seen[from].clause] == 0 {
				distinct--
			}
			from++
		}
		if n := to + 1 - from; distinct > most || distinct == most && n > len(run) {
			most, run = distinct, seen[from:to+1]
		}
	}
	return run
}

// window returns where to cut so that a run of sightings is inside, with words
// before it, more of them behind it, and no word in two.
func (s *Snippeter) window(size int, run []sighting) (from, to int) {
	if size <= MaxSnippet {
		return 0, size
	}
	if len(run) > 0 {
		from = run[0].start
		for _, w := range run {
			to = max(to, w.end)
		}
	}
	least, most := from, to
	from = max(0, from-(MaxSnippet-(to-from))/3)
	to = min(size, from+MaxSnippet)
	from = max(0, to-MaxSnippet)
	if from > 0 {
		i, _ := slices.BinarySearchFunc(s.tokens, from, func(t token, at int) int { return cmp.Compare(t.start, at) })
		from = least
		if i < len(s.tokens) {
			from = min(from, s.tokens[i].start)
		}
	}
	if to < size {
		end := most
		for _, t := range s.tokens {
			if t.end <= to {
				end = max(end, t.end)
			}
		}
		to = end
	}
	return from, to
}

// cut makes the snippet of the passage between two offsets.
func cut(passage []byte, from, to int, seen []sighting) Snippet {
	for from < to && unicode.IsSpace(rune(passage[from])) && passage[from] < utf8.RuneSelf {
		from++
	}
	text := strings.TrimRight(string(passage[from:to]), " \t\n")
	sn := Snippet{Text: text, Start: from, Marks: [][2]int{}}
	for _, w := range seen {
		a, b := w.start-from, w.end-from
		if a < 0 || b > len(text) {
			continue
		}
		if n := len(sn.Marks); n > 0 && a <= sn.Marks[n-1][1] {
			// Pairs of characters in a run overlap.
			sn.Marks[n-1][1] = max(sn.Marks[n-1][1], b)
			continue
		}
		sn.Marks = append(sn.Marks, [2]int{a, b})
	}
	return sn
}
