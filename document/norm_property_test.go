package document

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// checkNormal states everything that Normalize promises of any input.
func checkNormal(t interface {
	Helper()
	Fatalf(string, ...any)
}, raw []byte,
) {
	t.Helper()
	before := bytes.Clone(raw)
	text := Normalize(raw)
	switch {
	case !bytes.Equal(raw, before):
		t.Fatalf("Normalize changed its argument %+q to %+q", before, raw)
	case !bytes.Equal(Normalize(text), text):
		t.Fatalf("not idempotent: %+q gives %+q, then %+q", raw, text, Normalize(text))
	case !IsNormal(text):
		t.Fatalf("IsNormal(%+q) is false, it comes from %+q", text, raw)
	case IsNormal(raw) != bytes.Equal(text, raw):
		t.Fatalf("IsNormal(%+q) is %v, its canonical form is %+q", raw, IsNormal(raw), text)
	case len(text) > 3*len(raw):
		t.Fatalf("%d bytes became %d: %+q", len(raw), len(text), raw)
	case !utf8.Valid(text):
		t.Fatalf("not UTF-8: %+q", text)
	}
	for _, r := range string(text) {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.IsSpace(r) && r != '\n' && r != '\t' && r != ' ' {
			t.Fatalf("%U in canonical text %+q", r, text)
		}
	}
	if bytes.Contains(text, []byte("\n\n\n")) {
		t.Fatalf("three line ends in canonical text %+q", text)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if body := strings.TrimLeft(line, " \t"); strings.ContainsAny(body, "\t") || strings.Contains(body, "  ") || strings.HasSuffix(line, " ") {
			t.Fatalf("white space in the line %+q of canonical text %+q", line, text)
		}
	}
	if len(text) > 0 && len(bytes.Trim(text, " \t\n")) != len(text) {
		t.Fatalf("white space at an end of %+q", text)
	}
}

func TestNormalizeIsIdempotent(t *testing.T) {
	g := newTextGenerator(nil)
	for range 20_000 {
		checkNormal(t, g.text())
	}
	pieces := []string{
		"a", "e", " ", "\t", "\n", "\r", "\x00", "\u0301", "\u0323", "\uFEFF", "\u00a0", "\u2028",
		"\u0085", "\xf0\x9f", "\xed", "\u1100", "\u1161", "\u11a8", "\u0378", "\u212b", "12345678", "\u09c7", "\u09be",
	}
	rapid.Check(t, func(t *rapid.T) {
		checkNormal(t, []byte(strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "pieces"), "")))
		checkNormal(t, rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	})
}

// TestOneFlawAnywhereIsSeen puts one flaw at each place of canonical text, of
// which IsNormal reads eight bytes at a time.
func TestOneFlawAnywhereIsSeen(t *testing.T) {
	const text = "abcdefghijklmnopqrstuvwxyz 0123456789,é.abcdefghijklm\n\nopqrstuvwxyz"
	for flaw, want := range map[string]string{
		"\x00": "", "\x1f": "", "\x7f": "", "\u0080": "", "\u0085": "", "\u009f": "", "x  y": "x y", "x\ty": "x y", "x\u00a0y": "x y",
		"x\r\ny": "x\ny", "x\n\n\ny": "x\n\ny", "x \ny": "x\ny", "x\n \ny": "x\n\ny", "x\n\u2003y": "x\n y", "\x80": "\uFFFD", "\xed\xa0": "\uFFFD\uFFFD",
		"e\u0301": "é", "\u212b": "Å", "x\u0301\u0323": "x\u0323\u0301", "\u1100\u1161": "가",
	} {
		for at := range len(text) {
			if text[at]&0xC0 == 0x80 {
				continue
			}
			raw := []byte(text[:at] + flaw + text[at:])
			got := Normalize(raw)
			if want := text[:at] + want + text[at:]; string(got) != want || IsNormal(raw) {
				t.Fatalf("Normalize(%+q) = %+q, want %+q; IsNormal is %v", raw, got, want, IsNormal(raw))
			}
		}
	}
}

func FuzzNormalize(f *testing.F) {
	g := newTextGenerator(nil)
	for range 20 {
		f.Add(g.text())
	}
	f.Fuzz(checkNormalFuzz)
}

func checkNormalFuzz(t *testing.T, raw []byte) {
	checkNormal(t, raw)
	text := Normalize(raw)
	checkSpans(t, text, Cut(text))
}

