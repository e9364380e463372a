package corpus

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mattn/go-sqlite3"

	"arborist/proof"
)

// raw opens the file beside the store's own rules.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db := sql.OpenDB(plainConnector("file:" + path + "?_busy_timeout=5000"))
	t.Cleanup(func() { db.Close() })
	return db
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func TestOpenRefusesWhatIsNotAFileOfCorpora(t *testing.T) {
	ours := func(t *testing.T, path string) {
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	change := func(statements ...string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			ours(t, path)
			db := raw(t, path)
			execute(t, db, statements...)
			db.Close()
		}
	}
	tests := []struct {
		name string
		make func(t *testing.T, path string)
		want error // nil: opens
	}{
		{"missing", func(*testing.T, string) {}, nil},
		{"ours", ours, nil},
		{"empty", func(t *testing.T, path string) { os.WriteFile(path, nil, 0o600) }, nil},
		{"text", func(t *testing.T, path string) { os.WriteFile(path, []byte(strings.Repeat("text ", 1000)), 0o600) }, ErrForeign},
		{"another application", change("PRAGMA application_id = 7"), ErrForeign},
		{"somebody's tables", func(t *testing.T, path string) {
			db := raw(t, path)
			execute(t, db, "CREATE TABLE corpus (id)")
			db.Close()
		}, ErrForeign},
		{"a newer version", change(fmt.Sprintf("PRAGMA user_version = %d", schemaVersion+1)), ErrNewer},
		{"a version that never was", change("PRAGMA user_version = 0"), ErrForeign},
		{"an extra trigger", change("CREATE TRIGGER x AFTER INSERT ON record BEGIN DELETE FROM record; END"), ErrForeign},
		{"an extra view", change("CREATE VIEW x AS SELECT 1"), ErrForeign},
		{"a missing index", change("DROP INDEX record_root"), ErrForeign},
		{"a changed table", change("ALTER TABLE tile ADD COLUMN x INTEGER"), ErrForeign},
		{"a folder", func(t *testing.T, path string) { os.Mkdir(path, 0o700) }, ErrForeign},
		{"a link", func(t *testing.T, path string) {
			ours(t, path+".real")
			os.Symlink(path+".real", path)
		}, ErrForeign},
		{"a link to nothing", func(t *testing.T, path string) { os.Symlink(path+".none", path) }, ErrForeign},
		{"a pipe", func(t *testing.T, path string) { syscall.Mkfifo(path, 0o600) }, ErrForeign},
		{"no folder", func(t *testing.T, path string) { os.Remove(filepath.Dir(path)) }, os.ErrNotExist},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sub", "corpora.db")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			tt.make(t, path)
			s, err := Open(path)
			if !errors.Is(err, tt.want) {
				t.Fatalf("open: %v, want %v", err, tt.want)
			}
			if err != nil {
				if !strings.Contains(err.Error(), path) {
					t.Errorf("%q does not name the file", err)
				}
				return
			}
			checkStore(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v: others can read it", info.Mode(), err)
			}
		})
	}
}

// A name of a file is never taken for settings.
func TestOddFileNamesAreFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a?mode=memory", "b#c", "d%41", "e f", "é", ":memory:", "file:x", "&_synchronous=0"} {
		s, err := Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 8 {
		t.Errorf("%v, %v", entries, err)
	}
}

