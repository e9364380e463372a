package document

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"
)

// python runs a second implementation and returns the lines that it writes.
func python(t *testing.T, stdin, script string, args ...string) []string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skipf("python3 is not installed: the second implementation %s cannot run", script)
	}
	cmd := exec.CommandContext(t.Context(), "python3", append([]string{"testdata/" + script}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run python3: %v\n%s", err, stderr.Bytes())
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// disagreeing returns the code points that are assigned in one of Unicode 15.0
// and Python's version only: no oracle for those.
func disagreeing(t *testing.T) map[rune]bool {
	t.Helper()
	unassigned := map[rune]bool{}
	for _, line := range python(t, "", "norm_v2.py", "unassigned") {
		var from, to rune
		if _, err := fmt.Sscanf(line, "%x %x", &from, &to); err != nil {
			t.Fatal(err)
		}
		for r := from; r <= to; r++ {
			unassigned[r] = true
		}
	}
	differ := map[rune]bool{}
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if (classOf(r) == classUnassigned) != unassigned[r] {
			differ[r] = true
		}
	}
	if len(differ) > 20_000 {
		t.Fatalf("%d code points are assigned on one side only", len(differ))
	}
	return differ
}

// textGenerator makes texts that are rich in what normalisation changes.
type textGenerator struct {
	*rand.Rand
	joins []rune // every character that NFC may change or join
	plain []rune
	space []rune
}

func newTextGenerator(skip map[rune]bool) *textGenerator {
	g := &textGenerator{Rand: rand.New(rand.NewPCG(15, 0))}
	for r := rune(0x80); r <= utf8.MaxRune; r++ {
		if skip[r] || !utf8.ValidRune(r) {
			continue
		}
		switch classOf(r) {
		case classJoins:
			g.joins = append(g.joins, r)
		case classSpace:
			g.space = append(g.space, r)
		default:
			g.plain = append(g.plain, r)
		}
	}
	return g
}

func (g *textGenerator) text() []byte {
	var b []byte
	pick := func(from []rune) { b = utf8.AppendRune(b, from[g.IntN(len(from))]) }
	for range g.IntN(30) {
		switch g.IntN(16) {
		case 0:
			b = append(b, byte(g.IntN(256))) // any byte, ill-formed too
		case 1:
			b = append(b, byte(0xC0+g.IntN(0x40)), byte(0x60+g.IntN(0x70)))
		case 2:
			b = append(b, " \t\n\r\r\n"[g.IntN(6)])
		case 3:
			b = append(b, []string{"\n\n\n", "\r\n", "\n  \t", "  ", "\uFEFF", "\u034f"}[g.IntN(6)]...)
		case 4:
			pick(g.space)
		case 5:
			pick(g.plain)
		case 6:
			pick([]rune{0x1100, 0x1112, 0x1161, 0x1175, 0x11A8, 0x11A7, 0xAC00, 0xAC01, 0xD788})
		case 7, 8:
			pick([]rune("aeiouAEIOUnsuωαιυ<>=≠वकরয"))
		case 9:
			for range g.IntN(40) {
				pick([]rune{0x300, 0x301, 0x323, 0x345, 0x5B0, 0x304, 0x344, 0xF73, 0x94D, 0x93C})
			}
		case 10:
			b = append(b, "word "...)
		default:
			pick(g.joins)
		}
	}
	return b
}

func TestNormalizeAgreesWithPython(t *testing.T) {
	skip := disagreeing(t)
	g := newTextGenerator(skip)
	texts := make([][]byte, 0, 20_000)
	for r := rune(0); r <= utf8.MaxRune; r++ { // each joining character beside a few others
		if !skip[r] && classOf(r) == classJoins {
			texts = append(texts, []byte(string([]rune{'a', r, 0x301, r, '\n', 0x1100, r, 0x323, 0x338, r})))
		}
	}
	for len(texts) < cap(texts) {
		texts = append(texts, g.text())
	}
	var stdin strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&stdin, "%x\n", text)
	}
	answers := python(t, stdin.String(), "norm_v2.py")
	if len(answers) != len(texts) {
		t.Fatalf("%d answers for %d texts", len(answers), len(texts))
	}
	failures := 0
	for i, text := range texts {
		want, err := hex.DecodeString(answers[i])
		if err != nil {
			t.Fatal(err)
		}
		if got := Normalize(text); !bytes.Equal(got, want) {
			t.Errorf("Normalize(%+q)\n = %+q\nwant %+q", text, got, want)
			if failures++; failures > 5 {
				t.FailNow()
			}
		}
	}
}
