package shard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
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
			!strings.ContainsAny(q, "0123456789") && len(r.Hits) != 1 && !strings.Contains(q, "a a") {
			t.Errorf("%q found nothing", q)
		}
	}
	t.Logf("%d queries, %d of them without a word", len(queries), refused)
	if refused == len(queries) || refused == 0 {
		t.Error("the list tests nothing")
	}
}

func TestOperatorsAreWords(t *testing.T) {
	f := newPrivate(t)
	put1(t, f, entry(t, "test:ab", "alpha beta"), entry(t, "test:a", "alpha alone"), entry(t, "test:n", "alpha not beta near this, or that"))
	for _, c := range []struct {
		query, mode string
		total       int
	}{
		{"alpha beta", ModeAnd, 2},
		{"alpha NOT beta", ModeAnd, 1},
		{"alpha OR beta", ModeAnd, 1},
		{"alpha -beta", ModeAnd, 2},
		{"NEAR(alpha beta)", ModeOr, 2},
		{"text:alpha", ModeAnd, 0},
		{"alph*", ModeAnd, 0},
		{"alpha^2", ModeAnd, 0},
		{`"alpha beta"`, ModeAnd, 1},
		{`"beta alpha"`, ModeAnd, 0},
		{"alpha-beta", ModeAnd, 1},
		{"gamma alpha", ModeOr, 3},
		{"gamma delta", ModeOr, 0},
		{"gamma", ModeAnd, 0},
		{"alpha ALPHA Alpha", ModeAnd, 3},
	} {
		r, err := Search(t.Context(), []*File{f}, Query{Text: c.query})
		if err != nil || r.Mode != c.mode || r.Total != c.total {
			t.Errorf("%q: mode %s, %d in total, %v; want %s, %d", c.query, r.Mode, r.Total, err, c.mode, c.total)
		}
	}
}

func TestSegmentsAreWordsAndPairedQuotes(t *testing.T) {
	for text, want := range map[string][]string{
		`a b`:             {"a", "b"},
		`a "b c" d`:       {"a", "b c", "d"},
		`5" disk`:         {"5", "disk"},
		`"a b" 5" disk`:   {"a b", "5", "disk"},
		`a"b c"d`:         {"a", "b c", "d"},
		"\"a\nb\"\tc":     {"a\nb", "c"},
		`"unclosed words`: {"unclosed", "words"},
	} {
		if got, err := segments(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
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
		start := time.Now()
		_, err := Search(t.Context(), []*File{f}, q)
		var qe *QueryError
		if !errors.As(err, &qe) {
			t.Errorf("%s: %v, want a QueryError", name, err)
		}
		if took := time.Since(start); took > 50*time.Millisecond {
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
