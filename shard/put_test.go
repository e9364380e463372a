package shard

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"arborist/document"
)

func TestWhatWasPutIsFoundAndProven(t *testing.T) {
	for _, shards := range []int{1, 4} {
		s := newShared(t, shards)
		e := entry(t, "test:a", "The quick brown fox.\n\nIt jumps over the lazy dog.")
		out := put1(t, s, e)
		if want := (document.Outcome{New: true}); out[0] != want {
			t.Errorf("outcome %+v, want %+v", out[0], want)
		}
		r, err := s.Search(t.Context(), Query{Text: "jumping foxes"})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Hits) != 1 || r.Hits[0].Root != e.Document.Root() || r.Hits[0].Location != e.Location {
			t.Errorf("hits %+v", r.Hits)
		}
		d, err := s.Document(t.Context(), e.Document.Root())
		if err != nil || string(d.Text()) != string(e.Document.Text()) {
			t.Errorf("document %v, %v", d, err)
		}
		if n := mustCheck(t, s); n != 1 {
			t.Errorf("checked %d documents, want 1", n)
		}
		if st, err := s.Stats(t.Context()); err != nil || st != (Stats{1, uint64(e.Document.Chunks()), uint64(len(e.Document.Text()))}) {
			t.Errorf("stats %+v, %v", st, err)
		}
	}
}

// snapshot reads every byte below a folder.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "-shm") {
			continue // locks and the index of the log: memory, not storage
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(b)
	}
	return all
}

func TestPuttingTheSameAgainWritesNotOneByte(t *testing.T) {
	s := newShared(t, 4)
	docs := generated(t, 20)
	docs = append(docs, docs[3]) // twice in one call, too
	put1(t, s, docs...)
	before := snapshot(t, s.Dir())
	for i := range docs {
		docs[i].Location.FetchedAt = docs[i].Location.FetchedAt.Add(time.Hour)
	}
	for i, o := range put1(t, s, docs...) {
		if want := (document.Outcome{Unchanged: true}); o != want {
			t.Errorf("entry %d: outcome %+v, want %+v", i, o, want)
		}
	}
	for name, bytes := range snapshot(t, s.Dir()) {
		if bytes != before[name] {
			t.Errorf("%s changed", name)
		}
	}
}

