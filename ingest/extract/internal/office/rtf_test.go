package office

import (
	"strings"
	"testing"
)

const rtfFile = `{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fnil\fcharset0 Times;}{\f1\fnil\fcharset204{\*\fname Other;}Cyr;}{\f2\fcharset128 Mincho;}}
{\colortbl;\red255\green0\blue0;}{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 heading 1;}{\s5 Title;}{\*\cs10 heading 2;}}
{\*\generator Something;}{\info{\title The \'fcber title}{\author Somebody}{\doccomm None}}
{\header\pard On every page\par}
\pard\s5 A title\par
\pard\s1 Chapter\line one\par
\pard Plain {\b bold} caf\'e9,\tab \ldblquote quoted\rdblquote  2\_3 a\~b x\-y \{z\}\\\par
\pard{\f1 \'ca\'e0\'ec\'ed\'e8} {\f2 \'83\'4c\'83L} {\uc1\u1046?\u-10187?\u-8936?} {\uc2\u233\'65\'65}{\uc0\u233 }{\u233}x{\deleted gone}\par
\pard{\field{\*\fldinst HYPERLINK "http://h/"}{\fldrslt shown}}{\pict\bin3 }}{} {\*\bkmkstart mark}text{\footnote\pard A note.\par} more\par
{\listtext 1.\tab}\ls1 first\par{\pntext 2.}second\par
\trowd\pard\intbl Name\cell a|b\cell\row
\trowd\pard\intbl\cell two\par lines\cell\row
\pard{\shp{\*\shpinst{\sp{\sn name}{\sv value}}{\shptxt\pard In a box\par}}{\shprslt again}}After\
the table{\upr{narrow}{\*\ud{ wide}}}
}trailing`

const rtfText = "# A title\n\n# Chapter one\n\nPlain bold café, “quoted” 2-3 a b xy {z}\\\n\nКамни キキ Ж𝔘 éééx\n\nshown text more\n\n" +
	"- first\n- second\n\n| Name | a\\|b |\n|---|---|\n|  | two lines |\n\nIn a box\n\nAfter\n\nthe table wide\n\nA note."

func TestRichTextKeepsWhatItShows(t *testing.T) {
	d := read(t, []byte(rtfFile))
	if d.Kind != "rtf" || d.Title != "The über title" || strings.ReplaceAll(string(d.Markdown), "\u00a0", " ") != rtfText {
		t.Errorf("%s, %q\n got %q\nwant %q", d.Kind, d.Title, d.Markdown, rtfText)
	}
}

func TestHostileRichTextIsRefused(t *testing.T) {
	refuse(t, map[string]hostile{
		"a million groups":           {[]byte(`{\rtf1` + strings.Repeat("{", 1_000_000)), ErrFormat},
		"groups that are not closed": {[]byte(`{\rtf1{{a}`), ErrFormat},
		"data of 2^31 bytes":         {[]byte(`{\rtf1\bin2147483648 abc}`), ErrFormat},
		"data of more than there is": {[]byte(`{\rtf1\bin5 abc}`), ErrFormat},
		"a number without an end":    {[]byte(`{\rtf1\par` + strings.Repeat("9", 1000) + "}"), ErrFormat},
		"a word without an end":      {[]byte(`{\rtf1\` + strings.Repeat("a", 1000) + "}"), ErrFormat},
		"cut short in a word":        {[]byte(`{\rtf1\pa`), ErrFormat},
		"cut short in a byte":        {[]byte(`{\rtf1\'e`), ErrFormat},
		"cut short in a mark":        {[]byte(`{\rtf1\`), ErrFormat},
		"cut short in a destination": {[]byte(`{\rtf1{\*`), ErrFormat},
		"a bomb of text":             {[]byte(`{\rtf1 ` + strings.Repeat("text ", maxText/5+1) + "}"), ErrTooLarge},
		"a bomb of notes":            {[]byte(`{\rtf1` + strings.Repeat(`{\footnote `+strings.Repeat("note ", 1000)+"}", maxText/5000+1) + "}"), ErrTooLarge},
		"a row without an end":       {[]byte(`{\rtf1` + strings.Repeat(`\cell`, maxCells+1) + "}"), ErrTooLarge},
		"fonts without an end":       {[]byte(`{\rtf1{\fonttbl` + manyFonts() + "}}"), ErrTooLarge},
	})
}

func manyFonts() string {
	var b strings.Builder
	for n := range maxRTFTable + 1 {
		b.WriteString(`{\f` + number(float64(n)) + `\fcharset204 X;}`)
	}
	return b.String()
}
