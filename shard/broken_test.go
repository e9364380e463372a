package shard

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arborist/document"
)

// breakings are ways in which a shard of a set can become unusable, each with
// whether its documents can still be read out of what is left.
func breakings() map[string]struct {
	do   func(t *testing.T, path string)
	kept bool
} {
	return map[string]struct {
		do   func(t *testing.T, path string)
		kept bool
	}{
		"it is missing":              {func(t *testing.T, p string) { os.Remove(p) }, false},
		"it is empty":                {func(t *testing.T, p string) { os.Truncate(p, 0) }, false},
		"it is garbage":              {func(t *testing.T, p string) { os.WriteFile(p, []byte(strings.Repeat("hello ", 9000)), 0o600) }, false},
		"it is a link":               {func(t *testing.T, p string) { os.Rename(p, p+".other"); os.Symlink(p+".other", p) }, false},
		"it is a private file":       {func(t *testing.T, p string) { tamper(t, p, "PRAGMA application_id=1098015312") }, false},
		"its kind is unknown":        {func(t *testing.T, p string) { tamper(t, p, "PRAGMA application_id=77") }, true},
		"its header is zeroed":       {func(t *testing.T, p string) { overwrite(t, p, 100) }, true},
		"its first page is zeroed":   {func(t *testing.T, p string) { overwrite(t, p, pageSize) }, true},
		"it was compacted, and that": {func(t *testing.T, p string) { tamper(t, p, "VACUUM"); overwrite(t, p, pageSize) }, true},
		"an index of it is missing":  {func(t *testing.T, p string) { tamper(t, p, "DROP INDEX locations_document") }, true},
		"it says that it is another": {func(t *testing.T, p string) { tamper(t, p, "UPDATE state SET shard = 3") }, true},
	}
}

func overwrite(t *testing.T, path string, n int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(make([]byte, n), 0); err != nil {
		t.Fatal(err)
	}
}

// published makes a set of four shards with pages that its corpus lists.
func published(t *testing.T, pages int) (dir string, entries []document.Entry) {
	t.Helper()
	s := newShared(t, 4)
	p := newPublisher(t, s)
	for n := range pages {
		entries = append(entries, page(n))
	}
	put1(t, p, entries...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s.Dir(), entries
}

func TestABrokenShardLeavesTheOthersUsableAndIsMended(t *testing.T) {
	for name, c := range breakings() {
		t.Run(name, func(t *testing.T) {
			dir, entries := published(t, 16)
			path := filepath.Join(dir, "02.db")
			in := 0
			for _, e := range entries {
				if route(e.Document.Root(), 4) == 2 {
					in++
				}
			}
			c.do(t, path)
			if s, err := OpenShared(dir); err == nil {
				s.Close()
				t.Fatal("OpenShared took it")
			}
			mustAnswerWithout(t, dir, path, entries, in)
			aside := filepath.Join(t.TempDir(), "aside")
			var would, did []string
			if err := SalvageShared(t.Context(), dir, aside, Repair{DryRun: true, Did: func(l string) { would = append(would, l) }}); err != nil {
				t.Fatal(err)
			}
			if _, err := OpenShared(dir); err == nil || len(would) == 0 {
				t.Fatalf("dry run: %q, %v", would, err)
			}
			if err := SalvageShared(t.Context(), dir, aside, Repair{Keep: func(Lost) error { return nil }, Did: func(l string) { did = append(did, l) }}); err != nil {
				t.Fatal(err)
			}
			t.Log(strings.Join(did, "\n"))
			if kept, _ := filepath.Glob(filepath.Join(aside, "*-02.db")); name != "it is missing" && len(kept) != 1 {
				t.Errorf("kept aside: %q", kept)
			}
			s := openTestShared(t, dir)
			var problems []string
			if _, err := s.Check(t.Context(), func(p string) { problems = append(problems, p) }); err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{true: 0, false: in}[c.kept]; len(problems) != want {
				t.Errorf("%d problems afterwards, want %d: %q", len(problems), want, problems)
			}
			if said := strings.Contains(strings.Join(did, "\n"), "whose text is lost"); said == c.kept {
				t.Errorf("it says what was lost: %v", said)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*.rescue*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// mustAnswerWithout opens a set with one broken file and holds it to what it
// promises then.
func mustAnswerWithout(t *testing.T, dir, path string, entries []document.Entry, in int) {
	t.Helper()
	s, err := OpenDamaged(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	damage := s.Damage()
	if len(damage) != 1 || !errors.Is(damage[0], ErrBroken) || errors.Is(damage[0], ErrNotFound) || !strings.Contains(damage[0].Error(), path) {
		t.Errorf("damage %v", damage)
	}
	r, err := s.Search(t.Context(), Query{Text: "number", Limit: 1000, AllVersions: true})
	if err != nil || len(r.Hits) == 0 || len(r.Refused) != 1 || r.Refused[0].Path != path {
		t.Errorf("%d hits, refused %v, %v", len(r.Hits), r.Refused, err)
	}
	for _, e := range entries {
		_, err := s.Document(t.Context(), e.Document.Root())
		if broken := route(e.Document.Root(), 4) == 2; broken != errors.Is(err, ErrBroken) || !broken && err != nil {
			t.Errorf("document: %v", err)
		}
	}
	if _, err := s.Put(t.Context(), []document.Entry{page(1000)}); !errors.Is(err, ErrBroken) {
		t.Errorf("put: %v", err)
	}
	if st, err := s.Stats(t.Context()); err != nil || st.Documents != uint64(len(entries)-in) {
		t.Errorf("stats %+v, %v", st, err)
	}
	var problems []string
	n, err := s.Check(t.Context(), func(p string) { problems = append(problems, p) })
	if err != nil || n != len(entries)-in {
		t.Errorf("check hashed %d, %v", n, err)
	}
	if len(problems) != 2 || !strings.HasPrefix(problems[0], path) || !strings.HasSuffix(problems[0], MendBroken) || !strings.Contains(problems[1], "which cannot be used") {
		t.Errorf("problems %q", problems)
	}
}

func TestDamageThatIsMetIsRemembered(t *testing.T) {
	dir, entries := published(t, 16)
	tamper(t, filepath.Join(dir, "01.db"), "UPDATE texts SET data = zeroblob(length(data))")
	s := openTestShared(t, dir)
	if d := s.Damage(); len(d) != 0 {
		t.Fatalf("before anything was read: %v", d)
	}
	if _, err := s.Search(t.Context(), Query{Text: "number"}); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := s.Document(context.Background(), e.Document.Root()); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
	}
	if d := s.Damage(); len(d) != 1 || !strings.Contains(d[0].Error(), "01.db") {
		t.Fatalf("damage %v", d)
	}
	if _, _, left := repairAll(t, s, false); len(left) == 0 {
		t.Error("nothing is missing afterwards")
	}
	if d := s.Damage(); len(d) != 0 {
		t.Errorf("after the repair: %v", d)
	}
}
