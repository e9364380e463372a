package shard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"arborist/document"
	"arborist/internal/arbtest/realtext"
)

// oddQueries are texts that something, somewhere, has choked on: the syntax of
// FTS5, of SQL, of shells, of other query languages, and what people paste.
func oddQueries() []string {
	all := []string{
		`multi-agent`, `a'b`, `C++`, `38.101`, `don't`, `"`, `""`, `"""`, `""""`, `'`, `''`, `5" disk`, `"open phrase`, `a "b" "c`,
		`a AND b`, `AND`, `OR`, `NOT`, `NOT a`, `a NOT b`, `a OR`, `NEAR(a b)`, `NEAR(a b, 5)`, `NEAR`, `near/3`, `a NEAR/2 b`,
		`text:a`, `text : a`, `{text} : a`, `-text:a`, `- a`, `-a`, `+a`, `a + b`, `^a`, `^ a`, `a*`, `*`, `a *`, `"a" *`, `a^2`,
		`(`, `)`, `()`, `(a`, `a)`, `((a)`, `{`, `}`, `{a}`, `[a]`, `<a>`, `a:b:c`, `:`, `::`, `:a`, `a:`, `rowid:1`, `rank`, `fts`,
		`fts MATCH 'a'`, `' OR 1=1 --`, `'; DROP TABLE chunks; --`, `%`, `_`, `%s%s%n`, `a%00b`, `\`, `\\`, `\"`, `"\"`, `a\b`, `$a`, `${a}`,
		`$(ls)`, "`ls`", `a|b`, `a||b`, `a&b`, `a&&b`, `a;b`, `a,b`, `,`, `.`, `...`, `a.b`, `?`, `a?`, `!`, `!a`, `#a`, `@a`, `a@b.org`,
		`https://example.org/a?b=c&d=e#f`, `/usr/bin/env`, `C:\Windows`, `~/x`, `a/b`, `1/2`, `1e9`, `-1`, `0x7f`, `1,000.5`, `€5`, `50%`,
		`sqlite3_open_v2`, `__init__`, `a_b`, `std::vector<int>`, `func(x)`, `x==y`, `x!=y`, `=>`, `->`, `a\tb`, "a\tb", "a\nb", "a\r\nb",
		`naïve`, `NAIVE`, `Straße`, `STRASSE`, `ﬁ`, `Ünïcödé`, "e\u0301", `日本語`, `ภาษาไทย`, `العربية`, `русский`, `😀`, `a😀b`, "\u200b", "a\u200bb",
		"\u00a0", "a\u00a0b", "\ufeffa", "\u2028", `“curly”`, `‘a’`, `«a»`, `—`, `a–b`, `…`, "\U0010ffff", "\ufffd", ` `, `   a   `, ``,
		`a a a a`, `"a a"`, `"a" "a"`, `"a b" a b`, `""a""`, `"a""b"`, `'"a"'`, `"-"`, `"a -b"`, `"a OR b"`, `"(" a`, `"*"`,
		strings.Repeat("a ", 60), strings.Repeat(`"`, 101), strings.Repeat("(", 500), strings.Repeat("é", 500), strings.Repeat("x", 4000),
	}
	for _, c := range "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" {
		all = append(all, string(c), "a"+string(c), string(c)+"a", "a"+string(c)+"b", strings.Repeat(string(c), 3))
	}
	return all
}

// answered reports whether a query did what every query must: find something or
// nothing, or be refused by a typed error.
func answered(err error) bool {
	var qe *QueryError
	return err == nil || errors.Is(err, ErrNoWords) || errors.As(err, &qe)
}

func TestNoTextIsASyntaxError(t *testing.T) {
	f := newPrivate(t)
	put1(t, f, entry(t, "test:a", "a b c multi agent 38 101 sqlite3 open v2, and more words: near not or and text rank"))
	queries := oddQueries()
	refused := 0
	for _, q := range queries {
		r, err := Search(t.Context(), []*File{f}, Query{Text: q})
		if !answered(err) {
			t.Errorf("%q: %v", q, err)
		}
		if err != nil {
			refused++
		}
		// What is only words of the text has to be found, whatever is between.
		if strings.ContainsAny(q, "abc") && !strings.ContainsFunc(q, func(r rune) bool { return r >= 'd' && r <= 'z' || r >= 0x80 || r >= 'A' && r <= 'Z' }) && err == nil &&
			!strings.ContainsAny(q, "0123456789") && len(r.Hits) != 1 && !strings.Contains(q, "a a") && q != "a#" { // as C# is not C
			t.Errorf("%q found nothing", q)
		}
	}
	t.Logf("%d queries, %d of them without a word", len(queries), refused)
	if refused == len(queries) || refused == 0 {
		t.Error("the list tests nothing")
	}
}

