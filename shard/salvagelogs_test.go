package shard

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arborist/shard/corpus"
)

// Whatever becomes of the file of corpora, a home can be opened again, and no
// log is signed that would contradict the lost one.
func TestABrokenFileOfCorporaIsMadeAnewOfItsRecords(t *testing.T) {
	const records = 300
	for name, c := range map[string]struct {
		do   func(t *testing.T, path string)
		kept bool // all of it
		open bool // the file can be used as it is
	}{
		"it is missing":              {func(t *testing.T, p string) { os.Remove(p) }, false, true},
		"it is empty":                {func(t *testing.T, p string) { os.Truncate(p, 0) }, false, true},
		"it is garbage":              {func(t *testing.T, p string) { os.WriteFile(p, []byte(strings.Repeat("hello ", 9000)), 0o600) }, false, false},
		"it is a link":               {func(t *testing.T, p string) { os.Rename(p, p+".other"); os.Symlink(p+".other", p) }, false, false},
		"its kind is unknown":        {func(t *testing.T, p string) { tamper(t, p, "PRAGMA application_id=77") }, true, false},
		"its header is zeroed":       {func(t *testing.T, p string) { overwrite(t, p, 100) }, true, false},
		"its first page is zeroed":   {func(t *testing.T, p string) { overwrite(t, p, pageSize) }, true, false},
		"it was compacted, and that": {func(t *testing.T, p string) { tamper(t, p, "VACUUM"); overwrite(t, p, pageSize) }, true, false},
		"an index of it is missing":  {func(t *testing.T, p string) { tamper(t, p, "DROP INDEX record_root") }, true, false},
		"a page of an index is lost": {func(t *testing.T, p string) {
			zeroPage(t, p, "SELECT rootpage FROM sqlite_schema WHERE name = 'record_uri'")
		}, true, true},
		"tiles are changed": {func(t *testing.T, p string) { tamper(t, p, "UPDATE tile SET hashes = zeroblob(length(hashes))") }, true, true},
		"records are lost": {func(t *testing.T, p string) {
			zeroPage(t, p, "SELECT rootpage FROM sqlite_schema WHERE name = 'record'")
		}, true, true}, // what is stored of the documents gives them
		"records and tree are lost": {func(t *testing.T, p string) {
			zeroPage(t, p, "SELECT rootpage FROM sqlite_schema WHERE name = 'record'")
			zeroPage(t, p, "SELECT rootpage FROM sqlite_schema WHERE name = 'tile'")
		}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := published(t, records)
			path, aside := filepath.Join(dir, CorporaName), filepath.Join(t.TempDir(), "aside")
			c.do(t, path)
			s, err := OpenShared(dir)
			if err == nil {
				err = s.Close()
			} else {
				mustAnswerWithoutLogs(t, dir, records)
			}
			if name == "it is missing" {
				os.Remove(path)
			}
			if c.open != (err == nil) || err != nil && !errors.Is(err, ErrLogs) {
				t.Errorf("open before: %v", err)
			}
			before, _ := os.ReadFile(path)
			var would, did []string
			if err := SalvageShared(t.Context(), dir, aside, Repair{DryRun: true, Did: func(l string) { would = append(would, l) }}); err != nil {
				t.Fatal(err)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("a dry run changed the file")
			}
			if err := SalvageShared(t.Context(), dir, aside, Repair{Did: func(l string) { did = append(did, l) }}); err != nil {
				t.Fatal(err)
			}
			t.Log(strings.Join(did, "\n"))
			if name != "it is empty" && (len(did) == 0 || len(would) == 0) {
				t.Errorf("it would do %q and did %q", would, did)
			}
			if kept, _ := filepath.Glob(filepath.Join(aside, "*-"+CorporaName)); len(before) > 0 && len(did) > 0 && len(kept) != 1 {
				t.Errorf("kept aside: %q", kept)
			}
			mustHaveLog(t, dir, c.kept, records)
			if left, _ := filepath.Glob(filepath.Join(dir, CorporaName+".*")); len(left) > 1 || len(left) == 1 && name != "it is a link" {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// mustAnswerWithoutLogs opens a set whose file of corpora cannot be used and holds
// it to what it promises then.
func mustAnswerWithoutLogs(t *testing.T, dir string, documents int) {
	t.Helper()
	path := filepath.Join(dir, CorporaName)
	s, err := OpenDamaged(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if damage := s.Damage(); len(damage) != 1 || !errors.Is(damage[0], ErrLogs) || !strings.HasPrefix(damage[0].Error(), path) {
		t.Errorf("damage %v", damage)
	}
	if r, err := s.Search(t.Context(), Query{Text: "number", Limit: 10}); err != nil || len(r.Hits) != 10 {
		t.Errorf("%d hits, %v", len(r.Hits), err)
	}
	if err := s.whole(); !errors.Is(err, ErrLogs) {
		t.Errorf("what is asked before a write: %v", err)
	}
	if _, err := s.Corpora().List(t.Context()); !errors.Is(err, ErrLogs) {
		t.Errorf("list: %v", err)
	}
	var problems []string
	n, err := s.Check(t.Context(), func(p string) { problems = append(problems, p) })
	if err != nil || n != documents || len(problems) != 1 || !strings.HasPrefix(problems[0], path) || !strings.HasSuffix(problems[0], MendBroken) {
		t.Errorf("check hashed %d, %v, problems %q", n, err, problems)
	}
}

// mustHaveLog demands that the corpus has all of its records and goes on, or
// that nothing in the folder says that it can.
func mustHaveLog(t *testing.T, dir string, whole bool, records uint64) {
	t.Helper()
	s := openTestShared(t, dir)
	var problems []string
	if _, err := s.Check(t.Context(), func(p string) { problems = append(problems, p) }); err != nil {
		t.Fatal(err)
	}
	info, err := s.Corpora().Lookup(t.Context(), "main")
	switch {
	case whole && (err != nil || info.Size != records || info.Seen != records || len(problems) > 0):
		t.Errorf("%+v, %v, problems %q", info, err, problems)
	case !whole && err == nil && (info.Size != 0 || info.Seen != records || len(problems) != 1):
		t.Errorf("what was lost is not known to be, or said more than once: %+v, %q", info, problems)
	case !whole && err != nil && !errors.Is(err, corpus.ErrNotFound):
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A record that is damaged, or stands where another should, is the one thing that a
// repair has to bring back; where the document that it lists is stored, it does.
func TestLostRecordsAreMadeAnewFromTheirDocuments(t *testing.T) {
	const records = 30
	for name, c := range map[string]struct {
		damage string
		signed bool // all records are there again
	}{
		"one is damaged":        {"UPDATE record SET line = CAST(line || ' ' AS BLOB) WHERE idx = 20", true},
		"one is another's":      {"UPDATE record SET line = (SELECT line FROM record o WHERE o.idx = 7) WHERE idx = 20", true},
		"all listings are lost": {"DELETE FROM record WHERE idx < 31", true},
		"one supersedes":        {"DELETE FROM record WHERE idx = 30", true},
		"one withdraws":         {"DELETE FROM record WHERE idx IN (3, 31)", false},
		"and the tree is too":   {"DELETE FROM record WHERE idx = 20; UPDATE tile SET hashes = zeroblob(length(hashes))", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShared(t, 4)
			p, dir := newPublisher(t, s), s.Dir()
			for n := range records {
				put1(t, p, page(n))
			}
			put1(t, p, entry(t, page(5).Location.URI, "another number 5"))
			if err := p.Withdraw(t.Context(), []string{page(6).Location.URI}, fetched); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, CorporaName)
			tamper(t, path, c.damage+"; PRAGMA journal_mode=WAL")
			var did []string
			if err := SalvageShared(t.Context(), dir, t.TempDir(), Repair{Did: func(l string) { did = append(did, l) }}); err != nil {
				t.Fatal(err)
			}
			s = openTestShared(t, dir)
			info, err := s.Corpora().Lookup(t.Context(), "main")
			if err != nil || info.Seen != records+2 || c.signed != (info.Size == records+2) || !c.signed && info.Size > 0 {
				t.Errorf("%+v, %v; said %q", info, err, did)
			}
			if c.signed {
				mustCheck(t, s)
			}
		})
	}
}

// A crash between naming the new file and removing the old one's log.
func TestANewFileOfCorporaThatIsReadyTakesItsPlace(t *testing.T) {
	dir, _ := published(t, 30)
	path := filepath.Join(dir, CorporaName)
	if err := os.Rename(path, path+readySuffix); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, path + "-wal"} {
		if err := os.WriteFile(p, []byte("of the broken one"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustHaveLog(t, dir, true, 30)
}
