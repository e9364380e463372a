package words

import (
	"slices"
	"strings"
	"testing"
)

// terms joins what Each gives by spaces.
func terms(t *Tokenizer, text string) string {
	var all []string
	t.Each([]byte(text), func(term []byte, _, _ int) { all = append(all, string(term)) })
	return strings.Join(all, " ")
}

func TestTermsOfText(t *testing.T) {
	var k Tokenizer
	for _, c := range []struct{ name, text, want string }{
		{"nothing", " \t\n--…!", ""},
		{"case", "Merkle TREE tree", "merkl tree tree"},
		{"english endings", "connected connections connecting", "connect connect connect"},
		{"no stem with a digit", "mp3s covid19ing", "mp3s covid19ing"},
		{"latin marks", "Zürich Zu\u0308rich Straße Łódź Đặng Ørsted Æsir", "zurich zurich strass lodz dang orst aesir"},
		{"turkish i", "ISPARTA ısparta İzmir", "isparta isparta izmir"},
		{"greek", "ΣΊΣΥΦΟΣ Σίσυφος", "σισυφοσ σισυφοσ"},
		{"cyrillic", "Ёлка елка Київ", "елка елка киів"},
		{"width and ligatures", "ＡＢＣ１２ ﬁle x²", "abc12 file x2"},
		{"soft hyphen", "chun\u00adker", "chunker"},
		{"identifiers", "sqlite3_open_v2 camelCase", "sqlite3 open v2 camelcas"},
		{"signs of languages", "C++ C# F#, C++17 a++b c#m c#_m #1 5# Notepad++", "c++ c# f# c++ 17 a b c m c m 1 5 notepad"},
		{"numbers", "38.101 1,000 3.54.1", "38 101 1 000 3 54 1"},
		{"addresses", "me@example.org https://example.org/a?b=c", "me exampl org https exampl org a b c"},
		{"apostrophes", "don't O’Brien l'homme John's we'll rock'n'roll 'tis dogs'", "dont o brien l homm john we rock n roll tis dog"},
		{"short forms", "she'd I'm they're we've he'll can't", "she i they we he cant"},
		{"no short forms", "O'Sullivan a'sé x't X'Д don'ts", "o sullivan a se x t x д don ts"},
		{"cyrillic apostrophe", "об'єкт п’ять об' п'x", "обєкт пять об п x"},
		{"han", "検索 第3章", "検索 索 第 3 章"},
		{"kana", "ガラス ｶﾞﾗｽ カ\u3099ラス", "ガラ ラス ス ガラ ラス ス ガラ ラス ス"},
		{"hangul", "학교에서", "학교 교에 에서 서"},
		{"run with joiner and loose marks", "検\u200d索 検" + strings.Repeat("\u0301", 40) + "索", "検索 索 検" + strings.Repeat("\u0301", 14) + "索 索"},
		{"mixed scripts", "Web検索API", "web 検索 索 api"},
		{"hebrew points", "שָׁלוֹם שלום \ufb2a\u05b8לום בְּרֵאשִׁ֖ית", "שלום שלום שלום בראשית"},
		{"arabic vowels and tatweel", "كَتَبَ كتب رســالة رسَـَالة ـ مُحَمَّد \ufe91ـ", "كتب كتب رسالة رسالة محمد ب"},
		{"arabic letters with hamza", "أكل سؤال \u0627\u0654كل", "أكل سؤال أكل"},
		{"devanagari", "क़लम क\u093cलम", "क़लम क़लम"},
	} {
		if got := terms(&k, c.text); got != c.want {
			t.Errorf("%s: terms of %q are\n%q, want\n%q", c.name, c.text, got, c.want)
		}
	}
}

func TestQueries(t *testing.T) {
	var k Tokenizer
	for _, c := range []struct {
		text string
		want []Term
	}{
		{"", nil},
		{"Trees", []Term{{"tree", false}}},
		{"sqlite3_open", []Term{{"sqlite3", false}, {"open", false}}},
		{"検", []Term{{"検", true}}},
		{"検索", []Term{{"検索", false}}},
		{"全文検索。", []Term{{"全文", false}, {"文検", false}, {"検索", false}}},
		{"検索 API", []Term{{"検索", false}, {"索", false}, {"api", false}}},
		{"第3章", []Term{{"第", false}, {"3", false}, {"章", true}}},
		{"한", []Term{{"한", true}}},
	} {
		if got := k.Query([]byte(c.text)); !slices.Equal(got, c.want) {
			t.Errorf("query %q is %v, want %v", c.text, got, c.want)
		}
	}
}

func TestLongWordsAreCutAtACharacter(t *testing.T) {
	var k Tokenizer
	x := strings.Repeat("x", MaxTerm)
	for text, want := range map[string]string{
		x + "yz 1":     x + " 1",
		x[1:] + "é":    x[1:] + "e",
		x[1:] + "дa b": x[1:] + " b",
		x[2:] + "ßß":   x[2:] + "ss",
		x[1:] + "ßq":   x[1:] + "s",
		"क" + strings.Repeat("\u093e", 30) + "ख": "क" + strings.Repeat("\u093e", 20),
	} {
		if got := terms(&k, text); got != want {
			t.Errorf("terms of %q are %q, want %q", text, got, want)
		}
	}
}

func TestSpansAreOfTheWordAlone(t *testing.T) {
	var k Tokenizer
	for text, want := range map[string]string{
		"(John's)":       "John",
		"don’t.":         "don’t",
		"C++;":           "C++",
		"soft\u00ad ok":  "soft",
		"„Zu\u0308rich“": "Zu\u0308rich",
	} {
		if s := spans(&k, []byte(text))[0]; text[s.start:s.end] != want {
			t.Errorf("%q: the first term came from %q, want %q", text, text[s.start:s.end], want)
		}
	}
}
