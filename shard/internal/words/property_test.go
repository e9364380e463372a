package words

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// samples are of the scripts that the rules know; the fuzz corpus begins with
// them too.
func samples() []string {
	return []string{
		"The quick brown foxes don't jump; O’Brien's C++17 is in sqlite3_open_v2(3.54.1).",
		"Größenwahn, naïveté, smörgåsbord, Łódź, İstanbul'da, l’homme",
		"Съешь ещё этих мягких французских булок; об'єднання п’ять", "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία",
		"全文検索の索引はｶﾞﾗｽのように。第3章", "中华人民共和国2026年 在第3章", "학교에서 한국어를 배운다",
		"เป็นมนุษย์สุดประเสริฐ", "ພາສາລາວ", "ភាសាខ្មែរ", "မြန်မာဘာသာ", "हिन्दी क़लम", "שָׁלוֹם עולם", "العَرَبِيَّة لغة",
		"Zu\u0308rich e\u0301\u0301 \u0301x a\u00adb \u200dw ﬁ x² ½ Ⅷ ＡＢＣ＋＋ 𝐀𝟙 ⼀",
		"'s ' '' a' 'a don't' n't x't l's'd ''t", strings.Repeat("long", 40) + " " + strings.Repeat("検", 70) + strings.Repeat("\u0301", 90),
		"\xff\xfea\xc3(b\xe2\x80 \xf0\x9f\x98\x80ok",
	}
}

type span struct {
	term       string
	start, end int
}

func spans(t *Tokenizer, text []byte) (all []span) {
	t.Each(text, func(term []byte, start, end int) { all = append(all, span{string(term), start, end}) })
	return all
}

// check holds one text against all that Each and Query promise.
func check(t *testing.T, k *Tokenizer, text []byte) {
	t.Helper()
	all := spans(k, text)
	last := -1
	for _, s := range all {
		if s.start <= last || s.end <= s.start || s.end > len(text) {
			t.Fatalf("%q: span [%d:%d] of %q after one that starts at %d", text, s.start, s.end, s.term, last)
		}
		last = s.start
		if s.term == "" || len(s.term) > MaxTerm || !utf8.ValidString(s.term) {
			t.Fatalf("%q: term %q", text, s.term)
		}
		if alone := spans(k, text[s.start:s.end]); len(alone) == 0 || len(alone) > 2 || alone[0].term != s.term {
			t.Fatalf("%q: %q alone gives %v, in the text it gave %q", text, text[s.start:s.end], alone, s.term)
		}
	}
	for _, word := range append(bytes.Fields(text), text) {
		query := k.Query(word)
		if len(spans(k, word)) == 0 != (len(query) == 0) || !found(query, all) {
			t.Fatalf("%q: its own words %q, as a query %v, are not a phrase of %v", text, word, query, all)
		}
	}
}

// found reports whether the query stands at successive positions of the text.
func found(query []Term, text []span) bool {
next:
	for i := 0; i+len(query) <= len(text); i++ {
		for j, q := range query {
			if term := text[i+j].term; term != q.Text && !(q.Prefix && strings.HasPrefix(term, q.Text)) {
				continue next
			}
		}
		return true
	}
	return len(query) == 0
}

func TestEveryWordFindsItsOwnText(t *testing.T) {
	var k Tokenizer
	for _, s := range samples() {
		check(t, &k, []byte(s))
	}
}

func TestEveryPartOfARunFindsIt(t *testing.T) {
	var k Tokenizer
	for _, run := range []string{"全文検索の索引", "학교에서배운다", "เป็นมนุษย์สุดประเสริฐ", "在第3章程"} {
		var cuts []int
		for i := range run {
			if c := k.character([]byte(run), i); c.kind != mark {
				cuts = append(cuts, i)
			}
		}
		cuts = append(cuts, len(run))
		all := spans(&k, []byte(run))
		for i, from := range cuts {
			for _, to := range cuts[i+1:] {
				if q := k.Query([]byte(run[from:to])); len(q) == 0 || !found(q, all) {
					t.Errorf("%q, as a query %v, is not found in %q", run[from:to], q, run)
				}
			}
		}
	}
}

// paragraphs reads the labelled paragraphs of 24 languages.
func paragraphs(t testing.TB) map[string][][]byte {
	const file = "/work/shared/data/lang/paragraphs.json"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Skip("without the paragraphs of 24 languages: ", err)
	}
	var all []struct{ Lang, Text string }
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	by := make(map[string][][]byte)
	for _, p := range all {
		by[p.Lang] = append(by[p.Lang], []byte(p.Text))
	}
	return by
}

func TestEveryWordOfEveryLanguageFindsItsOwnText(t *testing.T) {
	var k Tokenizer
	for lang, texts := range paragraphs(t) {
		for _, p := range texts {
			check(t, &k, p)
		}
		if t.Failed() {
			t.Fatal("language ", lang)
		}
	}
}

func TestCanonicallyEqualTextsGiveTheSameTerms(t *testing.T) {
	var k Tokenizer
	texts := samples()
	if !testing.Short() {
		for _, ps := range paragraphs(t) {
			for _, p := range ps {
				texts = append(texts, string(p))
			}
		}
	}
	for _, s := range texts {
		if c, d := terms(&k, norm.NFC.String(s)), terms(&k, norm.NFD.String(s)); c != d {
			t.Errorf("composed %q\napart    %q", c, d)
		}
	}
}

func TestTermsWithoutAStemGiveThemselves(t *testing.T) {
	var k Tokenizer
	for _, s := range samples() {
		for _, x := range spans(&k, []byte(s)) {
			plain := !strings.ContainsFunc(x.term, func(r rune) bool { return r < 'a' || r > 'z' })
			if again := spans(&k, []byte(x.term)); !plain && (len(again) == 0 || again[0].term != x.term) {
				t.Errorf("%q of %q gives %v", x.term, s, again)
			}
		}
	}
}

// TestEveryCharacterIsPinned fails when a Go release brings other Unicode
// tables or a change here touches any character: then Version needs a new name.
func TestEveryCharacterIsPinned(t *testing.T) {
	var m runes
	h := sha256.New()
	for r := rune(0); r <= utf8.MaxRune; r++ {
		f := m.get(r)
		if f.kind >= mark || f.kind == dense {
			if whole := m.folder.fold([]byte(string(r))); len(whole) != int(f.n) {
				t.Errorf("%U gives %d bytes, %d of them remembered", r, len(whole), f.n)
			}
		}
		fmt.Fprintln(h, r, f.kind, f.cyrillic, f.joins, string(f.text[:f.n]))
	}
	const want = "18add007b8c48ddbca006a038cadae46aa3fd899eb18bdc28cd7c617ca281a7f"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("characters are %s, of %s they were %s", got, Version, want)
	}
}

func TestBuffersAreReused(t *testing.T) {
	var k Tokenizer
	var known []string // all but letters with dozens of marks, and other planes
	for _, s := range samples() {
		if !strings.Contains(s, "long") && !strings.Contains(s, "𝐀") {
			known = append(known, s)
		}
	}
	text := []byte(strings.Join(known, " "))
	each := func() { k.Each(text, func([]byte, int, int) {}) }
	each()
	if n := testing.AllocsPerRun(10, each); n > 0 {
		t.Errorf("%v allocations for a text seen before, want none", n)
	}
}

func FuzzEach(f *testing.F) {
	for _, s := range samples() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var k Tokenizer
		check(t, &k, text)
	})
}