func currentRoot(t *testing.T, s *Shared, uri string) (current []document.Root, versions int) {
	t.Helper()
	all, err := s.History(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range all {
		if v.Current {
			current = append(current, v.Root)
		}
		if v.Current != (v.SupersededBy == document.Root{}) {
			t.Errorf("version %d: current %v, superseded by %s", v.Seq, v.Current, v.SupersededBy)
		}
		if want := int64(len(all) - i); v.Seq != want {
			t.Errorf("version %d stands where %d should", v.Seq, want)
		}
	}
	return current, len(all)
}

func found(t *testing.T, s *Shared, word string) []document.Root {
	t.Helper()
	r, err := s.Search(t.Context(), Query{Text: word, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var roots []document.Root
	for _, h := range r.Hits {
		roots = append(roots, h.Root)
	}
	return roots
}

func TestVersionsAtAURIEndWithTheLast(t *testing.T) {
	for _, shards := range []int{1, 16} {
		s := newShared(t, shards)
		a, b := entry(t, "test:x", "alpha version"), entry(t, "test:x", "beta version")
		var was document.Root
		for i, e := range []document.Entry{a, b, a, b, a} {
			out := put1(t, s, e)[0]
			if want := (document.Outcome{New: i < 2, Superseded: was}); out != want {
				t.Errorf("%d shards, step %d: outcome %+v, want %+v", shards, i, out, want)
			}
			was = e.Document.Root()
			current, n := currentRoot(t, s, "test:x")
			if len(current) != 1 || current[0] != was || n != i+1 {
				t.Errorf("%d shards, step %d: current %v of %d versions, want %s", shards, i, current, n, was)
			}
			if roots := found(t, s, "version"); len(roots) != 1 || roots[0] != was {
				t.Errorf("%d shards, step %d: found %v, want %s alone", shards, i, roots, was)
			}
			mustCheck(t, s)
		}
		if d, err := s.Document(t.Context(), b.Document.Root()); err != nil || d.Root() != b.Document.Root() {
			t.Errorf("the hidden version cannot be read: %v", err)
		}
	}
}

func TestABatchWithOneURITwiceTakesThemInOrder(t *testing.T) {
	s := newShared(t, 4)
	a, b := entry(t, "test:x", "alpha version"), entry(t, "test:x", "beta version")
	out := put1(t, s, a, entry(t, "test:y", "another"), b, a)
	if out[2].Superseded != a.Document.Root() || out[3].Superseded != b.Document.Root() || out[3].New {
		t.Errorf("outcomes %+v", out)
	}
	if current, n := currentRoot(t, s, "test:x"); n != 3 || current[0] != a.Document.Root() {
		t.Errorf("current %v of %d versions", current, n)
	}
}

func TestTwoURIsOfOneBodyAreTwoLocationsOfOneDocument(t *testing.T) {
	s := newShared(t, 4)
	a, b := entry(t, "test:a", "the very same body"), entry(t, "test:b", "the very same body")
	if out := put1(t, s, a, b); !out[0].New || out[1].New || out[1].Unchanged {
		t.Errorf("outcomes %+v", out)
	}
	at, err := s.Locations(t.Context(), a.Document.Root())
	if err != nil || len(at) != 2 || at[0].Location != a.Location || at[1].Location != b.Location {
		t.Errorf("locations %+v, %v", at, err)
	}
	if roots := found(t, s, "body"); len(roots) != 1 {
		t.Errorf("found %v", roots)
	}
	// It stays findable until the last of its places has something else.
	put1(t, s, entry(t, "test:a", "something else"))
	if roots := found(t, s, "body"); len(roots) != 1 {
		t.Errorf("found %v after one place was taken", roots)
	}
	put1(t, s, entry(t, "test:b", "something else again"))
	if roots := found(t, s, "body"); len(roots) != 0 {
		t.Errorf("found %v after both places were taken", roots)
	}
	mustCheck(t, s)
}

func TestTheSameURIInTwoCorporaIsTwoPlaces(t *testing.T) {
	s := newShared(t, 4)
	a, b := entry(t, "test:a", "version of one"), entry(t, "test:a", "version of two")
	a.Location.Corpus, b.Location.Corpus = "p/one", "p/two"
	put1(t, s, a)
	if out := put1(t, s, b); out[0].Superseded != (document.Root{}) {
		t.Errorf("it superseded %s of another corpus", out[0].Superseded)
	}
	if roots := found(t, s, "version"); len(roots) != 2 {
		t.Errorf("found %v", roots)
	}
}

func TestNewDescriptionOfTheSameContentReplacesTheOld(t *testing.T) {
	s := newShared(t, 4)
	e := entry(t, "test:a", "the body")
	put1(t, s, e)
	e.Location.ETag, e.Location.FetchedAt = `"2"`, e.Location.FetchedAt.Add(time.Hour)
	if out := put1(t, s, e)[0]; out != (document.Outcome{}) {
		t.Errorf("outcome %+v", out)
	}
	at, err := s.Locations(t.Context(), e.Document.Root())
	if err != nil || len(at) != 1 || at[0].Location != e.Location {
		t.Errorf("locations %+v, %v", at, err)
	}
}

func TestLocationsThatCannotBeStoredAreRefusedBeforeAnythingIs(t *testing.T) {
	s := newShared(t, 2)
	good := entry(t, "test:good", "good text")
	for name, change := range map[string]func(*document.Location){
		"no URI":            func(l *document.Location) { l.URI = "" },
		"long URI":          func(l *document.Location) { l.URI = strings.Repeat("x", MaxURI+1) },
		"NUL in the URI":    func(l *document.Location) { l.URI = "a\x00b" },
		"bad UTF-8":         func(l *document.Location) { l.Title = "\xff" },
		"long title":        func(l *document.Location) { l.Title = strings.Repeat("x", 5000) },
		"line in a corpus":  func(l *document.Location) { l.Corpus = "p/one\n" },
		"long content type": func(l *document.Location) { l.ContentType = strings.Repeat("x", 2000) },
	} {
		bad := entry(t, "test:bad", "bad place")
		change(&bad.Location)
		if _, err := s.Put(t.Context(), []document.Entry{good, bad}); !errors.Is(err, ErrLocation) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if st, _ := s.Stats(t.Context()); st.Documents != 0 {
		t.Errorf("%d documents were stored", st.Documents)
	}
	if _, err := s.Put(t.Context(), []document.Entry{{Location: good.Location}}); err == nil {
		t.Error("an entry without a document was taken")
	}
}

func TestManyCallersMayPutAtOnce(t *testing.T) {
	s := newShared(t, 4)
	const callers, rounds = 6, 8
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range rounds {
				_, err := s.Put(t.Context(), []document.Entry{
					entry(t, "test:contended", fmt.Sprintf("caller %d in round %d", c, i)),
					entry(t, fmt.Sprintf("test:%d", c), fmt.Sprintf("own page of %d in round %d", c, i)),
					entry(t, fmt.Sprintf("test:same/%d", i), fmt.Sprintf("all callers put this %d", i)),
				})
				if err != nil {
					t.Error(err)
				}
				if _, err := s.Search(t.Context(), Query{Text: "caller round"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if current, n := currentRoot(t, s, "test:contended"); len(current) != 1 || n != callers*rounds {
		t.Errorf("%d current of %d versions, want 1 of %d", len(current), n, callers*rounds)
	}
	if roots := found(t, s, "all callers put this"); len(roots) != rounds {
		t.Errorf("%d documents that all callers put, want %d", len(roots), rounds)
	}
	mustCheck(t, s)
}

// TestACrashBetweenTheTwoStepsHeals writes a new version and not the end of the
// old one, as a crash does where they are in different files.
func TestACrashBetweenTheTwoStepsHeals(t *testing.T) {
	for _, how := range []string{"put", "check"} {
		s := newShared(t, 16)
		a, b := entry(t, "test:x", "alpha version"), entry(t, "test:x", "beta version")
		if route(a.Document.Root(), 16) == route(b.Document.Root(), 16) {
			t.Fatal("choose other texts: both are in one file")
		}
		put1(t, s, a)
		c := change{entry: Arrival{Entry: b}, place: placeOf("", "test:x"), seq: 2, outcome: new(document.Outcome)}
		home := s.home(b.Document.Root())
		if err := home.Write(t.Context(), func(tx *sql.Tx) error { return home.apply(t.Context(), tx, []change{c}, nil, indexNow) }); err != nil {
			t.Fatal(err)
		}
		if roots := found(t, s, "version"); len(roots) != 2 {
			t.Fatalf("the crash was not made: found %v", roots)
		}
		switch how {
		case "put":
			if out := put1(t, s, b); !out[0].Unchanged {
				t.Errorf("outcome %+v", out[0])
			}
		case "check":
			var lines []string
			if _, err := s.Check(t.Context(), func(p string) { lines = append(lines, p) }); err != nil {
				t.Fatal(err)
			}
			if len(lines) != 1 || !strings.Contains(lines[0], "repaired: test:x") {
				t.Errorf("check said %q", lines)
			}
		}
		if current, n := currentRoot(t, s, "test:x"); n != 2 || len(current) != 1 || current[0] != b.Document.Root() {
			t.Errorf("%s: current %v of %d versions", how, current, n)
		}
		if roots := found(t, s, "version"); len(roots) != 1 || roots[0] != b.Document.Root() {
			t.Errorf("%s: found %v", how, roots)
		}
		mustCheck(t, s)
	}
}

func TestASharedFileTakesDocumentsOnlyThroughItsSet(t *testing.T) {
	s := newShared(t, 2)
	if _, err := s.files[0].Put(t.Context(), []document.Entry{entry(t, "test:a", "text")}); !errors.Is(err, ErrSet) {
		t.Errorf("put into one file of a set: %v", err)
	}
}

func TestOwnersTablesLiveBesideOurs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.db")
	const schema = "CREATE TABLE IF NOT EXISTS frontier (url TEXT PRIMARY KEY, depth INTEGER) STRICT"
	for i := range 2 {
		f, err := OpenFile(path, KindPrivate, schema)
		if err != nil {
			t.Fatal(err)
		}
		err = f.Write(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.Exec("INSERT INTO frontier VALUES (?, ?)", fmt.Sprint(i), i)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		failed := errors.New("changed my mind")
		err = f.Write(t.Context(), func(tx *sql.Tx) error {
			if _, err := tx.Exec("DELETE FROM frontier"); err != nil {
				return err
			}
			return failed
		})
		if !errors.Is(err, failed) {
			t.Errorf("write returned %v", err)
		}
		var n int
		if err := f.Reader().QueryRow("SELECT count(*) FROM frontier").Scan(&n); err != nil || n != i+1 {
			t.Errorf("%d rows, %v; want %d", n, err, i+1)
		}
		mustCheck(t, f)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	f, err := OpenForeign(path)
	if err != nil {
		t.Fatalf("the owner's own file cannot be searched alone: %v", err)
	}
	f.Close()
}
