package words

// A stemmer takes the endings off one English word, by the algorithm that
// Snowball calls English, or Porter2, in its form of 2025 (release 3): written
// from its description at snowballstem.org/algorithms/english/stemmer.html.
type stemmer struct {
	w      []byte // of a to z; a y that is a consonant is written Y
	r1, r2 int    // where the regions begin in which endings may be taken off
}

// stem returns the stem of a word of the letters a to z. It works in place: the
// result is in w, and never longer.
func stem(w []byte) []byte {
	if len(w) <= 2 {
		return w
	}
	if s := exception(w); s != "" {
		return append(w[:0], s...)
	}
	s := stemmer{w: w}
	s.markConsonants()
	s.regions()
	s.step1a()
	s.step1b()
	s.step1c()
	s.step2()
	s.step3()
	s.step4()
	s.step5()
	for i, c := range s.w {
		if c == 'Y' {
			s.w[i] = 'y'
		}
	}
	return s.w
}

// exception returns the stem of a word that the steps would spoil, or nothing.
func exception(w []byte) string {
	if len(w) < 3 || len(w) > 6 {
		return ""
	}
	switch string(w) {
	case "skies":
		return "sky"
	case "skis":
		return "ski"
	case "idly":
		return "idl"
	case "gently":
		return "gentl"
	case "ugly":
		return "ugli"
	case "early":
		return "earli"
	case "only":
		return "onli"
	case "singly":
		return "singl"
	case "sky", "news", "howe", "atlas", "cosmos", "bias", "andes":
		return string(w)
	}
	return ""
}

func vowel(c byte) bool {
	switch c {
	case 'a', 'e', 'i', 'o', 'u', 'y':
		return true
	}
	return false
}

// markConsonants writes Y for the y that begins the word or follows a vowel.
func (s *stemmer) markConsonants() {
	for i, c := range s.w {
		if c == 'y' && (i == 0 || vowel(s.w[i-1])) {
			s.w[i] = 'Y'
		}
	}
}

// regions finds R1, which begins after the first consonant after a vowel, and
// R2, the same within R1. A few beginnings have R1 just after them.
func (s *stemmer) regions() {
	s.r1 = s.after(0)
	for _, head := range [...]string{"gener", "commun", "arsen", "past", "univers", "later", "emerg", "organ", "inter"} {
		if len(s.w) >= len(head) && string(s.w[:len(head)]) == head {
			s.r1 = len(head)
		}
	}
	s.r2 = s.after(s.r1)
}

func (s *stemmer) after(i int) int {
	for i++; i < len(s.w); i++ {
		if !vowel(s.w[i]) && vowel(s.w[i-1]) {
			return i + 1
		}
	}
	return len(s.w)
}

func (s *stemmer) ends(with string) bool {
	return len(s.w) >= len(with) && string(s.w[len(s.w)-len(with):]) == with
}

// take takes n letters off the end and puts others there.
func (s *stemmer) take(n int, put string) {
	s.w = append(s.w[:len(s.w)-n], put...)
}

func (s *stemmer) hasVowel(before int) bool {
	for _, c := range s.w[:before] {
		if vowel(c) {
			return true
		}
	}
	return false
}

// shortSyllable reports whether the first n letters end in one.
func (s *stemmer) shortSyllable(n int) bool {
	switch {
	case n == 2:
		return vowel(s.w[0]) && !vowel(s.w[1])
	case n > 2:
		c := s.w[n-1]
		return !vowel(c) && c != 'w' && c != 'x' && c != 'Y' && vowel(s.w[n-2]) && !vowel(s.w[n-3]) ||
			n == 4 && string(s.w[:4]) == "past"
	}
	return false
}

// double reports whether the word ends in two of the same consonant.
func (s *stemmer) double() bool {
	n := len(s.w)
	if n < 2 || s.w[n-1] != s.w[n-2] {
		return false
	}
	switch s.w[n-1] {
	case 'b', 'd', 'f', 'g', 'm', 'n', 'p', 'r', 't':
		return true
	}
	return false
}
