package shard

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"arborist/shard/internal/index"
	"arborist/shard/internal/words"
)

// A Query says what to look for. Text is words, all of them literal, but for
//
//	"two words"         words that stand next to each other
//	-word -"two words"  passages with it are left out
//	word*               any word that starts so
//	site:example.org    documents found at that host or below it
//	corpus:NAME         documents of the corpora with that name, or that origin
//	after:2026-05-01    documents fetched on that day (UTC) or later; also 2026-05 and 2026
//	before:2026-05-01   documents fetched before that day
//
// Nothing else in it is an operator: what is not one of these is text. A word
// that the index sees as several ("multi-agent") is a phrase of them while all
// words are looked for, and each of them where any will do. What
// holds no letter or digit is dropped.
type Query struct {
	Text        string
	Limit       int    // hits to return; 0 means 10
	Offset      int    // hits to leave out first
	Corpus      string // origin: only documents with a current location in it
	AllVersions bool   // also documents that are current nowhere any more
	Any         bool   // passages with any of the words, without looking for all first
}

// Caps on a query.
const (
	MaxQueryBytes = 4 << 10
	MaxQueryWords = 64
	MaxHits       = 10_000 // Offset + Limit
	// MaxSearchTime bounds a search whose context has no earlier end.
	MaxSearchTime = 10 * time.Second

	defaultLimit = 10
	maxFilters   = 16 // of each kind
)

// ErrNoWords: a query holds nothing that could be looked up.
var ErrNoWords = errors.New("query has no words: it needs at least one letter or digit")

// A QueryError is a query that is refused: over a cap, or not text.
type QueryError struct {
	Reason string // what is wrong
	Next   string // what to do about it
}

// Error implements error.
func (e *QueryError) Error() string { return "query: " + e.Reason }

func queryErrorf(next, format string, args ...any) error {
	return &QueryError{Reason: fmt.Sprintf(format, args...), Next: next}
}

// A segment is a piece of a query's text.
type segment struct {
	text   string // a word, or what stands between two quotes
	quoted bool
	not    bool
}

// segments takes the text of a query apart, in order. It does not look inside
// words.
func segments(text string) ([]segment, error) {
	if len(text) > MaxQueryBytes {
		return nil, queryErrorf("ask with fewer or shorter words", "%d bytes; at most %d are searched for", len(text), MaxQueryBytes)
	}
	if !utf8.ValidString(text) {
		return nil, queryErrorf("write it in UTF-8, as terminals do by default", "not UTF-8 text")
	}
	for i, r := range text {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return nil, queryErrorf("remove it", "control character %U at byte %d", r, i)
		}
	}
	var all []segment
	fields := func(s string) {
		for _, f := range strings.Fields(s) {
			word := strings.TrimLeft(f, "-")
			// "-" and "--" alone, and one within a word, are text.
			not := len(word) == len(f)-1 && word != ""
			if !not {
				word = f
			}
			all = append(all, segment{text: word, not: not})
		}
	}
	for text != "" {
		before, rest, quoted := strings.Cut(text, `"`)
		inside, after, closed := strings.Cut(rest, `"`)
		if !quoted || !closed {
			// A quote without its pair is text like any other, as in 5" disk.
			fields(strings.ReplaceAll(text, `"`, " "))
			break
		}
		not := before == "-" || strings.HasSuffix(before, " -")
		fields(strings.TrimSuffix(before, "-"))
		all = append(all, segment{text: inside, quoted: true, not: not})
		text = after
	}
	return all, nil
}

// A parsed is a query taken apart.
type parsed struct {
	clauses []index.Clause // each of them once
	quoted  []bool         // of each clause
	not     []index.Clause
	filters filters
}

// compound reports whether a clause is several words that were not quoted.
func (p parsed) compound() bool {
	for i, c := range p.clauses {
		if len(c.Words) > 1 && !p.quoted[i] {
			return true
		}
	}
	return false
}

// parts returns the clauses with those taken apart that are several words and
// were not quoted: what is looked for where any word will do.
func (p parsed) parts() (parts []index.Clause) {
	seen := make(map[string]bool)
	add := func(c index.Clause) {
		if key := fmt.Sprintf("%t %q", c.Prefix, c.Words); !seen[key] {
			seen[key] = true
			parts = append(parts, c)
		}
	}
	for i := range p.clauses {
		for _, c := range p.apart(i) {
			add(c)
		}
	}
	return parts
}

// apart returns what is looked for instead of clause i where any word will do.
func (p parsed) apart(i int) (parts []index.Clause) {
	c := p.clauses[i]
	if p.quoted[i] || len(c.Words) == 1 {
		return []index.Clause{c}
	}
	for k, w := range c.Words {
		parts = append(parts, index.Clause{Words: []string{w}, Prefix: c.Prefix && k == len(c.Words)-1})
	}
	return parts
}

// parse takes the text of a query apart.
func parse(text string) (parsed, error) {
	var p parsed
	segs, err := segments(text)
	if err != nil {
		return p, err
	}
	seen := make(map[string]bool)
	total := 0
	var tokenizer words.Tokenizer
	for _, s := range segs {
		if !s.quoted && !s.not {
			is, err := p.filters.take(s.text)
			if err != nil {
				return p, err
			}
			if is {
				continue
			}
		}
		c := clauseOf(&tokenizer, s)
		if len(c.Words) == 0 {
			continue
		}
		if total += len(c.Words); total > MaxQueryWords {
			return p, queryErrorf("leave the less telling ones out", "more than %d words", MaxQueryWords)
		}
		key := fmt.Sprintf("%t %t %q", s.not, c.Prefix, c.Words)
		if seen[key] {
			continue // saying it twice does not make it count twice
		}
		seen[key] = true
		if s.not {
			p.not = append(p.not, c)
		} else {
			p.clauses, p.quoted = append(p.clauses, c), append(p.quoted, s.quoted)
		}
	}
	if len(p.clauses) == 0 {
		if len(p.not) > 0 {
			return p, queryErrorf("add a word to look for", "it only says what to leave out")
		}
		if !p.filters.none() {
			return p, queryErrorf("add a word to look for", "it only says where to look")
		}
		return p, ErrNoWords
	}
	return p, nil
}

// clauseOf makes what the index looks for of a piece of a query.
func clauseOf(t *words.Tokenizer, s segment) (c index.Clause) {
	text, star := s.text, false
	if !s.quoted {
		text, star = strings.CutSuffix(s.text, "*")
	}
	terms := t.Query([]byte(text))
	for _, term := range terms {
		c.Words = append(c.Words, term.Text)
	}
	c.Prefix = len(terms) > 0 && (star || terms[len(terms)-1].Prefix)
	return c
}
