package words

import (
	"strings"
	"testing"
)

// A recorder is a sink that writes down what it gets, and numbers terms anew
// after some of them.
type recorder struct {
	numbers   map[string]uint32
	terms     []string // by number
	got       []string
	again     int
	numbering uint64
}

func (r *recorder) Term(term []byte) uint32 {
	n, ok := r.numbers[string(term)]
	if !ok {
		n = uint32(len(r.terms))
		r.numbers[string(term)] = n
		r.terms = append(r.terms, string(term))
	}
	r.got = append(r.got, string(term))
	return n
}

func (r *recorder) Again(n uint32) {
	r.again++
	r.got = append(r.got, r.terms[n])
}

func (r *recorder) Numbering() uint64 { return r.numbering }

// forget numbers from another start: what is remembered of before is wrong.
func (r *recorder) forget() {
	r.numbering++
	r.numbers, r.terms = map[string]uint32{"another": 0}, []string{"another"}
}

func TestFeedGivesWhatEachGives(t *testing.T) {
	ascii := []string{
		"walks walked WALKING walk's don't c++ C# c c+ a# x11 0123456789abcdef 0123456789abcdefg longlonglonglonglong",
		"naive naïve nai\u0308ve a\u00adb walk\u0301 walk\u00e9 end", "sixteencharacter sixteencharacters sixteencharacter",
		strings.Repeat("a", 15), strings.Repeat("b", 16), strings.Repeat("c", 17), "aaaaaaaa aaaaaaaab baaaaaaaa",
	}
	var k, fed Tokenizer
	r := &recorder{numbers: map[string]uint32{}}
	for round := range 4 {
		for _, text := range append(samples(), ascii...) {
			r.got = nil
			fed.Feed([]byte(text), r)
			if got, want := strings.Join(r.got, " "), terms(&k, text); got != want {
				t.Fatalf("round %d, %q:\nfed  %q\neach %q", round, text, got, want)
			}
		}
		if round == 1 {
			r.forget()
		}
	}
	if r.again < 50 {
		t.Errorf("%d words were known, want most of those that came again", r.again)
	}
}
