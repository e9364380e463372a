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

// testdata/verify.py shares nothing with this package but docs/formats.md.
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

func TestIndependentVerifierReadsFilesOfThisPackage(t *testing.T) {
	python := pythonVerifier(t)
	_, p, _ := benchProofs(t)
	name := filepath.Join(t.TempDir(), "a.proof")
	run := func(file string) (string, error) {
		if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(python, "-B", "testdata/verify.py", name, p.Header.Root.String()).CombinedOutput()
		return string(out), err
	}
	for _, file := range []string{mustText(t, p), mustTwin(t, p)} {
		out, err := run(file)
		if err != nil || !strings.Contains(out, p.Header.ID().String()) {
			t.Errorf("%v: %s", err, out)
		}
		if out, err := run(strings.Replace(file, "bytes..", "bytes,.", 1)); err == nil && file[0] != '{' {
			t.Errorf("a changed passage passes: %s", out)
		}
	}
}
