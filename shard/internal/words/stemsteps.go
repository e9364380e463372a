package words

// step1a takes off plurals.
func (s *stemmer) step1a() {
	n := len(s.w)
	switch {
	case s.ends("sses"):
		s.take(2, "")
	case s.ends("ied"), s.ends("ies"):
		if n > 4 {
			s.take(2, "")
		} else {
			s.take(1, "")
		}
	case s.ends("us"), s.ends("ss"):
	case s.ends("s") && s.hasVowel(n-2):
		s.take(1, "")
	}
}

// step1b takes off -ed and -ing, with or without -ly.
func (s *stemmer) step1b() {
	n := 0
	switch {
	case s.ends("eedly"):
		s.eed(5)
		return
	case s.ends("eed"):
		s.eed(3)
		return
	case s.ends("ingly"):
		n = 5
	case s.ends("edly"):
		n = 4
	case s.ends("ing"):
		if n = 3; s.nounInIng() {
			return
		}
	case s.ends("ed"):
		n = 2
	default:
		return
	}
	if !s.hasVowel(len(s.w) - n) {
		return
	}
	s.take(n, "")
	switch n := len(s.w); {
	case s.ends("at"), s.ends("bl"), s.ends("iz"):
		s.take(0, "e")
	case s.double():
		if n != 3 || s.w[0] != 'a' && s.w[0] != 'e' && s.w[0] != 'o' {
			s.take(1, "")
		}
	case s.r1 >= n && s.shortSyllable(n):
		s.take(0, "e")
	}
}

// eed makes ee of an ending of n letters; the verbs in -ceed keep theirs.
func (s *stemmer) eed(n int) {
	switch string(s.w) {
	case "proceed", "exceed", "succeed":
		return
	}
	if s.r1 <= len(s.w)-n {
		s.take(n, "ee")
	}
}

// nounInIng reports whether the word in -ing is none of a verb, or was (dying)
// and is done.
func (s *stemmer) nounInIng() bool {
	stem := s.w[:len(s.w)-3]
	if len(stem) == 2 && stem[1] == 'y' && !vowel(stem[0]) {
		s.take(4, "ie")
		return true
	}
	switch string(stem) {
	case "inn", "out", "cann", "herr", "earr", "even":
		return true
	}
	return false
}

// step1c makes i of a final y after a consonant, but for words like by.
func (s *stemmer) step1c() {
	n := len(s.w)
	if n > 2 && (s.w[n-1] == 'y' || s.w[n-1] == 'Y') && !vowel(s.w[n-2]) {
		s.w[n-1] = 'i'
	}
}

// A suffix is an ending and what is put for it.
type suffix struct{ from, to string }

// longest finds which of the suffixes, given longest first, the word ends in.
func (s *stemmer) longest(all []suffix) (suffix, bool) {
	for _, x := range all {
		if s.ends(x.from) {
			return x, true
		}
	}
	return suffix{}, false
}

// replace puts the first suffix that the word ends in, if it is within region.
func (s *stemmer) replace(region int, all ...suffix) {
	if x, ok := s.longest(all); ok && region <= len(s.w)-len(x.from) {
		s.take(len(x.from), x.to)
	}
}

// step2 makes one ending of two: -ization is -ize.
func (s *stemmer) step2() {
	if len(s.w) < 3 {
		return
	}
	switch s.w[len(s.w)-2] { // the letter that parts the endings best
	case 'a':
		s.replace(s.r1, suffix{"ational", "ate"}, suffix{"tional", "tion"})
	case 'c':
		s.replace(s.r1, suffix{"enci", "ence"}, suffix{"anci", "ance"})
	case 'e':
		s.replace(s.r1, suffix{"izer", "ize"})
	case 'g':
		if s.ends("logi") && s.r1 <= len(s.w)-3 {
			s.take(1, "")
		}
	case 'l':
		s.li()
	case 'o':
		s.replace(s.r1, suffix{"ization", "ize"}, suffix{"ation", "ate"}, suffix{"ator", "ate"})
	case 's':
		s.replace(s.r1, suffix{"fulness", "ful"}, suffix{"ousness", "ous"}, suffix{"iveness", "ive"}, suffix{"alism", "al"},
			suffix{"ogist", "og"})
	case 't':
		s.replace(s.r1, suffix{"biliti", "ble"}, suffix{"aliti", "al"}, suffix{"iviti", "ive"})
	}
}

// li is the part of step 2 for adverbs.
func (s *stemmer) li() {
	if x, ok := s.longest([]suffix{{"lessli", "less"}, {"entli", "ent"}, {"fulli", "ful"}, {"ousli", "ous"},
		{"abli", "able"}, {"alli", "al"}, {"bli", "ble"}}); ok {
		s.replace(s.r1, x)
		return
	}
	n := len(s.w)
	if n < 3 || !s.ends("li") || s.r1 > n-2 {
		return
	}
	switch s.w[n-3] {
	case 'c', 'd', 'e', 'g', 'h', 'k', 'm', 'n', 'r', 't':
		s.take(2, "")
	}
}

// step3 does as step 2 does, with other endings.
func (s *stemmer) step3() {
	if s.ends("ative") {
		if s.r2 <= len(s.w)-5 {
			s.take(5, "")
		}
		return
	}
	s.replace(s.r1, suffix{"ational", "ate"}, suffix{"tional", "tion"}, suffix{"alize", "al"}, suffix{"icate", "ic"},
		suffix{"iciti", "ic"}, suffix{"ical", "ic"}, suffix{"ness", ""}, suffix{"ful", ""})
}

// step4 takes off what is left of endings.
func (s *stemmer) step4() {
	n := len(s.w)
	if s.ends("ion") {
		if s.r2 <= n-3 && n > 3 && (s.w[n-4] == 's' || s.w[n-4] == 't') {
			s.take(3, "")
		}
		return
	}
	for _, x := range [...]string{"ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
		"ive", "ize", "al", "er", "ic"} {
		if s.ends(x) {
			if s.r2 <= n-len(x) {
				s.take(len(x), "")
			}
			return
		}
	}
}

// step5 takes off a final e, and one l of two.
func (s *stemmer) step5() {
	n := len(s.w)
	switch {
	case s.ends("e") && (s.r2 <= n-1 || s.r1 <= n-1 && !s.shortSyllable(n-1)):
		s.take(1, "")
	case s.ends("ll") && s.r2 <= n-1:
		s.take(1, "")
	}
}
