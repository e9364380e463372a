package shard

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arborist/internal/arbtest/realtext"
)

// mustNotBeAdopted demands that nothing of a file is taken, soon and with the
// reason, and that nothing of it is left.
func mustNotBeAdopted(t *testing.T, path string, want error) {
	t.Helper()
	dir, start := t.TempDir(), realtext.CPU()
	a, err := Adopt(t.Context(), path, dir, 1<<30)
	var fe *FileError
	if !errors.Is(err, want) || !errors.As(err, &fe) || fe.Path != path || strings.Contains(err.Error(), dir) || a != (Adopted{}) {
		t.Errorf("adopted as %+v, %v; want %v", a, err, want)
	}
	if took := realtext.CPU() - start; took > 5*time.Second {
		t.Errorf("adopting it took %s of processor time", took)
	}
	mustBeEmpty(t, dir)
}

func mustBeEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAnAdoptedFileIsACopyThatAnswers(t *testing.T) {
	for _, kind := range []Kind{KindShared, KindPrivate} {
		path := donor(t, kind)
		for name, script := range map[string]string{"-wal": strings.Repeat("x", 9000), "-journal": "x"} {
			if err := os.WriteFile(path+name, []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before, dir := snapshot(t, filepath.Dir(path)), t.TempDir()
		a, err := Adopt(t.Context(), path, dir, 1<<30)
		if err != nil || a.Kind != kind || a.Stats.Documents != 3 || a.FileBytes == 0 || !a.LogBeside || a.Migrated {
			t.Fatalf("%+v, %v", a, err)
		}
		for n, was := range before {
			if now := snapshot(t, filepath.Dir(path)); len(now) != len(before) || now[n] != was {
				t.Errorf("%s was changed", n)
			}
		}
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		again := snapshot(t, dir)
		if len(again) != 1 || again[a.Name] == "" {
			t.Errorf("the folder has more than the copy, or not the copy %s", a.Name)
		}
		st, err := os.Stat(filepath.Join(dir, a.Name))
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", st.Mode(), err)
		}
		f, err := OpenAdopted(filepath.Join(dir, a.Name), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := Search(t.Context(), []*File{f}, Query{Text: "owl"})
		if err != nil || len(r.Hits) != 1 || !f.Foreign() {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

func TestAnAdoptedFileOfVersion1IsMigratedInTheCopy(t *testing.T) {
	shards, private := v1(t)
	for _, path := range []string{private, filepath.Join(shards, "00.db"), filepath.Join(shards, "01.db")} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		a, err := Adopt(t.Context(), path, dir, 1<<30)
		if err != nil || !a.Migrated {
			t.Fatalf("%s: %+v, %v", path, a, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("%s was changed, %v", path, err)
		}
		f, err := OpenAdopted(filepath.Join(dir, a.Name), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if left := snapshot(t, dir); len(left) != 1 {
			t.Errorf("%d files in the folder", len(left))
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// What is no longer as version 1 was, is refused.
	for name, script := range map[string]string{
		"a text":    "UPDATE chunks SET text = CAST('forged' AS BLOB)",
		"a trigger": "CREATE TRIGGER t AFTER DELETE ON chunks BEGIN DELETE FROM documents; END",
		"an index":  "UPDATE fts_data SET block = randomblob(100)",
	} {
		_, path := v1(t)
		tamper(t, path, script)
		a, err := Adopt(t.Context(), path, t.TempDir(), 1<<30)
		if name == "an index" { // it is made anew from the texts
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		} else if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

func TestAdoptionThatIsTooLargeOrStoppedLeavesNothing(t *testing.T) {
	path, dir := donor(t, KindShared), t.TempDir()
	if _, err := Adopt(t.Context(), path, dir, 8192); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	// A sparse file as large as no disk.
	huge := copied(t, path)
	if err := os.Truncate(huge, 1<<42); err != nil {
		t.Fatal(err)
	}
	if _, err := Adopt(t.Context(), huge, dir, 1<<50); !errors.Is(err, ErrFull) {
		t.Errorf("more than the disk has: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Adopt(ctx, path, dir, 1<<30); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	mustBeEmpty(t, dir)
}