func TestOnlyTheDocumentedOperatorsAreOperators(t *testing.T) {
	f := newPrivate(t)
	put1(t, f, entry(t, "test:ab", "alpha beta"), entry(t, "test:a", "alpha alone"), entry(t, "test:n", "alpha not beta near this, or that"))
	for _, c := range []struct {
		query, mode string
		total       int
	}{
		{"alpha beta", ModeAnd, 2},
		{"alpha NOT beta", ModeAnd, 1},
		{"alpha OR beta", ModeAnd, 1},
		{"NEAR(alpha beta)", ModeOr, 3},
		{"text:alpha", ModeOr, 3},
		{"alpha^2", ModeOr, 3},
		{`"alpha beta"`, ModeAnd, 1},
		{`"beta alpha"`, ModeAnd, 0},
		{"alpha-beta", ModeAnd, 1},
		{"gamma alpha", ModeOr, 3},
		{"gamma delta", ModeOr, 0},
		{"gamma", ModeAnd, 0},
		{"alpha ALPHA Alpha", ModeAnd, 3},
		// Leaving out.
		{"alpha -beta", ModeAnd, 1},
		{"alpha -gamma", ModeAnd, 3},
		{"alpha -alpha", ModeAnd, 0},
		{`alpha -"alpha beta"`, ModeAnd, 2},
		{`alpha - "alpha beta"`, ModeAnd, 1},
		{`alpha -not-beta`, ModeAnd, 2},
		{"gamma alpha -beta", ModeOr, 1},
		{"alpha --beta", ModeAnd, 2},
		{`"-beta" alpha`, ModeAnd, 2},
		// Starts of words.
		{"alph*", ModeAnd, 3},
		{"al*", ModeAnd, 3},
		{"alon*", ModeAnd, 1},
		{"b* n*", ModeAnd, 1},
		{"alpha -b*", ModeAnd, 1},
		{`"alph*"`, ModeAnd, 0},
		{"alpha-b*", ModeAnd, 1}, // the last word of several
		{"lpha*", ModeAnd, 0},
	} {
		r, err := Search(t.Context(), []*File{f}, Query{Text: c.query})
		if err != nil || r.Mode != c.mode || r.Total != c.total {
			t.Errorf("%q: mode %s, %d in total, %v; want %s, %d", c.query, r.Mode, r.Total, err, c.mode, c.total)
		}
	}
	for _, q := range []string{"-alpha", `-"alpha beta" -gamma`, "site:example.org", "corpus:main after:2026", "alpha after:May", "alpha before:2026-13", "alpha after:yesterday"} {
		_, err := Search(t.Context(), []*File{f}, Query{Text: q})
		var qe *QueryError
		if !errors.As(err, &qe) {
			t.Errorf("%q: %v, want a QueryError", q, err)
		}
	}
}

func TestFiltersChooseDocumentsAndChangeNoScore(t *testing.T) {
	s := newShared(t, 4)
	at := func(uri, corpus, day, text string) document.Entry {
		e := entry(t, uri, text)
		when, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		e.Location.Corpus, e.Location.FetchedAt = corpus, when
		return e
	}
	put1(t, s,
		at("https://example.org/a", "P1/main", "2026-01-31", "badger one"),
		at("https://www.example.org:8080/b", "P1/main", "2026-02-01", "badger two and more"),
		at("https://notexample.org/c", "P2/main", "2026-05-05", "badger three"),
		at("file:///example.org/d", "P2/other", "2025-12-31", "badger four"),
		at("https://example.org/e", "P1/main", "2026-03-01", "badger in an old version"))
	put1(t, s, at("https://example.org/e", "P1/main", "2026-06-01", "badger in a new version"))
	all, err := s.Search(t.Context(), Query{Text: "badger", Limit: 100})
	if err != nil || all.Total != 5 {
		t.Fatalf("%d of 5, %v", all.Total, err)
	}
	score := make(map[document.Root]float64)
	for _, h := range all.Hits {
		score[h.Root] = h.Score
	}
	for text, want := range map[string]string{
		"badger site:example.org":                     "a b e",
		"badger SITE:Example.ORG/":                    "a b e",
		"badger site:www.example.org":                 "b",
		"badger site:www.example.org:8080":            "b",
		"badger site:example.org site:notexample.org": "a b c e",
		"badger site:org":                             "a b c e",
		"badger site:nowhere.net":                     "",
		"badger corpus:main":                          "a b c e",
		"badger corpus:P2/main":                       "c",
		"badger corpus:ain":                           "",
		"badger corpus:other corpus:P2/main":          "c d",
		"badger after:2026":                           "a b c e",
		"badger after:2026-02":                        "b c e",
		"badger after:2026-02-02":                     "c e",
		"badger before:2026-02 before:2026-06":        "a d",
		"badger before:2026-06 before:2026-02":        "a d",
		"badger after:2026-05 after:2026":             "c e",
		"badger before:2026":                          "d",
		"badger after:2026-02 before:2026-06":         "b c",
		"badger after:2026-02 before:2026-05-05":      "b",
		"badger site:example.org before:2026-02":      "a",
		"badger -two site:example.org":                "a e",
		`badger "site:example.org"`:                   "",
		"badger site:":                                "",
	} {
		r, err := s.Search(t.Context(), Query{Text: text, Limit: 100})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got []string
		for _, h := range r.Hits {
			got = append(got, h.Location.URI[len(h.Location.URI)-1:])
			if h.Score != score[h.Root] && !strings.Contains(text, "site:\"") && r.Mode == ModeAnd && text != "badger site:" {
				t.Errorf("%q: %s has score %v, without filters %v", text, h.Location.URI, h.Score, score[h.Root])
			}
		}
		slices.Sort(got)
		if r.Mode == ModeOr {
			got = nil
		}
		if strings.Join(got, " ") != want || r.Mode == ModeAnd && r.Total != len(got) {
			t.Errorf("%q: found %v of %d, want %s", text, got, r.Total, want)
		}
	}
}

