package shard

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"arborist/document"
	"arborist/internal/arbtest/realtext"
	"arborist/shard/internal/index"
	"arborist/shard/internal/words"
)

// donor makes a closed shard file with a few documents, as somebody would hand
// it over.
func donor(t testing.TB, kind Kind) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "donor.db")
	f, err := OpenFile(path, kind, "")
	if err != nil {
		t.Fatal(err)
	}
	put1(t, f, entry(t, "test:wolf", "The wolf lives in the forest.\n\nIt hunts at night."),
		entry(t, "test:owl", "The owl hunts in the forest too, and sees at night."))
	put1(t, f, entry(t, "test:owl", "The owl hunts in the old forest, and sees well at night."))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// copied copies a file into a folder of its own.
func copied(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "donor.db")
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// tamper runs SQL on a file with nothing of what our connections forbid.
func tamper(t testing.TB, path, script string) {
	t.Helper()
	db := sql.OpenDB(connector{name: "file:" + path, driver: &sqlite3.SQLiteDriver{}})
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF; PRAGMA writable_schema=ON; " + script); err != nil {
		t.Fatalf("tamper with %q: %v", script, err)
	}
}

func patch(t testing.TB, path string, offset int64, bytes []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(bytes, offset); err != nil {
		t.Fatal(err)
	}
}

// ours is a small file of this node, which must answer whatever is beside it.
func ours(t testing.TB) *File {
	t.Helper()
	f := newPrivate(t)
	put1(t, f, entry(t, "test:own", "An owl of our own in our own forest at night."))
	return f
}

// mustBeRefused opens a hostile file and, where that succeeds, searches and
// reads it. Somewhere on the way it has to be refused, with the error that is
// wanted and the file's name; no hit may come from it; our own file answers.
func mustBeRefused(t *testing.T, own *File, path string, want error) {
	t.Helper()
	mustNotBeAdopted(t, path, want)
	start := realtext.CPU()
	f, err := OpenForeign(path)
	if err == nil {
		defer f.Close()
		r, searchErr := Search(t.Context(), []*File{own, f}, Query{Text: "owl forest night"})
		if searchErr != nil {
			t.Errorf("our own file does not answer beside it: %v", searchErr)
		}
		for _, h := range r.Hits {
			if h.File == f {
				t.Errorf("a hit from it: %s, %q", h.Root, h.Passage.Text)
			}
		}
		if len(r.Hits) != 1 || len(r.Refused) != 1 {
			t.Errorf("%d hits of our own, refused %v", len(r.Hits), r.Refused)
		}
		_, err = Search(t.Context(), []*File{f}, Query{Text: "owl forest night"})
	}
	if !errors.Is(err, want) {
		t.Errorf("refused with %v, want %v", err, want)
	}
	var fe *FileError
	if !errors.As(err, &fe) || fe.Path != path {
		t.Errorf("%v does not name the file", err)
	}
	if took := realtext.CPU() - start; took > 2*time.Second {
		t.Errorf("it took %s of processor time", took)
	}
	t.Logf("%v", err)
}

