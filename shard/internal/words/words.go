// Package words takes text apart into the terms of the search index, and a
// query into terms that find them. It is pure: the same bytes give the same
// terms on every machine.
//
// # What a term is (words-v2)
//
// A word is a run of letters, digits and marks (Unicode categories L, N, M).
// Everything else stands between words; soft hyphens and zero-width joiners
// inside one are not seen. A word gives one term, at most [MaxTerm] bytes long:
//
//   - Case is folded, and compatibility forms are (NFKC: full width, ligatures,
//     superscripts), where what comes of it is letters and digits.
//   - Latin, Greek and Cyrillic letters lose their marks, and ß æ œ ø ł đ ð þ ħ ŧ
//     become ss ae oe o l d d th h t: "Zürich" and "zurich" are one term. Hebrew and
//     Arabic lose points, vowels and accents, and the tatweel. Other marks are kept,
//     in form NFC.
//   - What is then a word of a to z alone is stemmed as English, by Snowball's
//     algorithm of 2025 (Porter2). A word with a digit never is.
//   - One letter directly before ++ or #, no letter after it, keeps the sign: c++.
//   - An apostrophe (' ’ ʼ) inside a word parts it: "O'Brien" gives o, brien and
//     "l'homme" l, homme. But 's 'd 'm 'll 're 've at its end are dropped, n't
//     gives "nt" ("don't": dont), and between Cyrillic letters it is not seen.
//
// So sqlite3_open_v2, 38.101, addresses and URLs give their parts at successive
// positions, and the same text as a query is a phrase. camelCase is one word.
//
// Han, kana, Bopomofo, Hangul, Thai, Lao, Khmer and Myanmar are written without
// spaces, or with endings that no stemmer here takes off. A run of n of their
// characters, each with its marks, gives n terms: every two neighbours, then the
// last alone. [Tokenizer.Query] says how such a run is looked for.
package words

// Version names the output of this package. Another output needs another name:
// an index holds terms, and those of two versions do not find each other.
const Version = "words-v2"

// MaxTerm is the most bytes that a term has. A longer word is cut after the last
// whole character that fits; the rest of it is in no term.
const MaxTerm = 64

// A Tokenizer takes text apart; it reuses its buffers and is for one goroutine.
// The zero value is ready.
type Tokenizer struct {
	term  []byte            // of the word being read, before its stem
	two   []byte            // two characters of a run
	buf   [MaxTerm + 2]byte // an ASCII word
	short [3]byte           // what may be a clitic
	run   int               // characters of the run that gave the last term; 0: it was a word
	runes runes
	stems stems

	familiar  *[familiarWords]familiarWord // see Numbers
	numbering uint64                       // of the numbers in familiar
}

// Each calls fn with each term of text in order. The n-th call is position n.
// term is valid until the next call. start and end are the byte span in text
// that gave it.
//
// Starts ascend. text[start:end] taken apart alone gives the term first; a pair
// of characters gives its second one after it. Any bytes will do as text: what is
// not UTF-8 stands between words. Time is linear in its length.
func (t *Tokenizer) Each(text []byte, fn func(term []byte, start, end int)) {
	t.run = 0
	for i := 0; i < len(text); {
		i = t.step(text, i, fn)
	}
}

// step reads what begins at text[i], a word, a run or what parts them, and
// returns where it ends.
func (t *Tokenizer) step(text []byte, i int, fn func(term []byte, start, end int)) int {
	if text[i] < runeSelf {
		if lower[text[i]] == 0 {
			return i + 1
		}
		return t.ascii(text, i, fn)
	}
	switch c := t.character(text, i); c.kind {
	case dense:
		return t.denseRun(text, i, fn)
	case letter, number, mark:
		return t.word(text, i, fn)
	default:
		return c.end
	}
}

// A Term is one of a query.
type Term struct {
	Text   string
	Prefix bool // any term that begins so will do
}

// Query takes apart text that is looked for, as [Tokenizer.Each] does: its terms
// stand at successive positions in every text that holds this one from one
// boundary of words to another, or from any character to any other of a run.
// For the latter, where it ends in a run of two and more characters, the last
// alone is left out, since in a text more may follow; and where it ends in a run
// of one, that term is a prefix.
func (t *Tokenizer) Query(text []byte) (terms []Term) {
	t.Each(text, func(term []byte, _, _ int) {
		terms = append(terms, Term{Text: string(term)})
	})
	switch {
	case t.run == 1:
		terms[len(terms)-1].Prefix = true
	case t.run > 1:
		terms = terms[:len(terms)-1]
	}
	return terms
}