func TestSegmentsAreWordsAndPairedQuotes(t *testing.T) {
	for text, want := range map[string]string{
		`a b`:             "a b",
		`a "b c" d`:       "a [b c] d",
		`5" disk`:         "5 disk",
		`"a b" 5" disk`:   "[a b] 5 disk",
		`a"b c"d`:         "a [b c] d",
		"\"a\nb\"\tc":     "[a\nb] c",
		`"unclosed words`: "unclosed words",
		`a -b`:            "a !b",
		`a - b`:           "a - b",
		`a --b ---`:       "a --b ---",
		`a-b -c-d`:        "a-b !c-d",
		`a -"b c"`:        "a ![b c]",
		`a- "b c"`:        "a- [b c]",
		`a-"b c"`:         "a [b c]",
		`-"b"`:            "![b]",
	} {
		got, err := segments(text)
		var b []string
		for _, s := range got {
			word := s.text
			if s.quoted {
				word = "[" + word + "]"
			}
			if s.not {
				word = "!" + word
			}
			b = append(b, word)
		}
		if err != nil || strings.Join(b, " ") != want {
			t.Errorf("%q: %q, %v; want %q", text, b, err, want)
		}
	}
}

func TestCostlyAndBrokenQueriesAreRefusedAtOnce(t *testing.T) {
	f := newPrivate(t)
	put1(t, f, entry(t, "test:a", "a b c"))
	var words strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&words, "w%d ", i)
	}
	for name, q := range map[string]Query{
		"20,000 words":      {Text: words.String()},
		"65 words":          {Text: words.String()[:350]},
		"one long phrase":   {Text: `"` + words.String()[:350] + `"`},
		"one long compound": {Text: strings.ReplaceAll(words.String()[:350], " ", "-")},
		"bytes":             {Text: strings.Repeat("x", MaxQueryBytes+1)},
		"16 MB":             {Text: strings.Repeat("x ", 8<<20)},
		"NUL":               {Text: "a\x00b"},
		"escape":            {Text: "a \x1b[2J"},
		"C1 control":        {Text: "a \u009b b"},
		"delete":            {Text: "a\x7f"},
		"bad UTF-8":         {Text: "a \xff\xfe"},
		"cut UTF-8":         {Text: "a \xe2\x82"},
		"negative limit":    {Text: "a", Limit: -1},
		"negative offset":   {Text: "a", Offset: -1},
		"limit":             {Text: "a", Limit: MaxHits + 1},
		"offset":            {Text: "a", Offset: 1 << 62, Limit: 1 << 62},
	} {
		start := realtext.CPU()
		_, err := Search(t.Context(), []*File{f}, q)
		var qe *QueryError
		if !errors.As(err, &qe) {
			t.Errorf("%s: %v, want a QueryError", name, err)
		}
		if took := realtext.CPU() - start; took > 50*time.Millisecond {
			t.Errorf("%s: took %s", name, took)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
	for _, text := range []string{"", " ", `"`, `"" ""`, "!?", "***", "😀", "\u200b", "—"} {
		if _, err := Search(t.Context(), []*File{f}, Query{Text: text}); !errors.Is(err, ErrNoWords) {
			t.Errorf("%q: %v, want ErrNoWords", text, err)
		}
	}
}

// FuzzNoQueryReachesTheGrammar puts any text through the whole search.
func FuzzNoQueryReachesTheGrammar(f *testing.F) {
	for _, q := range oddQueries() {
		f.Add(q)
	}
	file := newPrivate(f)
	put1(f, file, entry(f, "test:a", "a b c multi agent 38 101 sqlite3 open v2"))
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := Search(t.Context(), []*File{file}, Query{Text: text}); !answered(err) {
			t.Errorf("%q: %v", text, err)
		}
	})
}
