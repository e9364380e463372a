package words

import (
	"strings"
	"testing"
)

// A recorder is a vocabulary that counts how often it was asked, and numbers
// terms anew after some of them.
type recorder struct {
	numbers   map[string]uint32
	terms     []string // by number
	asked     int
	numbering uint64
}

func (r *recorder) Number(term []byte) uint32 {
	r.asked++
	n, ok := r.numbers[string(term)]
	if !ok {
		n = uint32(len(r.terms))
		r.numbers[string(term)] = n
		r.terms = append(r.terms, string(term))
	}
	return n
}

func (r *recorder) Numbering() uint64 { return r.numbering }

// forget numbers from another start: what is remembered of before is wrong.
func (r *recorder) forget() {
	r.numbering++
	r.numbers, r.terms = map[string]uint32{"another": 0}, []string{"another"}
}

func TestNumbersAreThoseOfTheTermsThatEachGives(t *testing.T) {
	ascii := []string{
		"walks walked WALKING walk's don't c++ C# c c+ a# x11 0123456789abcdef 0123456789abcdefg longlonglonglonglong",
		"naive naïve nai\u0308ve a\u00adb walk\u0301 walk\u00e9 end", "sixteencharacter sixteencharacters sixteencharacter",
		strings.Repeat("a", 15), strings.Repeat("b", 16), strings.Repeat("c", 17), "aaaaaaaa aaaaaaaab baaaaaaaa",
	}
	var k, numbered Tokenizer
	given := 0
	r := &recorder{numbers: map[string]uint32{}}
	for round := range 4 {
		for _, text := range append(samples(), ascii...) {
			var got []string
			for _, n := range numbered.Numbers(nil, []byte(text), r) {
				got = append(got, r.terms[n])
			}
			given += len(got)
			if got, want := strings.Join(got, " "), terms(&k, text); got != want {
				t.Fatalf("round %d, %q:\nnumbers of %q\neach gives %q", round, text, got, want)
			}
		}
		if round == 1 {
			r.forget()
		}
	}
	if known := given - r.asked; known < 50 {
		t.Errorf("%d words were known, want most of those that came again", known)
	}
}

func TestNumbersTakesAnyByteAtAnyPlaceOfAWord(t *testing.T) {
	var k, numbered Tokenizer
	r := &recorder{numbers: map[string]uint32{}}
	for b := range 256 {
		for at := range 18 {
			for _, rest := range []string{"", " and more words behind it"} {
				text := append(append([]byte("abcdefghijklmnopq"[:at]), byte(b)), "Z90az"+rest...)
				var got []string
				for _, n := range numbered.Numbers(nil, text, r) {
					got = append(got, r.terms[n])
				}
				if got, want := strings.Join(got, " "), terms(&k, string(text)); got != want {
					t.Fatalf("%q: numbers of %q, each gives %q", text, got, want)
				}
			}
		}
	}
}
