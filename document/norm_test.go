package document

import (
	"bytes"
	"strings"
	"testing"
)

func TestNormalizeTable(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"only white space", " \t\r\n\u3000\n", ""},
		{"ascii stays", "# A\n\nb c\n\tcode  \n", "# A\n\nb c\n\tcode"},
		{"line ends", "a\r\nb\rc\n\rd", "a\nb\nc\n\nd"},
		{"blank lines", "a\n\n\n \n\nb", "a\n\nb"},
		{"inner white space", "a \t b\u00a0\u2003c\u2028d", "a b c d"},
		{"indentation stays", "a\n\t  b  c\n\u00a0\u00a0d", "a\n\t  b c\n  d"},
		{"byte order marks", "\uFEFF \uFEFF\na\uFEFF", "a\uFEFF"},
		{"controls", "a\x00b\x0bc\x0cd\x7fe\u0085f\u009fg", "abcdefg"},
		{"control between base and mark", "e\x00\u0301", "é"},
		{"truncated sequence", "a\xf0\x9f\x98z", "a\uFFFDz"},
		{"surrogate", "\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
		{"overlong", "\xc0\xaf\xe0\x80\xaf", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"},
		{"compose", "e\u0301 \u212b", "é Å"},
		{"hangul", "\u1112\u1161\u11ab", "한"},
		{"supplementary mark", "\U00010041\u0301", "\U00010041\u0301"},
		{"unassigned is a boundary", "e\u0378\u0301", "e\u0378\u0301"},
		{"31 marks", "e" + strings.Repeat("\u0301", 31), "é" + strings.Repeat("\u0301", 30)},
		{"40 marks are ordered", "a" + strings.Repeat("\u0301\u0323", 20), "ạ" + strings.Repeat("\u0323", 19) + strings.Repeat("\u0301", 20)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Normalize([]byte(test.in))
			if string(got) != test.want {
				t.Errorf("Normalize(%q) = %q, want %q", test.in, got, test.want)
			}
			if again := Normalize(got); !bytes.Equal(again, got) || !IsNormal(got) {
				t.Errorf("Normalize(%q) = %q, then %q, IsNormal %v", test.in, got, again, IsNormal(got))
			}
			if test.in != test.want && IsNormal([]byte(test.in)) {
				t.Errorf("IsNormal(%q)", test.in)
			}
		})
	}
}
