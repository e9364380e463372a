package shard

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"arborist/document"
)

// aSet makes a set of one file with pages, some of which are superseded.
func aSet(t *testing.T, pages int) (dir string, entries []document.Entry) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "shards")
	if err := CreateShared(dir, 1); err != nil {
		t.Fatal(err)
	}
	s, err := OpenShared(dir)
	if err != nil {
		t.Fatal(err)
	}
	for n := range pages {
		entries = append(entries, page(n))
	}
	if _, err := s.Put(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, entries
}

func repairAll(t *testing.T, s *Shared, dry bool) (did []string, lost []Lost, left []string) {
	t.Helper()
	opts := CheckOptions{Repair: &Repair{DryRun: dry, Did: func(l string) { did = append(did, l) },
		Keep: func(l Lost) error { lost = append(lost, l); return nil }}}
	if _, err := s.CheckWith(t.Context(), opts, func(p string) { left = append(left, p) }); err != nil {
		t.Fatal(err)
	}
	return did, lost, left
}

func TestRepairMendsEachKindOfDamageAndKeepsWhatIsReadable(t *testing.T) {
	for name, c := range map[string]struct {
		damage string
		lost   int
	}{
		"postings are gone":        {"DELETE FROM postings", 0},
		"postings are changed":     {"UPDATE postings SET data = zeroblob(length(data))", 0},
		"segments are gone":        {"DELETE FROM segments", 0},
		"leaf hashes are changed":  {"UPDATE leaves SET hashes = zeroblob(length(hashes))", 0},
		"leaf hashes are gone":     {"DELETE FROM leaves WHERE document > 9", 0},
		"counters are wrong":       {"UPDATE state SET documents = 7, words = 3", 0},
		"a document is hidden":     {"UPDATE documents SET visible = 0 WHERE id = (SELECT max(id) FROM documents)", 0},
		"words are wrong":          {"UPDATE documents SET words = words + 1 WHERE id = 1", 0},
		"two versions are current": {"UPDATE locations SET current = 1", 0},
		"a text is changed":        {"UPDATE texts SET data = zeroblob(length(data)) WHERE id = 1", 1},
		"a text is gone":           {"DELETE FROM texts WHERE id = 1", 1},
		"a header lies":            {"UPDATE documents SET chunks = 90000, bytes = 9000000 WHERE id = 1", 0},
		"a root is another":        {"UPDATE documents SET root = zeroblob(32) WHERE id = 1", 0},
		"and its leaf hashes are":  {"UPDATE documents SET root = zeroblob(32) WHERE id = 1; UPDATE leaves SET hashes = zeroblob(length(hashes)) WHERE document = 1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir, entries := aSet(t, 60)
			s, err := OpenShared(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			f := s.files[0]
			found(t, s, "number") // so that caches hold what was
			err = f.Write(t.Context(), func(tx *sql.Tx) error {
				_, err := tx.ExecContext(background, c.damage+"; UPDATE state SET generation = generation + 1")
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			did, kept, left := repairAll(t, s, true)
			if len(did) == 0 || len(left) == 0 || len(kept) > 0 {
				t.Fatalf("dry run: did %q, left %q, %d lost", did, left, len(kept))
			}
			did, lost, left := repairAll(t, s, false)
			if len(did) == 0 || len(left) > 0 || len(lost) != c.lost {
				t.Fatalf("did %q, left %q, %d lost", did, left, len(lost))
			}
			whole := 0
			for _, e := range entries {
				if _, err := s.Document(t.Context(), e.Document.Root()); err == nil {
					whole++
				}
			}
			if whole != len(entries)-c.lost {
				t.Errorf("%d of %d documents are left", whole, len(entries))
			}
			if hits := found(t, s, "number"); len(hits) == 0 {
				t.Error("nothing is found")
			}
			if did, _, _ := repairAll(t, s, false); len(did) > 0 {
				t.Errorf("a second repair did %q", did)
			}
			if _, err := s.Put(t.Context(), entries); err != nil {
				t.Fatal("put again: ", err)
			}
			if _, _, left := repairAll(t, s, true); len(left) > 0 {
				t.Errorf("after putting all again: %q", left)
			}
		})
	}
}

// What the owner of a private file keeps beside the documents may name what is not
// there any more; a repair must not leave that to be found again.
func TestRepairTakesOutRowsOfTheOwnerThatNameNothing(t *testing.T) {
	const schema = `CREATE TABLE IF NOT EXISTS crawls (id INTEGER PRIMARY KEY) STRICT;
		CREATE TABLE IF NOT EXISTS pages (id INTEGER PRIMARY KEY, crawl INTEGER NOT NULL REFERENCES crawls (id)) STRICT;
		CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, page INTEGER NOT NULL REFERENCES pages (id)) STRICT;`
	path := filepath.Join(t.TempDir(), "web.db")
	open := func() *File {
		f, err := OpenFile(path, KindPrivate, schema)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	f := open()
	if _, err := f.Put(t.Context(), []document.Entry{page(1)}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	tamper(t, path, "INSERT INTO crawls VALUES (1); INSERT INTO pages VALUES (1, 1), (2, 7); INSERT INTO notes VALUES (1, 1), (2, 2), (3, 9)")
	f = open()
	var did, left []string
	opts := CheckOptions{Repair: &Repair{Did: func(l string) { did = append(did, l) }}}
	if _, err := f.CheckWith(t.Context(), opts, func(p string) { left = append(left, p) }); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
	if said := strings.Join(did, "\n"); !strings.Contains(said, "1 rows of pages") || !strings.Contains(said, "2 rows of notes") {
		t.Errorf("did %q", did)
	}
	var crawls, pages, notes int
	if err := f.reader.QueryRow("SELECT (SELECT count(*) FROM crawls), (SELECT count(*) FROM pages), (SELECT count(*) FROM notes)").Scan(&crawls, &pages, &notes); err != nil || crawls != 1 || pages != 1 || notes != 1 {
		t.Errorf("%d crawls, %d pages, %d notes are left, %v", crawls, pages, notes, err)
	}
}

func TestSalvageReadsAroundDamagedPages(t *testing.T) {
	for _, at := range []float64{0.1, 0.3, 0.5, 0.7, 0.9} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			dir, entries := aSet(t, 200)
			path, aside := filepath.Join(dir, "00.db"), filepath.Join(t.TempDir(), "aside")
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			first := int(at*float64(len(b)))&^4095 + 4096
			for i := range 3 * 4096 {
				b[first+i] = 0xff
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			var did []string
			var lost []Lost
			r := Repair{Did: func(l string) { did = append(did, l) }, Keep: func(l Lost) error { lost = append(lost, l); return nil }}
			dry := r
			dry.DryRun = true
			if err := SalvageShared(t.Context(), dir, aside, dry); err != nil {
				t.Fatal(err)
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != string(b) {
				t.Fatal("the dry run changed the file")
			}
			did, lost = nil, nil
			if err := SalvageShared(t.Context(), dir, aside, r); err != nil {
				t.Fatal(err)
			}
			kept, err := filepath.Glob(filepath.Join(aside, "*-00.db"))
			if err != nil || len(kept) != 1 || len(did) == 0 {
				t.Fatalf("kept %v, did %q, %v", kept, did, err)
			}
			if old, err := os.ReadFile(kept[0]); err != nil || string(old) != string(b) {
				t.Error("the kept file is another")
			}
			s, err := OpenShared(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			whole := 0
			for _, e := range entries {
				if _, err := s.Document(t.Context(), e.Document.Root()); err == nil {
					whole++
				}
			}
			t.Logf("%d of %d documents are left, %d in quarantine: %s", whole, len(entries), len(lost), strings.Join(did, "\n"))
			if whole < 100 {
				t.Errorf("%d of %d documents are left", whole, len(entries))
			}
			if _, _, left := repairAll(t, s, true); len(left) > 0 {
				t.Errorf("check: %q", left)
			}
		})
	}
}

func TestSubsetsAreDeterministicAndJoinToAll(t *testing.T) {
	var roots []document.Root
	for n := range 2000 {
		roots = append(roots, document.Root(page(n).Document.Root()))
	}
	seen := make([]int, len(roots))
	for n := 1; n <= 10; n++ {
		s, err := ParseSubset(fmt.Sprintf("%d/10", n))
		if err != nil {
			t.Fatal(err)
		}
		has := 0
		for i, r := range roots {
			if s.Has(r) {
				seen[i]++
				has++
			}
		}
		if has < 120 || has > 280 {
			t.Errorf("%d/10 has %d of %d", n, has, len(roots))
		}
	}
	for i, n := range seen {
		if n != 1 {
			t.Errorf("root %d is in %d parts", i, n)
		}
	}
	five, err := ParseSubset("5%")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range roots {
		if five.Has(r) {
			n++
		}
	}
	if n < 60 || n > 140 {
		t.Errorf("5%% has %d of %d", n, len(roots))
	}
	for _, bad := range []string{"0%", "-1%", "101%", "NaN%", "0/10", "11/10", "1/0", "x", "5", "1/", "/2", "%", "1/70000", "+1/10 "} {
		if _, err := ParseSubset(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// An index of a table without rows is looked at by no check of SQLite's.
func TestAnUnreadableIndexOfAnEmptyTableIsFoundAndMended(t *testing.T) {
	dir, _ := aSet(t, 0)
	path := filepath.Join(dir, "00.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector{name: "file:" + path, driver: &sqlite3.SQLiteDriver{}})
	defer db.Close()
	rows, err := db.Query("SELECT name, rootpage FROM sqlite_schema WHERE type = 'index'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	indexes := 0
	for rows.Next() {
		var name string
		var root int
		if err := rows.Scan(&name, &root); err != nil {
			t.Fatal(err)
		}
		indexes++
		b := bytes.Clone(whole)
		b[(root-1)*4096] = 13 // a leaf of a table
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s := openTestShared(t, dir)
		var quick []string
		if err := s.QuickCheck(t.Context(), func(p string) { quick = append(quick, p) }); err != nil || len(quick) == 0 {
			t.Errorf("%s: a quick check finds %q, %v", name, quick, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		r := Repair{Did: func(string) {}, Keep: func(Lost) error { return nil }}
		if err := SalvageShared(t.Context(), dir, filepath.Join(t.TempDir(), "aside"), r); err != nil {
			t.Fatal(err)
		}
		s = openTestShared(t, dir)
		mustCheck(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil || indexes < 5 {
		t.Fatalf("%d indexes, %v", indexes, err)
	}
}

// disorders returns files of which one page says that rows stand in another order, or
// that a leaf of a table is another page: some of the first kind, all of the second.
func disorders(whole []byte) (damaged [][]byte) {
	for at := 4096; at < len(whole); at += 4096 {
		b := bytes.Clone(whole)
		page := b[at : at+4096]
		cells := int(binary.BigEndian.Uint16(page[3:]))
		switch {
		case page[0] == 13 && cells > 1 && at/4096%8 == 0: // a leaf of a table
			for i, j := 8, 8+2*(cells-1); i < j; i, j = i+2, j-2 {
				x, y := (*[2]byte)(page[i:]), (*[2]byte)(page[j:])
				*x, *y = *y, *x
			}
		case page[0] == 5: // a page above leaves: the last is made a copy of the first, or of the page itself
			first := binary.BigEndian.Uint32(page[binary.BigEndian.Uint16(page[12:]):])
			last := binary.BigEndian.Uint32(page[8:])
			itself := bytes.Clone(b)
			copy(itself[(last-1)*4096:][:4096], page)
			damaged = append(damaged, itself)
			copy(b[(last-1)*4096:][:4096], whole[(first-1)*4096:])
		default:
			continue
		}
		damaged = append(damaged, b)
	}
	return damaged
}

// The rows of a table are searched as if they were in order. Where a page says
// otherwise, what goes from row to row must end.
func TestRowsThatAreNotInOrderAreFoundAndMended(t *testing.T) {
	dir, entries := aSet(t, 200)
	path := filepath.Join(dir, "00.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := disorders(whole)
	if len(damaged) < 5 {
		t.Fatalf("%d files", len(damaged))
	}
	for i, b := range damaged {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // what takes a second would otherwise never end
		defer cancel()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s := openTestShared(t, dir)
		var found []string
		if _, err := s.Check(ctx, func(p string) { found = append(found, p) }); err != nil || len(found) == 0 {
			t.Errorf("file %d: check finds %q, %v", i, found, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		mustSplitAllOrNothing(t, ctx, dir, entries)
		r := Repair{Did: func(string) {}, Keep: func(Lost) error { return nil }}
		if err := SalvageShared(ctx, dir, filepath.Join(t.TempDir(), "aside"), r); err != nil {
			t.Fatal(err)
		}
		s = openTestShared(t, dir)
		if _, _, left := repairAll(t, s, true); len(left) > 0 {
			t.Errorf("file %d: after the repair: %q", i, left)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// mustSplitAllOrNothing splits a copy of a set that may be damaged: it fails, or has
// every document afterwards.
func mustSplitAllOrNothing(t *testing.T, ctx context.Context, dir string, entries []document.Entry) {
	t.Helper()
	other := filepath.Join(t.TempDir(), "shards")
	if err := os.CopyFS(other, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	s := openTestShared(t, other)
	defer s.Close()
	if _, err := s.Split(ctx, nil); errors.Is(err, ErrCorrupt) {
		return
	} else if err != nil {
		t.Fatalf("split: %v", err)
	}
	for _, e := range entries {
		if _, err := s.Document(ctx, e.Document.Root()); err != nil {
			t.Errorf("after a split: %v", err)
		}
	}
	mustCheck(t, s)
}

// A check brings an update to its end that a crash has cut, but believes nothing of
// the kind while a file is damaged: whatever that says may be what damage has made of it.
func TestACheckEndsNoUpdateWhereAFileIsDamaged(t *testing.T) {
	first, second := 0, 50 // versions of one place, in two files
	for route(page(first).Document.Root(), 4) == route(page(second).Document.Root(), 4) {
		first, second = first+1, second+1
	}
	for _, damaged := range []bool{false, true} {
		dir, _ := published(t, 50)
		old := filepath.Join(dir, fileName(route(page(first).Document.Root(), 4)))
		before, err := os.ReadFile(old)
		if err != nil {
			t.Fatal(err)
		}
		set := openTestShared(t, dir)
		put1(t, newPublisher(t, set), page(second))
		if err := errors.Join(set.Close(), os.WriteFile(old, before, 0o600)); err != nil {
			t.Fatal(err)
		}
		if damaged {
			tamper(t, old, "DELETE FROM postings")
		}
		s := openTestShared(t, dir)
		var said []string
		if _, err := s.Check(t.Context(), func(p string) { said = append(said, p) }); err != nil {
			t.Fatal(err)
		}
		if ended := strings.Contains(strings.Join(said, "\n"), "repaired: "); ended == damaged {
			t.Errorf("damaged %t: %q", damaged, said)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