// What "durable on return" and "readers cannot write" rest on. mattn's build
// would take synchronous=NORMAL by default, which loses acknowledged commits.
func TestConnectionsAreSetUpForDurability(t *testing.T) {
	s := newStore(t)
	for _, tt := range []struct {
		db     *sql.DB
		pragma string
		want   string
	}{
		{s.write, "journal_mode", "wal"},
		{s.write, "synchronous", "2"},
		{s.write, "trusted_schema", "0"},
		{s.write, "cell_size_check", "1"},
		{s.write, "mmap_size", "0"},
		{s.write, "busy_timeout", "5000"},
		{s.read, "query_only", "1"},
		{s.read, "trusted_schema", "0"},
		{s.read, "cell_size_check", "1"},
		{s.read, "mmap_size", "0"},
		{s.read, "busy_timeout", "5000"},
	} {
		var got string
		if err := tt.db.QueryRow("PRAGMA " + tt.pragma).Scan(&got); err != nil || got != tt.want {
			t.Errorf("%s = %q, %v; want %q", tt.pragma, got, err, tt.want)
		}
	}
	if _, err := s.read.Exec("PRAGMA query_only = 0; DELETE FROM corpus"); err == nil {
		t.Error("a read connection wrote")
	}
	if _, err := s.write.Exec("ATTACH 'x.db' AS x"); err == nil {
		t.Error("another file can be attached")
	}
}

// After a failed write the connection is replaced before the next one.
func TestDoubtedConnectionIsReplaced(t *testing.T) {
	s, m := newOwn(t)
	appendBoth(t, s, m, numbered(3, 0)...)
	if _, err := s.write.Exec("CREATE TEMP TABLE mark (x)"); err != nil {
		t.Fatal(err)
	}
	failed := sqlite3.Error{Code: sqlite3.ErrIoErr} // as from a commit whose fsync failed
	if err := s.update(context.Background(), func(*sql.Tx) error { return failed }); !errors.As(err, &failed) {
		t.Fatal(err)
	}
	appendBoth(t, s, m, numbered(3, 3)...)
	if s.doubt.Load() {
		t.Error("still in doubt after an append")
	}
	if _, err := s.write.Exec("SELECT * FROM temp.mark"); err == nil {
		t.Error("the connection is still the same")
	}
	m.checkLog(t, s, 6)
}

func TestNamesAreNeverPathsOrOptions(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	for _, name := range []string{"", ".", "..", "-x", "_x", ".x", "a/b", "a\\b", "a b", "a\tb", "é", "a\x00", "a\n", "a:b", "a?b", "a%2fb", "~", "*", "a;b", strings.Repeat("a", 65)} {
		if ValidName(name) {
			t.Errorf("%q is valid", name)
		}
		signer, err := proof.NewSigner(testPeer+"/"+name, [32]byte{1})
		if err != nil {
			continue // not even a key name
		}
		if _, err := s.Create(ctx, name, signer.Verifier()); !errors.Is(err, ErrName) {
			t.Errorf("create %q: %v", name, err)
		}
		if _, err := s.Follow(ctx, signer.Verifier()); !errors.Is(err, ErrName) {
			t.Errorf("follow %q: %v", name, err)
		}
	}
	for _, origin := range []string{"main", "/main", "../main", "-p/main", "a b/main", testPeer + "//main"} {
		signer, err := proof.NewSigner(origin, [32]byte{1})
		if err != nil {
			continue
		}
		if _, err := s.Follow(ctx, signer.Verifier()); !errors.Is(err, ErrName) {
			t.Errorf("follow %q: %v", origin, err)
		}
	}
	for _, name := range []string{"a", "main", "2026", "A-b_c.d", strings.Repeat("a", 64)} {
		if _, err := s.Create(ctx, name, testSigner(t, name, 1).Verifier()); err != nil {
			t.Errorf("create %q: %v", name, err)
		}
	}
	if infos, err := s.List(ctx); err != nil || len(infos) != 5 {
		t.Errorf("%d corpora, %v", len(infos), err)
	}
}

