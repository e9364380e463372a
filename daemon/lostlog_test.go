package daemon

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	"arborist/daemon/api"
	"arborist/shard"
)

// editFile changes a file of a home that nobody has open.
func editFile(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// The row of an own corpus says what its key has signed. Where it is lost, nothing
// is signed over its records, every verb that meets it says the step that helps,
// and that step brings the log back to the last record.
func TestAnOwnLogWhoseRowIsLostComesBack(t *testing.T) {
	home := newHome(t)
	addPages(t, home, "first", 5)
	kept, err := os.ReadFile(home.CorpusHead(MainCorpus))
	if err != nil {
		t.Fatal(err)
	}
	editFile(t, filepath.Join(home.Shards(), shard.CorporaName), "DELETE FROM corpus")

	n := openNode(t, home)
	for name, call := range map[string]func() error{
		"add":    func() error { return addShared(t.Context(), n, writePage(t, "granite")) },
		"create": func() error { _, err := n.CreateCorpus(t.Context(), MainCorpus); return err },
		"key":    func() error { _, err := n.CorpusKey(t.Context(), MainCorpus); return err },
	} {
		if err := call(); err == nil || !strings.Contains(api.AsError(err).Hint, "arborist check --repair") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if status, err := n.Status(t.Context()); err != nil || len(status.Problems) != 1 || !strings.Contains(status.Problems[0], "signed 5 records") {
		t.Errorf("status: %q, %v", status.Problems, err)
	}
	// A repair beside a daemon cannot mend the file, and must not make the log anew.
	if res, err := n.CheckWith(t.Context(), api.CheckRequest{Repair: true}); err != nil || len(res.Problems) != 2 {
		t.Errorf("repair of an open home: %q, %v", res.Problems, err)
	}
	if now, err := os.ReadFile(home.CorpusHead(MainCorpus)); err != nil || string(now) != string(kept) {
		t.Errorf("the kept head became %q, %v", now, err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}

	if _, err := Salvage(t.Context(), home, false); err != nil {
		t.Fatal(err)
	}
	n = openNode(t, home)
	info, err := n.lookupCorpus(t.Context(), MainCorpus)
	if err != nil || info.Size != 5 {
		t.Fatalf("%d records are back, %v", info.Size, err)
	}
	if err := addShared(t.Context(), n, writePage(t, "granite")); err != nil {
		t.Error(err)
	}
	if res, err := n.Check(t.Context()); err != nil || len(res.Problems) > 0 {
		t.Errorf("check: %q, %v", res.Problems, err)
	}
}
