package document

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

// hexBytes are written in hexadecimal, because vectors hold ill-formed text.
type hexBytes []byte

func (h hexBytes) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h), nil }

func (h *hexBytes) UnmarshalText(b []byte) (err error) {
	*h, err = hex.AppendDecode(nil, b)
	return err
}

type normVector struct {
	Name   string   `json:"name"`
	Input  hexBytes `json:"input"`
	Output hexBytes `json:"output"`
}

// normTable says what norm-v2 does, rule by rule.
func normTable() []normVector {
	var table []normVector
	add := func(name, in, want string) {
		table = append(table, normVector{name, hexBytes(in), hexBytes(want)})
	}
	add("empty", "", "")
	add("canonical text stays", "# A\n\nb c\n\n    code", "# A\n\nb c\n\n    code")
	add("only white space", " \t\r\n\u3000\n", "")
	add("only controls", "\x00\x1b\x7f\u0085", "")
	decodeTable(add)
	add("LF, CRLF, CR", "a\nb\r\nc\rd", "a\nb\nc\nd")
	add("LF CR is two line ends", "a\n\rb", "a\n\nb")
	add("CR CR LF is two line ends", "a\r\r\nb", "a\n\nb")
	add("VT, FF, NEL are controls, not line ends", "a\vb\fc\u0085d", "abcd")
	add("LS and PS are white space, not line ends", "a\u2028b\u2029c", "a b c")
	add("controls are dropped", "a\x00b\x1b[1mc\x7fd\u0080e\u009ff", "ab[1mcdef")
	add("one control of C1", "a\u0085b", "ab")
	add("soft hyphen and zero width space stay", "a\u00adb\u200bc\u200d", "a\u00adb\u200bc\u200d")
	nfcTable(add)
	add("runs inside a line", "a \t b\u00a0\u2003c \u3000d", "a b c d")
	add("every white space character", "a\tb\u00a0c\u1680d\u2000e\u2001f\u2002g\u2003h\u2004i\u2005j\u2006k\u2007l\u2008m\u2009n\u200ao\u2028p\u2029q\u202fr\u205fs\u3000t", "a b c d e f g h i j k l m n o p q r s t")
	add("a tab inside a line", "a\tb", "a b")
	add("indentation stays", "a\n  b\n\tc\n \t d", "a\n  b\n\tc\n \t d")
	add("other white space in an indentation becomes spaces one by one", "a\n\u00a0\u2003\t\u3000b", "a\n  \t b")
	add("line ends trimmed", "a \nb\t\n \nc\u00a0\nd", "a\nb\n\nc\nd")
	add("two line ends stay", "a\n\nb", "a\n\nb")
	add("three and more become two", "a\n\n\nb\n \n\t\n\u3000\nc", "a\n\nb\n\nc")
	add("ends stripped", "\n\n  a\n\n", "a")
	add("indentation of the first line stripped", "    a\n    b", "a\n    b")
	add("byte order marks in front stripped", "\uFEFF \uFEFF\n\x00\uFEFFa", "a")
	add("byte order mark elsewhere stays", "a\uFEFF\n\uFEFFb", "a\uFEFF\n\uFEFFb")
	add("only a byte order mark", "\uFEFF", "")
	return table
}

func decodeTable(add func(name, in, want string)) {
	const bad = "\uFFFD"
	add("truncated sequence of four bytes", "a\xf0\x9f\x98z", "a"+bad+"z")
	add("truncated at the end", "a\xe2\x82", "a"+bad)
	add("two truncated sequences", "\xf0\x9f\xf0\x9f\x98", bad+bad)
	add("lone continuation bytes", "\x80\xbf", bad+bad)
	add("surrogate", "\xed\xa0\x80", bad+bad+bad)
	add("overlong", "\xc0\xaf\xe0\x80\xaf\xf0\x80\x80\xaf", strings.Repeat(bad, 9))
	add("above U+10FFFF", "\xf4\x90\x80\x80\xf5\xff", strings.Repeat(bad, 6))
	add("F5 starts nothing", "\xf5\x80\x80\x80", strings.Repeat(bad, 4))
	add("highest well-formed of each length", "\x7e\xdf\xbf\xef\xbf\xbd\xf4\x8f\xbf\xbf", "\x7e\xdf\xbf\xef\xbf\xbd\xf4\x8f\xbf\xbf")
	add("ill-formed byte between base and mark", "e\xff\u0301", "e"+bad+"\u0301")
	add("UTF-16 is not detected", "\xff\xfea\x00", bad+bad+"a")
}

func nfcTable(add func(name, in, want string)) {
	add("compose", "e\u0301 a\u030a", "é å")
	add("singletons", "\u212b \u2126 \u1fef", "Å Ω `")
	add("composition exclusions", "\u0958 \ufb2c", "\u0915\u093c \u05e9\u05bc\u05c1")
	add("order of marks", "a\u0301\u0323 q\u0307\u0323", "ạ́ q\u0323\u0307")
	add("a mark is not blocked by a lower class", "a\u0327\u0301", "á\u0327")
	add("a starter blocks", "a\u034f\u0301", "a\u034f\u0301")
	add("hangul", "\u1112\u1161\u11ab \uac00\u11a8 \uac01\u11a8", "한 각 \uac01\u11a8")
	add("marks that decompose", "\u0344 \u0f73", "\u0308\u0301 \u0f71\u0f72")
	add("two starters that compose", "\u09c7\u09be", "\u09cb")
	add("no composition with a supplementary letter", "\U00010041\u0301", "\U00010041\u0301")
	add("three code points from one", "\U0001d160", "\U0001d158\U0001d165\U0001d16e")
	add("a dropped control does not part base and mark", "e\x00\u0301", "é")
	add("a space does not join a mark", "e \u0301", "e \u0301")
	add("assigned in 15.0", "\U00011f42\U00011f41\u0301", "\U00011f42\U00011f41\u0301")
	add("unassigned in 15.0 parts base and mark", "e\u0378\u0301", "e\u0378\u0301")
	add("assigned in 16.0 only: never composed", "\U000105d2\u0307 \U00016d67\U00016d67", "\U000105d2\u0307 \U00016d67\U00016d67")
	add("a noncharacter is unassigned", "e\uffff\u0301", "e\uffff\u0301")
	add("31 marks, nothing inserted", "e"+strings.Repeat("\u0301", 31), "é"+strings.Repeat("\u0301", 30))
	add("40 marks in order", "a"+strings.Repeat("\u0301\u0323", 20), "ạ"+strings.Repeat("\u0323", 19)+strings.Repeat("\u0301", 20))
	add("40 marks without a base", strings.Repeat("\u0301\u0323", 20), strings.Repeat("\u0323", 20)+strings.Repeat("\u0301", 20))
	add("only compatibility: unchanged", "ﬁ ² ½ Ａ", "ﬁ ² ½ Ａ")
}

func TestNormVectors(t *testing.T) {
	table := normTable()
	about := "Canonical text. Input and output are bytes in hexadecimal."
	for i, v := range vectors(t, "norm.json", about, NormName, table) {
		if got := Normalize(v.Input); !bytes.Equal(got, v.Output) {
			t.Errorf("%s: Normalize(%q) = %q, want %q", v.Name, v.Input, got, v.Output)
		}
		checkNormal(t, v.Input)
		if want := table[i]; want.Name != v.Name || !bytes.Equal(want.Output, v.Output) {
			t.Errorf("%s is not what the table says of %s", v.Name, want.Name)
		}
	}
}
