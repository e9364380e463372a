package source

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"arborist/document"
	"arborist/ingest"
)

type memory struct{ entries []document.Entry }

func (m *memory) Put(_ context.Context, entries []document.Entry) ([]document.Outcome, error) {
	m.entries = append(m.entries, entries...)
	out := make([]document.Outcome, len(entries))
	for i := range out {
		out[i].New = true
	}
	return out, nil
}

func TestFolderBecomesEntriesInLexicalOrder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "notes")
	for name, body := range map[string]string{"b.md": "# B\n", "a/c d.html": "<h1>C</h1><p>text", "z.txt": "z", "x.bin": "no"} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := &memory{}
	rep, err := ingest.Run(t.Context(), Directory{Path: dir}, m, ingest.Config{}, nil)
	if err != nil || rep.Documents != 3 || len(rep.Failed) != 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	for i, want := range []string{"file:notes/a/c%20d.html", "file:notes/b.md", "file:notes/z.txt"} {
		if got := m.entries[i].Location.URI; got != want {
			t.Errorf("entry %d has URI %s, want %s", i, got, want)
		}
	}
}
