package proof

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pythonVerifier returns the interpreter, or skips where there is none.
func pythonVerifier(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	return python
}

// testdata/verify.py, for the text form, and verify_json.py, for its twin,
// share nothing with this package but docs/formats.md.
func TestIndependentVerifierAgreesOnEveryVector(t *testing.T) {
	args := []string{"-B", "testdata/vectors.py"}
	for _, name := range []string{"record.json", "checkpoint.json", "note.json", "proof.json"} {
		args = append(args, filepath.Join(vectorDir, name))
	}
	out, err := exec.Command(pythonVerifier(t), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// A hundred lines in another language is what docs/formats.md promises.
func TestIndependentVerifierHasAHundredLines(t *testing.T) {
	source, err := os.ReadFile("testdata/verify.py")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(source)) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
		if len(line) > 121 {
			t.Errorf("a line of %d bytes is not one line: %s", len(line), line)
		}
	}
	if lines > 100 {
		t.Errorf("%d lines", lines)
	}
}

func TestIndependentVerifierReadsFilesOfThisPackage(t *testing.T) {
	python := pythonVerifier(t)
	_, p, v := benchProofs(t)
	other := testSigner(t, testPeer+"/other").Verifier()
	name := filepath.Join(t.TempDir(), "a.proof")
	run := func(file string, key *Verifier) (string, error) {
		script := "testdata/verify.py"
		if file[0] == '{' {
			script = "testdata/verify_json.py"
		}
		if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(python, "-B", script, name, p.Header.Root.String(), key.String()).CombinedOutput()
		return string(out), err
	}
	for _, file := range []string{mustText(t, p), mustTwin(t, p)} {
		out, err := run(file, v)
		if err != nil || !strings.Contains(out, p.Header.ID().String()) {
			t.Errorf("%v: %s", err, out)
		}
		if out, err := run(file, other); err == nil {
			t.Errorf("the key of another corpus passes: %s", out)
		}
		if out, err := run(strings.Replace(file, "bytes..", "bytes,.", 1), v); err == nil && file[0] != '{' {
			t.Errorf("a changed passage passes: %s", out)
		}
	}
}
