package shard

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"arborist/document"
)

func v1(t testing.TB) (shards, private string) { return fixture(t, "v1") }

// fixture unpacks what the last program with a schema version made: two shards
// with three documents, one of which was superseded, and a private crawl db with one.
func fixture(t testing.TB, version string) (shards, private string) {
	t.Helper()
	dir := t.TempDir()
	shards, private = filepath.Join(dir, "shards"), filepath.Join(dir, "web.db")
	if err := os.Mkdir(shards, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"00.db": shards + "/00.db", "01.db": shards + "/01.db", "corpora.db": shards + "/corpora.db", "web.db": private} {
		packed, err := os.Open(filepath.Join("testdata", version, name+".gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer packed.Close()
		z, err := gzip.NewReader(packed)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return shards, private
}

func TestOlderFilesBecomeCurrentOnes(t *testing.T) {
	for _, version := range []string{"v1", "v2", "v3"} {
		t.Run(version, func(t *testing.T) { becomesCurrent(t, version) })
	}
}

func becomesCurrent(t *testing.T, version string) {
	dir, path := fixture(t, version)
	for range 2 { // the second time there is nothing to do
		s := openTestShared(t, dir)
		private, err := OpenFile(path, KindPrivate, "")
		if err != nil {
			t.Fatal(err)
		}
		files := append(s.files, private)
		for query, want := range map[string]string{
			"owl young forest": "https://example.org/docs/owl.md",
			"private badger":   "https://example.org/private/badger.md",
			"sett":             "https://example.org/docs/badger.md",
		} {
			r, err := Search(t.Context(), files, Query{Text: query})
			if err != nil || len(r.Hits) == 0 || r.Hits[0].Location.URI != want || r.Mode != ModeAnd {
				t.Errorf("%q: %+v, %v; want %s", query, r.Hits, err, want)
			}
		}
		if r, err := Search(t.Context(), files, Query{Text: `"old forest"`}); err != nil || r.Total != 0 {
			t.Errorf("the superseded version: %d hits, %v", r.Total, err)
		}
		if r, err := Search(t.Context(), files, Query{Text: `"old forest"`, AllVersions: true}); err != nil || r.Total != 1 {
			t.Errorf("the superseded version, asked for: %d hits, %v", r.Total, err)
		}
		history, err := s.History(t.Context(), "https://example.org/docs/owl.md")
		if err != nil || len(history) != 2 || !history[0].Current || history[1].SupersededBy != history[0].Root {
			t.Errorf("history %+v, %v", history, err)
		}
		var lines []string
		if n, err := s.Check(t.Context(), func(p string) { lines = append(lines, p) }); err != nil || n != 4 || len(lines) != 0 {
			t.Errorf("check of %d documents: %q, %v", n, lines, err)
		}
		documents := 1
		if version == "v3" { // its words have points that were part of them
			documents = 2
			for _, query := range []string{"בראשית ברא", "בְּרֵאשִׁית", "كتب الطالب رسالة"} {
				r, err := Search(t.Context(), files, Query{Text: query})
				if err != nil || len(r.Hits) != 1 || r.Mode != ModeAnd {
					t.Errorf("%q: %+v, %v", query, r.Hits, err)
				}
			}
		}
		if n, err := private.Check(t.Context(), func(p string) { lines = append(lines, p) }); err != nil || n != documents || len(lines) != 0 {
			t.Errorf("check of %d private documents: %q, %v", n, lines, err)
		}
		if err := errors.Join(s.Close(), private.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAMigrationThatFailsChangesNothing cuts the migration off and gives it
// damaged files: afterwards the file is byte for byte what it was, or whole.
func TestAMigrationThatFailsChangesNothing(t *testing.T) {
	for name, script := range map[string]string{
		"a text":    "UPDATE chunks SET text = CAST('forged' AS BLOB) WHERE id = 1",
		"no texts":  "DELETE FROM chunks",
		"a root":    "UPDATE documents SET root = randomblob(32)",
		"a gap":     "UPDATE documents SET id = id + 100",
		"one table": "CREATE TABLE more (x)",
		"no leaves": "DROP TABLE leaves",
		"one index": "DROP INDEX locations_place",
	} {
		dir, _ := v1(t)
		path := filepath.Join(dir, "00.db")
		tamper(t, path, script)
		if f, err := OpenFile(path, KindShared, ""); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
		if _, version, err := inspect(path); err != nil || version != 1 {
			t.Errorf("%s: version %d, %v", name, version, err)
		}
		db := sql.OpenDB(connector{name: "file:" + path, driver: &sqlite3.SQLiteDriver{}})
		var tables int
		if err := db.QueryRow("SELECT count(*) FROM sqlite_schema WHERE name IN ('segments', 'texts') OR name LIKE 'old_%'").Scan(&tables); err != nil || tables != 0 {
			t.Errorf("%s: %d new tables, %v", name, tables, err)
		}
		db.Close()
	}
	dir, _ := v1(t)
	path := filepath.Join(dir, "00.db")
	f := newFile(path, KindShared)
	defer f.Close()
	var err error
	if f.writer, err = connect(path, writing); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.migrate(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cut off: %v", err)
	}
}

// TestAnOldFileWithoutATextIsMigrated damages a text of a file of version 2: its
// words are missing afterwards, which check says, and the others are found.
func TestAnOldFileWithoutATextIsMigrated(t *testing.T) {
	dir, _ := fixture(t, "v2")
	path := filepath.Join(dir, "00.db")
	tamper(t, path, "DELETE FROM texts WHERE id = (SELECT min(id) FROM texts)")
	f, err := OpenFile(path, KindShared, "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	if _, err := f.Check(t.Context(), func(p string) { lines = append(lines, p) }); err != nil || len(lines) == 0 {
		t.Errorf("check says %q, %v", lines, err)
	}
	if r, err := Search(t.Context(), []*File{f}, Query{Text: "owl"}); err != nil || r.Pending != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAForeignFileOfVersion1IsRefusedAndNotWritten(t *testing.T) {
	_, path := v1(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenForeign(path); !errors.Is(err, ErrOlder) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v, want ErrOlder", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed, %v", err)
	}
}

// TestAllVersionsAreFoundOnlyWhenAskedFor goes A, B, A: whatever is current is
// found once, and the others only by a search for all versions.
func TestAllVersionsAreFoundOnlyWhenAskedFor(t *testing.T) {
	s := newShared(t, 4)
	a, b := entry(t, "test:x", "alpha version of a text"), entry(t, "test:x", "beta version of a text")
	for step, e := range []document.Entry{a, b, a, b, a} {
		put1(t, s, e)
		r, err := s.Search(t.Context(), Query{Text: "version text"})
		if err != nil || r.Total != 1 || r.Hits[0].Root != e.Document.Root() {
			t.Fatalf("step %d: %d found, %v", step, r.Total, err)
		}
		r, err = s.Search(t.Context(), Query{Text: "version text", AllVersions: true})
		if want := min(step+1, 2); err != nil || r.Total != want || len(r.Hits) != want {
			t.Fatalf("step %d: %d of all versions found, %v; want %d", step, r.Total, err, want)
		}
		var lines []string
		if _, err := s.Check(t.Context(), func(p string) { lines = append(lines, p) }); err != nil || len(lines) != 0 {
			t.Fatalf("step %d: check said %q, %v", step, lines, err)
		}
	}
}
