package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The vectors are the evidence here: the verb says of each what the package
// says, exits 0 where it shows what it claims and 4 where it does not.
func TestEvidenceIsExplainedOrRefused(t *testing.T) {
	for _, name := range []string{"evidence.json", "evidence-rotation.json"} {
		explainVectors(t, filepath.Join("../../docs/vectors", name))
	}
}

func explainVectors(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct {
			Name, Input, Key, Reason string
			Rotations                string
			InputHex                 string `json:"input_hex"`
			Valid                    bool
			Result                   struct{ Kind, Statement string }
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	for _, v := range file.Vectors {
		if v.InputHex != "" {
			continue
		}
		args := []string{"--evidence", "-", "--key", v.Key}
		if v.Rotations != "" {
			file := filepath.Join(t.TempDir(), "rotations")
			if err := os.WriteFile(file, []byte(v.Rotations), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, "--rotations", file)
		}
		exit, stdout, stderr := run([]byte(v.Input), args...)
		if v.Valid && (exit != 0 || stderr != "" || !strings.HasPrefix(stdout, "valid "+v.Result.Kind+" evidence: "+v.Result.Statement+"\n")) {
			t.Errorf("%s: exit %d, %q, %q", v.Name, exit, stdout, stderr)
		}
		if !v.Valid && (exit != 4 || stdout != "" || strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, "ask for the proof")) {
			t.Errorf("%s: exit %d, %q, %q", v.Name, exit, stdout, stderr)
		}
		exit, stdout, _ = run([]byte(v.Input), append(args, "--json")...)
		var got struct {
			Valid        bool
			Kind         string
			Origin       string
			Older, Newer Head
			Statement    string
			Error        Problem
		}
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Valid != v.Valid || got.Error.Reason != v.Reason || (exit == 0) != v.Valid {
			t.Errorf("%s: exit %d, %v, %s", v.Name, exit, err, stdout)
		}
		if v.Valid && (got.Kind != v.Result.Kind || got.Statement != v.Result.Statement || got.Newer.Size == 0 || len(got.Older.Root) != 44 || got.Origin == "") {
			t.Errorf("%s: %s", v.Name, stdout)
		}
		// Without the key nothing is proven, whatever the file says.
		exit, stdout, stderr = run([]byte(v.Input), "--evidence", "-")
		if exit != 4 || stdout != "" || v.Valid && !strings.Contains(stderr, "nothing is proven") {
			t.Errorf("%s without a key: exit %d, %q, %q", v.Name, exit, stdout, stderr)
		}
	}
}

func TestEvidenceStandsAlone(t *testing.T) {
	f := newFixture(t)
	for _, args := range [][]string{
		{"--evidence", f.logged, f.logged}, {"--evidence", f.logged, "--root", f.header.Root.String()},
		{"--evidence", f.logged, "--text", f.passage}, {"--evidence", f.logged, "--id", f.header.ID().String()},
		{"--evidence", f.logged, "--rotations", f.passage}, {"--evidence", f.logged, "--key", f.key, "--key", f.key, "--rotations", f.passage}, {"--evidence", ""}, {"--evidence", f.logged, "--key", "abc"},
	} {
		if exit, stdout, stderr := run(nil, args...); exit != 2 || stdout != "" || stderr == "" {
			t.Errorf("%q: exit %d, %q, %q", args, exit, stdout, stderr)
		}
	}
	if exit, _, stderr := run(nil, "--evidence", filepath.Join(f.dir, "nothing"), "--key", f.key); exit != 1 || !strings.Contains(stderr, "exists") {
		t.Errorf("no such file: exit %d, %q", exit, stderr)
	}
	if exit, _, stderr := run(nil, "--evidence", f.logged, "--key", f.key); exit != 4 || !strings.Contains(stderr, "arborist-evidence/1") {
		t.Errorf("a proof as evidence: exit %d, %q", exit, stderr)
	}
	if exit, _, stderr := run(nil, "--evidence", "/dev/zero", "--key", f.key); exit != 4 || !strings.Contains(stderr, "not an evidence file") {
		t.Errorf("endless file: exit %d, %q", exit, stderr)
	}
}