func TestForeignFileAnswersAndIsNotWritten(t *testing.T) {
	for _, kind := range []Kind{KindShared, KindPrivate} {
		path := donor(t, kind)
		before := snapshot(t, filepath.Dir(path))
		f, err := OpenForeign(path)
		if err != nil {
			t.Fatal(err)
		}
		own := ours(t)
		r, err := Search(t.Context(), []*File{own, f}, Query{Text: "owl hunting"})
		if err != nil || len(r.Refused) != 0 {
			t.Fatalf("%v, refused %v", err, r.Refused)
		}
		if r.Mode != ModeAnd || len(r.Hits) != 1 || r.Hits[0].File != f || !strings.Contains(string(r.Hits[0].Passage.Text), "old forest") {
			t.Errorf("hits %+v", r.Hits)
		}
		if _, err := f.Document(t.Context(), r.Hits[0].Root); err != nil {
			t.Error(err)
		}
		mustCheck(t, f)
		if _, err := f.Put(t.Context(), []document.Entry{entry(t, "test:a", "text")}); !errors.Is(err, ErrReadOnly) {
			t.Errorf("put: %v", err)
		}
		if err := f.Write(t.Context(), func(*sql.Tx) error { return nil }); !errors.Is(err, ErrReadOnly) {
			t.Errorf("write: %v", err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		after := snapshot(t, filepath.Dir(path))
		if len(after) != len(before) || after["donor.db"] != before["donor.db"] {
			t.Error("the folder of the foreign file changed")
		}
	}
}

func TestHostileFilesAreRefusedWithAReason(t *testing.T) {
	sqlCases := map[string]string{
		"a view":               "CREATE VIEW v AS SELECT * FROM texts",
		"a table as a view":    "DROP TABLE leaves; CREATE VIEW leaves AS SELECT id AS document, zeroblob(1000000000) AS hashes FROM documents",
		"a trigger":            "CREATE TRIGGER t AFTER INSERT ON texts BEGIN DELETE FROM documents; END",
		"a virtual table":      "CREATE VIRTUAL TABLE w USING fts5(x)",
		"one more table":       "CREATE TABLE more (x)",
		"one more index":       "CREATE INDEX more ON texts (data)",
		"a table that lacks":   "DROP TABLE leaves",
		"an index that lacks":  "DROP INDEX locations_document",
		"a generated column":   "DROP TABLE leaves; CREATE TABLE leaves (document INTEGER PRIMARY KEY, hashes BLOB AS (zeroblob(100000000))) STRICT",
		"statistics":           "ANALYZE",
		"no state":             "DELETE FROM state",
		"wrong set":            "UPDATE state SET shard = 7, shards = 5",
		"more passages":        "UPDATE state SET passages = 1000000000",
		"fewer passages":       "UPDATE state SET passages = -5",
		"more words":           "UPDATE state SET words = words + 1; UPDATE documents SET words = words + 1 WHERE id = 1",
		"document words":       "UPDATE documents SET words = 1 << 40",
		"a segment lacks":      "DELETE FROM segments",
		"a segment twice":      "INSERT INTO segments SELECT base + 1000, rows, level, negative, first, passages FROM segments",
		"segments overlap":     "UPDATE segments SET first = 1",
		"a negative base":      "UPDATE segments SET base = -base",
		"huge segments":        "UPDATE segments SET rows = 1 << 62, base = (1 << 61) + base",
		"a huge level":         "UPDATE segments SET level = 1 << 62",
		"a negative level":     "UPDATE segments SET level = -1",
		"passages of segments": "UPDATE segments SET passages = passages + 1",
		"postings as counts":   "UPDATE segments SET negative = 1",
		"counts as postings":   "UPDATE segments SET negative = 0",
		"texts":                "UPDATE texts SET data = CAST(x'012400' || 'The owl hunts in the forest at noon.' AS BLOB)",
		"texts of nothing":     "UPDATE texts SET data = x''",
		"texts of garbage":     "UPDATE texts SET data = randomblob(length(data))",
		"texts too long":       "UPDATE texts SET data = x'01ffffffffffffffff7f00'",
		"a bomb of a text":     "UPDATE texts SET data = x'01ffff3f0128b52ffd84000000000000000000000000000000000000000000000000'",
		"one byte of a text":   "UPDATE texts SET data = CAST(substr(data, 1, length(data) - 1) || x'21' AS BLOB)",
		"no texts":             "DELETE FROM texts",
		"leaves":               "UPDATE leaves SET hashes = zeroblob(length(hashes))",
		"leaves cut":           "UPDATE leaves SET hashes = x'00'",
		"no leaves":            "DELETE FROM leaves",
		"roots":                "UPDATE documents SET root = randomblob(32)",
		"short roots":          "UPDATE documents SET root = CAST(x'00' || id AS BLOB)",
		"chunk count":          "UPDATE documents SET chunks = chunks + 1; UPDATE state SET chunks = chunks + 3, passages = passages + 2",
		"huge chunk count":     "UPDATE documents SET chunks = 1 << 60",
		"byte count":           "UPDATE documents SET bytes = bytes + 1; UPDATE state SET bytes = bytes + 3",
		"negative byte count":  "UPDATE documents SET bytes = -1",
		"norm":                 "UPDATE documents SET norm = 'norm-v9'",
		"chunker":              "UPDATE documents SET chunker = char(10)",
		"hidden as visible":    "UPDATE documents SET visible = 1",
		"visible as hidden":    "UPDATE documents SET visible = 0",
		"no locations":         "DELETE FROM locations",
		"location of another":  "UPDATE locations SET document = 1",
		"escapes in a title":   "UPDATE locations SET title = char(27) || '[2J'",
		"huge title":           "UPDATE locations SET title = hex(zeroblob(100000))",
		"no origins":           "DELETE FROM origins",
		"index of garbage":     "UPDATE postings SET data = randomblob(length(data))",
		"index is cut":         "UPDATE postings SET data = substr(data, 1, length(data) - 1)",
		"no index":             "DELETE FROM postings",
		"index of zeros":       "UPDATE postings SET data = zeroblob(length(data))",
	}
	own, template := ours(t), donor(t, KindShared)
	for name, script := range sqlCases {
		t.Run(name, func(t *testing.T) {
			path := copied(t, template)
			tamper(t, path, script)
			mustBeRefused(t, own, path, ErrCorrupt)
		})
	}
	fileCases := map[string]struct {
		want error
		make func(t *testing.T, path string) // changes or replaces the donor
	}{
		"newer schema":  {ErrNewer, func(t *testing.T, p string) { tamper(t, p, fmt.Sprintf("PRAGMA user_version=%d", SchemaVersion+1)) }},
		"schema zero":   {ErrCorrupt, func(t *testing.T, p string) { tamper(t, p, "PRAGMA user_version=0") }},
		"any SQLite":    {ErrKind, func(t *testing.T, p string) { tamper(t, p, "PRAGMA application_id=77") }},
		"empty file":    {ErrKind, func(t *testing.T, p string) { os.Truncate(p, 0) }},
		"cut header":    {ErrKind, func(t *testing.T, p string) { os.Truncate(p, 90) }},
		"cut in half":   {ErrCorrupt, func(t *testing.T, p string) { os.Truncate(p, 8192) }},
		"not SQLite":    {ErrKind, func(t *testing.T, p string) { os.WriteFile(p, []byte(strings.Repeat("hello ", 1000)), 0o600) }},
		"page size":     {ErrCorrupt, func(t *testing.T, p string) { patch(t, p, 16, []byte{0x03, 0x07}) }},
		"garbage pages": {ErrCorrupt, func(t *testing.T, p string) { patch(t, p, 4096, []byte(strings.Repeat("\xa5", 4096*8))) }},
		"no such file":  {ErrNotFound, func(t *testing.T, p string) { os.Remove(p) }},
		"a folder":      {ErrUnsafe, func(t *testing.T, p string) { os.Remove(p); os.Mkdir(p, 0o700) }},
		"a pipe":        {ErrUnsafe, func(t *testing.T, p string) { os.Remove(p); syscall.Mkfifo(p, 0o600) }},
		"a link": {ErrUnsafe, func(t *testing.T, p string) {
			os.Rename(p, p+".real")
			os.Symlink(p+".real", p)
		}},
		"a link to nothing": {ErrUnsafe, func(t *testing.T, p string) { os.Remove(p); os.Symlink("/nowhere", p) }},
		"a second name":     {ErrUnsafe, func(t *testing.T, p string) { os.Link(p, p+".other") }},
		"a device":          {ErrUnsafe, func(t *testing.T, p string) { os.Remove(p); os.Symlink("/dev/zero", p) }},
		"a socket": {ErrUnsafe, func(t *testing.T, p string) {
			os.Remove(p)
			l, err := net.Listen("unix", p)
			if err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { l.Close() })
		}},
	}
	for name, c := range fileCases {
		t.Run(name, func(t *testing.T) {
			path := copied(t, template)
			c.make(t, path)
			mustBeRefused(t, own, path, c.want)
		})
	}
}

// The log of the victim's own newer state, a stranger's log, garbage: whatever
// lies beside a foreign file is neither read nor touched.
func TestWhatLiesBesideAForeignFileDoesNotCount(t *testing.T) {
	for name, beside := range map[string]func(t *testing.T, path string){
		"garbage log":     func(t *testing.T, p string) { os.WriteFile(p+"-wal", []byte(strings.Repeat("x", 9000)), 0o600) },
		"garbage journal": func(t *testing.T, p string) { os.WriteFile(p+"-journal", []byte(strings.Repeat("x", 9000)), 0o600) },
		"log as a link":   func(t *testing.T, p string) { os.Symlink("/etc/passwd", p+"-wal") },
		"log of another":  func(t *testing.T, p string) { os.WriteFile(p+"-wal", foreignLog(t), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			path := donor(t, KindShared)
			beside(t, path)
			before := snapshot(t, filepath.Dir(path))
			f, err := OpenForeign(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r, err := Search(t.Context(), []*File{f}, Query{Text: "owl"})
			if err != nil || len(r.Hits) != 1 || !strings.Contains(string(r.Hits[0].Passage.Text), "old forest") {
				t.Errorf("%+v, %v", r, err)
			}
			f.Close()
			after := snapshot(t, filepath.Dir(path))
			if len(after) != len(before) {
				t.Errorf("files before %d, after %d", len(before), len(after))
			}
			for n := range after {
				if after[n] != before[n] {
					t.Errorf("%s changed", n)
				}
			}
		})
	}
}

// foreignLog returns a valid log with a transaction that empties a shard.
func foreignLog(t *testing.T) []byte {
	t.Helper()
	path := donor(t, KindShared)
	db := sql.OpenDB(connector{name: "file:" + path, driver: &sqlite3.SQLiteDriver{}})
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; DELETE FROM texts; UPDATE documents SET visible = 0"); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil || len(log) < 4096 {
		t.Fatalf("log of %d bytes, %v", len(log), err)
	}
	return log
}

// reindex gives a file the index of other texts than it has, by id of chunk,
// with everything that counts words in agreement.
func reindex(t testing.TB, path string, texts map[int64]string) {
	t.Helper()
	db := sql.OpenDB(connector{name: "file:" + path, driver: &sqlite3.SQLiteDriver{}})
	defer db.Close()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var chunks int64
	must(nil, db.QueryRow("SELECT max(id + chunks) - 1 FROM documents").Scan(&chunks))
	f, err := OpenForeign(copied(t, path))
	must(nil, err)
	defer f.Close()
	tx, end, err := f.snapshot(t.Context())
	must(nil, err)
	defer end()
	var b index.Builder
	var tokenizer words.Tokenizer
	must(db.Exec("PRAGMA journal_mode=DELETE; DELETE FROM segments WHERE negative = 0; UPDATE documents SET words = 0"))
	for id := int64(1); id <= chunks; id++ {
		text, ok := texts[id]
		if !ok {
			row, err := scanDoc(tx.QueryRowContext(t.Context(), docOfSQL, id))
			must(nil, err)
			p, err := f.passage(t.Context(), tx, row, uint64(id-row.id))
			must(nil, err)
			text = string(p.Text)
		}
		words := b.Add(tokenizer.Numbers(nil, []byte(text), &b))
		must(db.Exec("UPDATE documents SET words = words + ? WHERE id = (SELECT max(id) FROM documents WHERE id <= ?)", words, id))
	}
	s, err := b.Write(func(row int64, data []byte) error {
		_, err := db.Exec("INSERT INTO postings VALUES (?, ?)", row, data)
		return err
	}, 1, 1000)
	must(nil, err)
	must(db.Exec("INSERT INTO segments VALUES (?, ?, 0, 0, ?, ?)", s.Base, s.Rows, s.First, s.Passages))
	must(db.Exec("UPDATE state SET words = (SELECT sum(words) FROM documents WHERE visible), all_words = (SELECT sum(words) FROM documents), posting = 2000"))
}

// An index that claims a word for a passage is the cheapest lie of all: text,
// hashes and lengths are right.
func TestPhantomHitsOfAForeignIndexAreRefused(t *testing.T) {
	own, template := ours(t), donor(t, KindShared)
	for name, texts := range map[string]map[int64]string{
		"a word the text lacks": {1: "The owl lives in the forest.\n\nIt hunts at night."},
		"a word more often":     {1: "owl forest night night night night night"},
		"words in other order":  {1: "owl forest night lives in wolf"},
		"another length":        {1: "The owl lives in the forest, where it hunts at night"},
		"more than are there":   {1: "owl forest night", 2: "wolf", 3: "owl forest night"},
	} {
		t.Run(name, func(t *testing.T) {
			path := copied(t, template)
			reindex(t, path, texts)
			mustBeRefused(t, own, path, ErrCorrupt)
		})
	}
}
