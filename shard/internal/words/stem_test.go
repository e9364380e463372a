package words

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStemsOfEveryRule holds the stemmer against stems worked out by hand from
// the description, a line for each of its rules.
func TestStemsOfEveryRule(t *testing.T) {
	for _, c := range []struct{ rule, words, want string }{
		{"short words stay", "a is as by", "a is as by"},
		{"exceptions", "skies skis sky idly gently ugly early only singly news howe atlas cosmos bias andes",
			"sky ski sky idl gentl ugli earli onli singl news howe atlas cosmos bias andes"},
		{"R1 after a given beginning", "generate general generic communism arsenal pasted universe university lateral emergency organize organs internal",
			"generat general generic communism arsenal paste univers universiti lateral emergenc organiz organ internal"},
		{"y as a consonant", "youth boyish enjoy sayings", "youth boyish enjoy say"},
		{"1a", "presses ties cries tied gas this gaps kiwis bus abyss", "press tie cri tie gas this gap kiwi bus abyss"},
		{"1b eed", "agreed feed proceed exceed succeeds", "agre feed proceed exceed succeed"},
		{"1b ed", "plastered bled luxuriated hopped hoped adding egged offed falling misting", "plaster bled luxuri hop hope add egg off fall mist"},
		{"1b ing", "dying lying inning outing canning herring earring evening sing kingly", "die lie inning outing canning herring earring evening sing king"},
		{"1b ly", "markedly agreedly meaningly", "mark agre mean"},
		{"1c", "cry by say happy", "cri by say happi"},
		{"2", "relational conditional valency hesitancy conformably radically differently digitizer normalization operator",
			"relat condit valenc hesit conform radic differ digit normal oper"},
		{"2 and on", "feudalism formality hopefulness callously decisiveness sensitivity sensibly possibility geologist apology carefully carelessly vilely oddly",
			"feudal formal hope callous decis sensit sensibl possibl geolog apolog care careless vile odd"},
		{"3", "triplicate formative formalize electricity electrical hopeful goodness negative", "triplic format formal electr electr hope good negat"},
		{"4", "revival allowance inference airliner gyroscopic adjustable defensible irritant replacement adjustment dependent adoption activism activate angularity homologous effective bowdlerize",
			"reviv allow infer airlin gyroscop adjust defens irrit replac adjust depend adopt activ activ angular homolog effect bowdler"},
		{"5", "probate rate cease controlling roll", "probat rate ceas control roll"},
	} {
		want := strings.Fields(c.want)
		for i, w := range strings.Fields(c.words) {
			if got := string(stem([]byte(w))); got != want[i] {
				t.Errorf("%s: stem of %s is %s, want %s", c.rule, w, got, want[i])
			}
		}
	}
}

// TestStemsAreSnowballs reads the sample vocabulary of the Snowball project,
// which is not ours to copy: SNOWBALL_DATA names a clone of
// github.com/snowballstem/snowball-data.
func TestStemsAreSnowballs(t *testing.T) {
	dir := os.Getenv("SNOWBALL_DATA")
	if dir == "" {
		t.Skip("SNOWBALL_DATA is not set")
	}
	words, err := os.ReadFile(filepath.Join(dir, "english", "voc.txt"))
	if err != nil {
		t.Fatal(err)
	}
	stems, err := os.ReadFile(filepath.Join(dir, "english", "output.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Fields(stems)
	n := 0
	for i, w := range bytes.Fields(words) {
		if bytes.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) {
			continue // apostrophes never reach our stemmer
		}
		if n++; string(stem(bytes.Clone(w))) != string(want[i]) {
			t.Errorf("stem of %s is %s, want %s", w, stem(bytes.Clone(w)), want[i])
		}
	}
	t.Logf("%d words", n)
}

// TestRememberedStemsAreTheStems walks more words than the table has places for,
// twice, so that words displace each other.
func TestRememberedStemsAreTheStems(t *testing.T) {
	var c stems
	endings := []string{"", "s", "ing", "edly", "ational", "ization"}
	for range 2 {
		for i := range 3 * memoSlots {
			w := []byte{'a' + byte(i%26), 'e', 'b' + byte(i/26%20), 'a' + byte(i/520%26)}
			w = append(w, endings[i%len(endings)]...)
			want := string(stem(bytes.Clone(w)))
			if got := string(c.of(bytes.Clone(w))); got != want {
				t.Fatalf("stem of %s is %s from the table, %s without", w, got, want)
			}
		}
	}
}

func FuzzStem(f *testing.F) {
	for _, w := range []string{"", "y", "yy", "eed", "ying", "sses", "ationalizationess", "past", "generli"} {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, w string) {
		if strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) {
			t.Skip("not of a to z")
		}
		got := string(stem([]byte(w)))
		if len(got) > len(w) || len(w) > 0 && got == "" {
			t.Errorf("stem of %q is %q", w, got)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return r < 'a' || r > 'z' }) {
			t.Errorf("stem of %q is %q, not of a to z", w, got)
		}
	})
}
