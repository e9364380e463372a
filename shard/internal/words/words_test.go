package words

import (
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
		{"signs of languages", "C++ C# F#, C++17 a++b c#m #1", "c++ c# f# c++ 17 a b c m 1"},
		{"numbers", "38.101 1,000 3.54.1", "38 101 1 000 3 54 1"},
		{"addresses", "me@example.org https://example.org/a?b=c", "me exampl org https exampl org a b c"},
		{"apostrophes", "don't O’Brien l'homme John's we'll rock'n'roll 'tis dogs'", "dont o brien l homm john we rock n roll tis dog"},
		{"ukrainian apostrophe", "об'єкт п’ять", "обєкт пять"},
		{"han", "検索 第3章", "検索 索 第 3 章"},
		{"kana", "ガラス ｶﾞﾗｽ カ\u3099ラス", "ガラ ラス ス ガラ ラス ス ガラ ラス ス"},
		{"hangul", "학교에서", "학교 교에 에서 서"},
		{"mixed scripts", "Web検索API", "web 検索 索 api"},
		{"devanagari", "क़लम क\u093cलम", "क़लम क़लम"},
	} {
		if got := terms(&k, c.text); got != c.want {
			t.Errorf("%s: terms of %q are\n%q, want\n%q", c.name, c.text, got, c.want)
		}
	}
}