// TestLongSegmentsAgreeWithShortOnes compares the own composition of long runs
// with x/text where that is right: in runs under its limit.
func TestLongSegmentsAgreeWithShortOnes(t *testing.T) {
	g := newTextGenerator(nil)
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if utf8.ValidRune(r) && classOf(r) != classUnassigned {
			checkLong(t, []byte(string([]rune{r, 0x301, 0x323})))
		}
	}
	for range 20_000 {
		b := []byte{'a'}
		for range g.IntN(maxJoins + 1) {
			b = utf8.AppendRune(b, g.joins[g.IntN(len(g.joins))])
		}
		checkLong(t, b)
	}
}

func checkLong(t *testing.T, segment []byte) {
	t.Helper()
	if got, want := nfc(segment, maxJoins+1), norm.NFC.Bytes(segment); !bytes.Equal(got, want) {
		t.Fatalf("nfc(%+q) = %+q, x/text has %+q", segment, got, want)
	}
}

// TestLongestRunLeftToTheLibraryIsShort checks the reason of maxJoins.
func TestLongestRunLeftToTheLibraryIsShort(t *testing.T) {
	const limit = 30 // marks after which x/text inserts U+034F
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) || classOf(r) != classJoins {
			continue
		}
		marks := 0
		for _, d := range norm.NFD.String(string(r)) {
			if newMark(d).ccc() != 0 {
				marks++
			}
		}
		if marks*(maxJoins+1) > limit {
			t.Errorf("%U has %d marks", r, marks)
		}
	}
}

func TestClassesAreThoseOfUnicode15(t *testing.T) {
	if unicode.Version != "15.0.0" || norm.Version != "15.0.0" {
		t.Skipf("this Go has Unicode %s and this x/text %s: only 15.0.0 can be compared", unicode.Version, norm.Version)
	}
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		want := classPlain
		switch s := string(r); {
		case r > 0x7F && r != 0x85 && unicode.Is(unicode.White_Space, r):
			want = classSpace
		case unicode.Is(unicode.Cn, r):
			want = classUnassigned
		case !norm.NFC.IsNormalString(s), !norm.NFC.PropertiesString(s).BoundaryBefore():
			want = classJoins
		}
		if got := classOf(r); got != want && r != 0x85 {
			t.Errorf("%U has class %d, want %d", r, got, want)
		}
	}
}

func TestGeneratedTableIsUpToDate(t *testing.T) {
	if unicode.Version != "15.0.0" || norm.Version != "15.0.0" || testing.Short() {
		t.Skipf("the table is made with Unicode 15.0.0 only, here is %s", unicode.Version)
	}
	goTool, err := exec.LookPath(filepath.Join(goRoot(t), "bin", "go"))
	if err != nil {
		t.Skip("no go command to run the generator with")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), goTool, "run", filepath.Join(here, "gen_unicode15.go"), "-o", filepath.Join(dir, "table.go"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("run the generator: %v\n%s", err, out)
	}
	want, err := os.ReadFile(filepath.Join(dir, "table.go"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("unicode15.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("unicode15.go is not what gen_unicode15.go writes")
	}
}

// TestHostileTextTakesLinearTime would run for hours if one of these were
// quadratic.
func TestHostileTextTakesLinearTime(t *testing.T) {
	const size = 1 << 20
	for name, unit := range map[string]string{
		"marks of one class":  "\u0301",
		"marks of two":        "\u0301\u0323",
		"marks that compose":  "\u0344",
		"vowels":              "\u1161",
		"Bengali vowel signs": "\u09be",
		"byte order marks":    "\uFEFF ",
		"line ends":           "\r",
		"bad bytes":           "\xf0\x9f\x98",
		"spaces":              "\u3000",
		"backticks":           "`",
		"fences":              "```\n",
		"indentation":         "a\n" + strings.Repeat(" ", 4000),
		"unassigned":          "\u0301\u0378",
	} {
		t.Run(name, func(t *testing.T) {
			raw := []byte(strings.Repeat(unit, size/len(unit)))
			start := time.Now()
			text := Normalize(raw)
			spans := Cut(text)
			t.Logf("%d bytes to %d in %d chunks: %v", len(raw), len(text), len(spans), time.Since(start))
			checkSpans(t, text, spans)
		})
	}
}
