package words

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A kind is what a character does to the word beside it.
type kind uint8

const (
	unknown    kind = iota // not looked at yet
	between                // parts words
	dense                  // of a script without spaces
	unseen                 // inside a word as if it were not there
	apostrophe             // see Tokenizer.apostrophe
	mark                   // without a letter before it
	number
	letter
)

// maxMarks is how many code points at most follow a letter as its marks; those
// after stand as characters of their own.
const maxMarks = 30

// A character is a code point of text and the marks after it, folded.
type character struct {
	kind     kind
	cyrillic bool
	text     []byte // what of it is in the term; valid until the next character
	end      int    // where it ends in the text
}

// A folded is what one code point gives.
type folded struct {
	kind     kind
	cyrillic bool
	joins    bool // to the letter before it
	n        uint8
	text     [12]byte
}

// runes remembers what code points of the Basic Multilingual Plane give: at most
// 1 MiB, by 4 KiB as scripts are met.
type runes struct {
	pages  [256]*[256]folded
	other  folded // the last one of another plane
	marked memo   // letters with their marks
	folder folder
}

func (m *runes) get(r rune) *folded {
	f := &m.other
	if r < 0x10000 {
		page := m.pages[r>>8]
		if page == nil {
			page = new([256]folded)
			m.pages[r>>8] = page
		}
		if f = &page[r&0xff]; f.kind != unknown {
			return f
		}
	}
	*f = m.folder.rune(r)
	return f
}

// sequence returns what a letter and its marks give, valid until the next call.
func (m *runes) sequence(s []byte) []byte {
	slot := m.marked.slot(s)
	if slot != nil && slot.holds(s) {
		return slot.value()
	}
	out := m.folder.fold(s)
	if slot != nil {
		slot.put(s, out)
	}
	return out
}

// character reads the one at text[i].
func (t *Tokenizer) character(text []byte, i int) character {
	r, size := rune(text[i]), 1
	if r >= runeSelf {
		r, size = utf8.DecodeRune(text[i:])
	}
	end := i + size
	f := t.runes.get(r)
	if f.kind >= mark || f.kind == dense {
		if j := t.marksEnd(text, end); j > end {
			return character{f.kind, f.cyrillic, t.runes.sequence(text[i:j]), j}
		}
	}
	return character{f.kind, f.cyrillic, f.text[:f.n], end}
}

// marksEnd returns where the marks end that stand from text[i] on.
func (t *Tokenizer) marksEnd(text []byte, i int) int {
	for range maxMarks {
		if i >= len(text) || text[i] < 0xcc { // U+0300, the first mark, is CC 80
			break
		}
		r, size := utf8.DecodeRune(text[i:])
		if !t.runes.get(r).joins {
			break
		}
		i += size
	}
	return i
}

// rune returns what r gives.
func (t *folder) rune(r rune) folded {
	f := folded{kind: kindOf(r), cyrillic: unicode.Is(unicode.Cyrillic, r)}
	f.joins = unicode.Is(unicode.M, r) || joinsHangul(r) || r == 0xff9e || r == 0xff9f
	if f.kind >= mark || f.kind == dense {
		f.n = uint8(copy(f.text[:], t.fold(utf8.AppendRune(t.one[:0], r))))
	}
	return f
}

// joinsHangul reports whether r is a vowel or final of a Hangul syllable.
func joinsHangul(r rune) bool {
	return r >= 0x1160 && r <= 0x11ff || r >= 0xd7b0 && r <= 0xd7fb
}

func kindOf(r rune) kind {
	switch {
	case r == '\'' || r == 0x2019 || r == 0x02bc || r == 0xff07:
		return apostrophe
	case r == 0x00ad || r == 0x200c || r == 0x200d || r == 0x2060 || r == tatweel:
		return unseen
	case unicode.Is(unicode.Nd, r):
		return number
	case isDense(r):
		return dense
	case unicode.IsLetter(r):
		return letter
	case unicode.Is(unicode.M, r):
		return mark
	case unicode.IsNumber(r):
		return number
	}
	return between
}