func TestKeysArePinnedOnFirstUse(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "corpora.db")
	s := openTest(t, path)
	first, second := testSigner(t, "main", 1).Verifier(), testSigner(t, "main", 2).Verifier()
	foreign, err := proof.NewSigner("someone/main", [32]byte{3})
	if err != nil {
		t.Fatal(err)
	}
	create := func(v *proof.Verifier) error { _, err := s.Create(ctx, "main", v); return err }
	follow := func(v *proof.Verifier) error { _, err := s.Follow(ctx, v); return err }
	for i, step := range []struct {
		err  error
		want error
	}{
		{follow(first), nil},
		{follow(first), nil},
		{follow(second), ErrKey},
		{create(second), ErrKey},
		{create(first), nil}, // the key has come back to us
		{create(first), nil},
		{follow(first), nil}, // and stays ours
		{create(foreign.Verifier()), ErrKey},
		{follow(foreign.Verifier()), nil},
	} {
		if !errors.Is(step.err, step.want) {
			t.Errorf("step %d: %v, want %v", i, step.err, step.want)
		}
	}
	if _, err := s.Create(ctx, "other", first); !errors.Is(err, ErrName) {
		t.Errorf("create under another name than the key's: %v", err)
	}
	s.Close()
	s = openTest(t, path)
	if err := follow(second); !errors.Is(err, ErrKey) {
		t.Errorf("another key after a restart: %v", err)
	}
	own, err := s.Lookup(ctx, "main")
	if err != nil || !own.Own || own.Key != first.String() || own.Publisher != testPeer || own.Name != "main" {
		t.Errorf("lookup by name: %+v, %v", own, err)
	}
	other, err := s.Lookup(ctx, "someone/main")
	if err != nil || other.Own || other.Publisher != "someone" {
		t.Errorf("lookup by origin: %+v, %v", other, err)
	}
	for _, none := range []string{"someone", "", "main/", testPeer, "%"} {
		if _, err := s.Lookup(ctx, none); !errors.Is(err, ErrNotFound) {
			t.Errorf("lookup %q: %v", none, err)
		}
	}
}

// Two corpora in one file share nothing: not records, not current documents,
// not URIs.
func TestCorporaAreApart(t *testing.T) {
	ctx := context.Background()
	s, a := newOwn(t)
	b := newModel(t, "second")
	if _, err := s.Create(ctx, "second", b.signer.Verifier()); err != nil {
		t.Fatal(err)
	}
	c := newModelOf(t, "third", 300)
	appendBoth(t, s, a, numbered(300, 0)...)
	appendBoth(t, s, b, numbered(20, 0)...)
	followTo(t, s, c, 270)
	appendBoth(t, s, a, withdrawal("https://example.org/7"), listed("https://example.org/8", "new"))
	a.checkLog(t, s, 302)
	b.checkLog(t, s, 20)
	c.checkLog(t, s, 270)
	for content, want := range map[string]int{"content 5": 3, "content 7": 2, "content 8": 2, "content 100": 2, "content 290": 1, "new": 1, "no": 0} {
		origins, _, err := s.Listed(ctx, header(content).Root)
		if err != nil || len(origins) != want {
			t.Errorf("%s is listed by %v, %v; want %d", content, origins, err, want)
		}
	}
	infos, err := s.List(ctx)
	if err != nil || len(infos) != 3 || !infos[0].Own || !infos[1].Own || infos[2].Own {
		t.Errorf("list: %+v, %v", infos, err)
	}
}

// An origin has one reading, and its parts are safe to show and to store.
func FuzzOriginHasOneReading(f *testing.F) {
	for _, seed := range []string{"", "/", "a/b", testPeer + "/main", "a/b/c", "../main", "a/..", "-a/b", "a/b\n", "é/b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, origin string) {
		publisher, name, err := splitOrigin(origin)
		if err != nil {
			if !errors.Is(err, ErrName) {
				t.Fatal(err)
			}
			return
		}
		if publisher+"/"+name != origin || strings.Contains(origin, "..") && strings.HasPrefix(name, ".") || !ValidName(name) {
			t.Fatalf("%q is read as %q and %q", origin, publisher, name)
		}
		if _, err := proof.NewSigner(origin, [32]byte{1}); err != nil {
			t.Fatalf("no key can be named %q: %v", origin, err)
		}
	})
}
