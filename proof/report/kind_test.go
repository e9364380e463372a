package report

import (
	"bytes"
	"strings"
	"testing"
)

// Whatever file is given in another's place, the next step says where it belongs.
func TestAFileOfAnotherKindIsNamed(t *testing.T) {
	f := newFixture(t)
	bundle, bundleTwin := f.bundle(t)
	evidence := f.write(t, "evidence", []byte("arborist-evidence/1\n"))
	rotations := f.write(t, "rotations", []byte("arborist-key-rotation/1\n"))
	hints := map[string]string{
		f.logged: "this is a proof", f.twin: "this is a proof", bundle: "this is a bundle", bundleTwin: "this is a bundle",
		evidence: "pass it with --evidence FILE", rotations: "pass it with --rotations FILE",
	}
	places := map[string]func(file string) []string{
		"FILE":        func(file string) []string { return []string{file, "--key", f.key} },
		"--evidence":  func(file string) []string { return []string{"--evidence", file, "--key", f.key} },
		"--rotations": func(file string) []string { return []string{f.logged, "--key", f.key, "--rotations", file} },
		"--text":      func(file string) []string { return []string{f.apart, "--key", f.key, "--text", file} },
	}
	right := map[string][]string{"FILE": {f.logged, f.twin, bundle, bundleTwin}, "--evidence": {evidence}, "--rotations": {rotations}}
	for place, args := range places {
		for file, hint := range hints {
			_, _, stderr := run(nil, args(file)...)
			inPlace := false
			for _, r := range right[place] {
				inPlace = inPlace || r == file
			}
			if strings.Contains(stderr, hint) == inPlace {
				t.Errorf("%s as %s: %q", file, place, stderr)
			}
		}
	}
}

// A passage whose line ends were changed does not verify, and is told from one
// that says something else.
func TestChangedLineEndsAreNamed(t *testing.T) {
	f := newFixture(t)
	if !bytes.HasSuffix(f.text, []byte("\n")) || bytes.Count(f.text, []byte("\n")) < 3 {
		t.Fatal("the passage has no line ends to change")
	}
	crlf := bytes.ReplaceAll(f.text, []byte("\n"), []byte("\r\n"))
	const lf, ends, other = "LF in place of CRLF", "line ends at its end", "something was changed"
	for _, row := range []struct {
		name string
		text []byte
		say  []string
	}{
		{"none at its end", bytes.TrimRight(f.text, "\n"), []string{ends}},
		{"one more", append(bytes.Clone(f.text), '\n'), []string{ends}},
		{"CRLF", crlf, []string{lf}},
		{"CRLF, none at its end", bytes.TrimRight(crlf, "\r\n"), []string{lf, ends}},
		{"another word", bytes.Replace(f.text, []byte("words"), []byte("w0rds"), 1), []string{other}},
		{"another word and CRLF", bytes.Replace(crlf, []byte("words"), []byte("w0rds"), 1), []string{other}},
		{"nothing but line ends", []byte("\n\n"), []string{other}},
	} {
		file := f.write(t, "text", row.text)
		for _, in := range []string{f.apart, f.logged} { // kept apart, and in the proof too
			exit, stdout, stderr := run(nil, in, "--key", f.key, "--text", file)
			if exit != 4 || stdout != "" {
				t.Errorf("%s: exit %d, %q", row.name, exit, stdout)
			}
			for _, word := range []string{lf, ends, other} {
				want := false
				for _, s := range row.say {
					want = want || s == word
				}
				if strings.Contains(stderr, word) != want {
					t.Errorf("%s: %q, want %q: %v", row.name, stderr, word, want)
				}
			}
		}
	}
}
