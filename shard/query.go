package shard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"arborist/shard/internal/rank"
)

// A Query says what to look for.
//
// Text is words, all of them literal: no character in it is an operator, but
// for double quotes in pairs, whose words must stand next to each other. A word
// that the index sees as several ("multi-agent") is such a phrase too. What
// holds no letter or digit is dropped.
type Query struct {
	Text   string
	Limit  int    // hits to return; 0 means 10
	Offset int    // hits to leave out first
	Corpus string // origin: only documents with a current location in it
}

// Caps on a query.
const (
	MaxQueryBytes = 4 << 10
	MaxQueryWords = rank.MaxPhrases
	MaxHits       = 10_000 // Offset + Limit
	// MaxSearchTime bounds a search whose context has no earlier end.
	MaxSearchTime = 10 * time.Second

	defaultLimit = 10
)

// ErrNoWords: a query holds nothing that could be looked up.
var ErrNoWords = errors.New("query has no words: it needs at least one letter or digit")

// A QueryError is a query that is refused: over a cap, or not text.
type QueryError struct {
	Reason string // what is wrong and what would be right
}

// Error implements error.
func (e *QueryError) Error() string { return "query: " + e.Reason }

func queryErrorf(format string, args ...any) error {
	return &QueryError{Reason: fmt.Sprintf(format, args...)}
}

// segments takes the text of a query apart: quoted phrases and single words,
// in their order. It does not look inside them.
func segments(text string) ([]string, error) {
	if len(text) > MaxQueryBytes {
		return nil, queryErrorf("%d bytes; at most %d are searched for", len(text), MaxQueryBytes)
	}
	if !utf8.ValidString(text) {
		return nil, queryErrorf("not UTF-8 text")
	}
	for i, r := range text {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return nil, queryErrorf("control character %U at byte %d; remove it", r, i)
		}
	}
	var all []string
	for text != "" {
		before, rest, quoted := strings.Cut(text, `"`)
		inside, after, closed := strings.Cut(rest, `"`)
		if !quoted || !closed {
			// A quote without its pair is text like any other, as in 5" disk.
			all = append(all, strings.Fields(strings.ReplaceAll(text, `"`, " "))...)
			break
		}
		all = append(all, strings.Fields(before)...)
		all = append(all, inside)
		text = after
	}
	return all, nil
}

// A terms is what a query looks for, after the index's own tokenizer.
type terms struct {
	text  []string      // as the user wrote it, of each phrase
	words []rank.Phrase // the same as the index sees it
}

// parse makes phrases of a query's text. The tokenizer runs inside SQLite, on a
// connection of any file.
func parse(ctx context.Context, f *File, text string) (terms, error) {
	var t terms
	segs, err := segments(text)
	if err != nil {
		return t, err
	}
	seen := make(map[string]bool)
	total := 0
	for _, s := range segs {
		if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf || unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			continue // saves asking the tokenizer; what is not ASCII it decides
		}
		var blob []byte
		if err := f.reader.QueryRowContext(ctx, "SELECT arborist_tokens(?)", s).Scan(&blob); err != nil {
			return t, f.fail(err)
		}
		words, err := rank.Words(blob)
		if err != nil {
			return t, err
		}
		if len(words) == 0 || seen[string(blob)] {
			continue // saying it twice does not make it count twice
		}
		seen[string(blob)] = true
		if total += len(words); total > MaxQueryWords {
			return t, queryErrorf("more than %d words; leave the less telling ones out", MaxQueryWords)
		}
		t.text = append(t.text, s)
		t.words = append(t.words, words)
	}
	if len(t.words) == 0 {
		return t, ErrNoWords
	}
	return t, nil
}

// match writes the FTS5 expression for the phrases, joined by AND or OR. Inside
// an FTS5 string only the double quote means anything, and none is left in a
// segment; so nothing that a user types reaches the expression's grammar.
func (t terms) match(operator string) string {
	var b strings.Builder
	for i, s := range t.text {
		if i > 0 {
			b.WriteString(" " + operator + " ")
		}
		b.WriteString(`"` + strings.ReplaceAll(s, `"`, `""`) + `"`)
	}
	return b.String()
}
