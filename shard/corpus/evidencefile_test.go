package corpus

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arborist/proof"
)

// folder returns the files of a folder by name.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	return files
}

// wantFiles checks that the folder holds one file for each row, and that each
// shows what it claims.
func wantFiles(t *testing.T, s *Store, m *model, dir string, kinds ...proof.EvidenceKind) {
	t.Helper()
	all, err := s.Evidence(t.Context(), m.origin())
	files := folder(t, dir)
	if err != nil || len(all) != len(kinds) || len(files) != len(kinds) {
		t.Fatalf("%d rows, %v, %d files; want %d", len(all), err, len(files), len(kinds))
	}
	for i, e := range all {
		name, err := e.FileName()
		if err != nil || e.Kind != kinds[i] || !strings.HasPrefix(name, string(kinds[i])+"-") {
			t.Fatalf("row %d: %s, %v", i, name, err)
		}
		parsed, err := proof.ParseEvidence([]byte(files[name]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if f, err := parsed.Verify(m.signer.Verifier()); err != nil || f.Kind != kinds[i] {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestEvidenceAlsoStandsInFiles(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 100)
	path, dir := filepath.Join(t.TempDir(), "corpora.db"), filepath.Join(t.TempDir(), "evidence")
	s := openTest(t, path)
	if err := s.FileEvidence(ctx, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder without evidence: %v", err)
	}
	followTo(t, s, m, 100)
	if _, err := s.Extend(ctx, m.origin(), m.note(60), nil); !errors.Is(err, ErrRollback) {
		t.Fatal(err)
	}
	wantFiles(t, s, m, dir, proof.Rollback)
	fork := m.fork(30, numbered(70, 5000)...)
	if _, err := s.RememberHead(ctx, m.origin(), fork.note(80), nil); !errors.Is(err, ErrEquivocation) {
		t.Fatal(err)
	}
	wantFiles(t, s, m, dir, proof.Rollback, proof.Equivocation)

	// What was lost or changed comes back when the store is opened again; the
	// rest of the folder is nobody's business.
	for name := range folder(t, dir) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("changed"), 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "rollback") {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path)
	if err := s.FileEvidence(ctx, dir); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, s, m, dir, proof.Rollback, proof.Equivocation)
}

func TestEvidenceOfAReportedForkIsFiled(t *testing.T) {
	ctx := context.Background()
	m, dir := newModelOf(t, "main", 100), filepath.Join(t.TempDir(), "evidence")
	fork := m.fork(30, numbered(90, 5000)...)
	s := newStore(t)
	if err := s.FileEvidence(ctx, dir); err != nil {
		t.Fatal(err)
	}
	followTo(t, s, m, 100)
	if err := s.ReportFork(ctx, m.origin(), fork.note(120), fork.root(100), fork.consistency(100, 120)); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, s, m, dir, proof.Equivocation)
}

// Rollbacks come and go; an equivocation stays, also one whose row is lost, and
// so does every file that is not ours.
func TestOnlyFilesOfRollbacksAreEverRemoved(t *testing.T) {
	ctx := context.Background()
	m, dir := newModelOf(t, "main", 100), t.TempDir()
	s := newStore(t)
	followTo(t, s, m, 100)
	if err := s.FileEvidence(ctx, dir); err != nil {
		t.Fatal(err)
	}
	lost := "equivocation-" + strings.Repeat("0", 32) + ".txt"
	stale := "rollback-" + strings.Repeat("0", 32) + ".txt"
	for _, name := range []string{lost, stale, lost + ".new", "notes.txt", "rollback-1.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 * maxRollbacks {
		if _, err := s.Extend(ctx, m.origin(), m.note(uint64(i)), nil); !errors.Is(err, ErrRollback) {
			t.Fatal(err)
		}
	}
	files := folder(t, dir)
	if len(files) != maxRollbacks+3 || files[lost] == "" || files["notes.txt"] == "" || files["rollback-1.txt"] == "" || files[stale] != "" {
		t.Errorf("%d files: %v", len(files), files)
	}
}

// What cannot be written down in a file is refused all the same, and the error
// says both.
func TestHeadIsRefusedAlsoWhereItsFileFails(t *testing.T) {
	ctx := context.Background()
	m, dir := newModelOf(t, "main", 100), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	followTo(t, s, m, 100)
	if err := s.FileEvidence(ctx, dir); err == nil {
		t.Error("a file passes for a folder")
	}
	_, err := s.Extend(ctx, m.origin(), m.note(60), nil)
	if !errors.Is(err, ErrRollback) || !strings.Contains(err.Error(), "write evidence to "+dir) {
		t.Errorf("extend: %v", err)
	}
}
