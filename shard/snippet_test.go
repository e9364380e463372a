package shard

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"arborist/shard/internal/words"
)

// marked writes a snippet with its marks in brackets.
func marked(s Snippet) string {
	var b strings.Builder
	at := 0
	for _, m := range s.Marks {
		b.WriteString(s.Text[at:m[0]] + "[" + s.Text[m[0]:m[1]] + "]")
		at = m[1]
	}
	return b.String() + s.Text[at:]
}

func TestSnippetMarksWhatTheQueryFound(t *testing.T) {
	for _, c := range []struct{ query, text, want string }{
		{"granite", "The granite is grey.", "The [granite] is grey."},
		{"walk", "Walking, he walked; walks.", "[Walking], he [walked]; [walks]."},
		{`"grey granite"`, "granite is grey, grey granite", "granite is grey, [grey] [granite]"},
		{"gran*", "granite grandly, a grain", "[granite] [grandly], a grain"},
		{"granite -grey", "granite", "[granite]"},
		{"zurich", "In Zürich.", "In [Zürich]."},
		{"sqlite3_open_v2", "call sqlite3_open_v2() or open", "call [sqlite3]_[open]_[v2]() or open"},
		{"C++", "C++ is not C.", "[C++] is not C."},
		{"東京都", "今日は東京都へ行く", "今日は[東京都]へ行く"},
		{"京", "今日は東京都へ行く", "今日は東[京]都へ行く"},
		{"京", "京都は京。京", "[京]都は[京]。[京]"},
		{"検*", "全文検索", "全文[検]索"},
		{"한", "한국", "[한]국"},
		{"grey site:example.org after:2026", "site of grey", "site of [grey]"},
		{"a a b", "a b", "[a] [b]"},
		{`"b b"`, "b b b", "[b] [b] [b]"},
		{"granite", "\n\n granite \n", "[granite]"},
		{"absent", "nothing here", "nothing here"},
		// What is found where any word will do is marked where not all is there.
		{"38.10", "10 of 38, and 38.10", "10 of 38, and [38].[10]"},
		{"38.10", "10 of 38", "[10] of [38]"},
		{"granite 38.10", "10 of granite", "[10] of [granite]"},
		{"38.gran*", "granite", "[granite]"},
		{`"38.10"`, "10 of 38", "10 of 38"},
	} {
		s, err := NewSnippeter(c.query)
		if err != nil {
			t.Fatalf("%s: %v", c.query, err)
		}
		if got := marked(s.Snippet([]byte(c.text))); got != c.want {
			t.Errorf("%s: %s, want %s", c.query, got, c.want)
		}
	}
}

// TestSnippetShowsMostOfTheQuery: the window with all words wins over an
// earlier one with one of them, however often.
func TestSnippetShowsMostOfTheQuery(t *testing.T) {
	filler := strings.Repeat("word and sentence, ", 40)
	text := "granite granite granite. " + filler + "The granite of the old quarry is grey. " + filler + "quarry."
	s, err := NewSnippeter("quarry granite")
	if err != nil {
		t.Fatal(err)
	}
	got := s.Snippet([]byte(text))
	if !strings.Contains(marked(got), "The [granite] of the old [quarry] is grey.") {
		t.Errorf("got %s", marked(got))
	}
	if first, _, _ := strings.Cut(got.Text, " "); !strings.Contains(" word and sentence, ", " "+first+" ") {
		t.Errorf("cut within a word: %q", got.Text)
	}
	if len(got.Text) < MaxSnippet*3/4 {
		t.Errorf("only %d bytes are shown", len(got.Text))
	}
}

// checkSnippet holds a snippet against everything that is promised of it.
func checkSnippet(t *testing.T, query string, s *Snippeter, passage []byte) {
	t.Helper()
	got := s.Snippet(passage)
	valid := bytes.ToValidUTF8(passage, []byte("\uFFFD"))
	if utf8.Valid(passage) {
		valid = passage
	}
	if len(got.Text) > MaxSnippet || !utf8.ValidString(got.Text) {
		t.Fatalf("%q in %q: %d bytes: %q", query, passage, len(got.Text), got.Text)
	}
	if got.Start < 0 || !bytes.HasPrefix(valid[got.Start:], []byte(got.Text)) {
		t.Fatalf("%q in %q: %q is not the text at %d", query, passage, got.Text, got.Start)
	}
	at := -1
	var tokenizer words.Tokenizer
	for _, m := range got.Marks {
		if m[0] <= at || m[1] <= m[0] || m[1] > len(got.Text) {
			t.Fatalf("%q in %q: marks %v of %d bytes", query, passage, got.Marks, len(got.Text))
		}
		at = m[1]
		piece := got.Text[m[0]:m[1]]
		if !utf8.ValidString(piece) || !utf8.ValidString(got.Text[:m[0]]) {
			t.Fatalf("%q in %q: mark %v cuts a character", query, passage, m)
		}
		var first string
		tokenizer.Each([]byte(piece), func(term []byte, _, _ int) {
			if first == "" {
				first = string(term)
			}
		})
		found := false
		for _, c := range s.query.clauses {
			for _, w := range c.Words {
				found = found || first == w || c.Prefix && strings.HasPrefix(first, w)
			}
		}
		if !found {
			t.Fatalf("%q in %q: %q is marked, which begins with %q", query, passage, piece, first)
		}
	}
	// What a search finds is shown.
	var terms []string
	long := false
	tokenizer.Each(valid, func(term []byte, start, end int) {
		terms, long = append(terms, string(term)), long || end-start > MaxSnippet
	})
	n := 0
	for _, c := range append(s.query.parts(), s.query.clauses...) {
		n += c.Count(terms)
	}
	if (n > 0) != (len(got.Marks) > 0) && !long {
		t.Fatalf("%q in %q: %d matches, %d marks", query, passage, n, len(got.Marks))
	}
}

func TestSnippetsOfRandomTextsKeepTheirPromises(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	pieces := strings.Split("a|ab|granite|Zürich|東|京|都東|ไทย|C++|don't|O'Brien|x\u00ad\u00ady|é|e\u0301|3.5|sqlite_v2| | |\n|, |\"|*|\xff|🙂|가나|"+strings.Repeat("long", 20)+"|a"+strings.Repeat("\u00ad", 150)+"b", "|")
	some := func(n int) string {
		var b strings.Builder
		for range r.IntN(n) + 1 {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	}
	done := 0
	for range 4000 {
		query := strings.ToValidUTF8(some(6), "")
		s, err := NewSnippeter(query)
		if err != nil {
			continue
		}
		done++
		checkSnippet(t, query, s, []byte(some(120)))
	}
	if done < 2000 {
		t.Errorf("only %d queries could be run", done)
	}
}

func FuzzSnippet(f *testing.F) {
	f.Add("granite \"old quarry\" gr*", []byte("The granite of the old quarry is grey."))
	f.Add("東京都 京", []byte("今日は東京都へ行く"))
	f.Add("don't c++", []byte("I don\u2019t like C++ \xff\xfe"))
	f.Fuzz(func(t *testing.T, query string, passage []byte) {
		s, err := NewSnippeter(query)
		if err != nil || len(passage) > 1<<16 {
			return
		}
		checkSnippet(t, query, s, passage)
	})
}

func BenchmarkSnippet(b *testing.B) {
	s, err := NewSnippeter(`granite "old quarry" gr*`)
	if err != nil {
		b.Fatal(err)
	}
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "Sentence %d says that the granite of the quarry is grey. ", i)
	}
	passage := []byte(text.String())
	b.SetBytes(int64(len(passage)))
	for b.Loop() {
		s.Snippet(passage)
	}
}