// isDense reports whether r is of a script without spaces; radicals, which text
// taken from PDF has for the characters themselves, and the long-vowel sign
// (in Unicode of no script) included.
func isDense(r rune) bool {
	if r >= 0x2f00 && r <= 0x2fd5 || r == 0x30fc || r == 0xff70 || r == 0xff9e || r == 0xff9f {
		return true
	}
	return (unicode.IsLetter(r) || unicode.IsNumber(r)) && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Bopomofo, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// A folder folds characters in buffers of its own.
type folder struct {
	one                  [utf8.UTFMax]byte
	apart, out, together []byte
}

// fold returns what a letter or digit and the marks after it become, valid until
// the next call.
func (t *folder) fold(s []byte) []byte {
	t.apart = norm.NFKD.Append(t.apart[:0], s...)
	if !isWord(t.apart) {
		t.apart = norm.NFD.Append(t.apart[:0], s...)
	}
	first, _ := utf8.DecodeRune(t.apart)
	bare := dropsMarks(first)
	t.out = t.out[:0]
	for d := t.apart; len(d) > 0; {
		r, n := utf8.DecodeRune(d)
		d = d[n:]
		if unicode.Is(unicode.M, r) && (bare || isPoint(r) || unicode.Is(unicode.Variation_Selector, r)) || r == tatweel {
			continue
		}
		r = unicode.ToLower(unicode.ToUpper(r))
		if two := letters(r); two != "" {
			t.out = append(t.out, two...)
		} else {
			t.out = utf8.AppendRune(t.out, r)
		}
	}
	if bare {
		return t.out
	}
	t.together = norm.NFC.Append(t.together[:0], t.out...)
	return t.together
}

// isWord reports whether s is a letter or digit and then letters, digits, marks.
func isWord(s []byte) bool {
	first, _ := utf8.DecodeRune(s)
	if unicode.Is(unicode.M, first) {
		return false
	}
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		s = s[n:]
		if !unicode.In(r, unicode.L, unicode.N, unicode.M) {
			return false
		}
	}
	return true
}

// dropsMarks reports whether a letter's marks say nothing that a searcher would
// type: those of Latin, Greek and Cyrillic, and of what has no script.
func dropsMarks(r rune) bool {
	return r < runeSelf || unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Inherited) ||
		!unicode.IsLetter(r) && unicode.Is(unicode.Common, r)
}

// tatweel makes an Arabic word longer to the eye, and is no letter of it.
const tatweel = 0x0640

// isPoint reports whether a mark is of those that Hebrew and Arabic put to a text to
// be read aloud, and leave out of every other: points, vowels, accents. Madda and
// hamza above or below a letter are part of its spelling.
func isPoint(r rune) bool {
	switch {
	case r >= 0x0591 && r <= 0x05c7, r == 0xfb1e: // Hebrew
	case r >= 0x0610 && r <= 0x061a, r >= 0x064b && r <= 0x0652, r >= 0x0656 && r <= 0x065f, r == 0x0670:
	case r >= 0x06d6 && r <= 0x06ed, r >= 0x0898 && r <= 0x089f, r >= 0x08ca && r <= 0x08ff:
	default:
		return false
	}
	return unicode.Is(unicode.M, r)
}

// letters returns what is written for a Latin letter that Unicode does not take
// apart, or nothing.
func letters(r rune) string {
	switch r {
	case 'ß':
		return "ss"
	case 'æ':
		return "ae"
	case 'œ':
		return "oe"
	case 'þ':
		return "th"
	case 'ø':
		return "o"
	case 'ł':
		return "l"
	case 'đ', 'ð':
		return "d"
	case 'ħ':
		return "h"
	case 'ŧ':
		return "t"
	case 'ı':
		return "i"
	}
	return ""
}
