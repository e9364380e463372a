package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"arborist/daemon/api"
	"arborist/document"
	"arborist/shard"
)

// donorFile makes a shard file as somebody would hand it over.
func donorFile(t testing.TB, kind shard.Kind, texts ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "donor.db")
	writeDonor(t, path, kind, texts...)
	return path
}

func writeDonor(t testing.TB, path string, kind shard.Kind, texts ...string) {
	// A private file takes documents without a set; its kind is changed then.
	f, err := shard.OpenFile(path, shard.KindPrivate, "")
	if err != nil {
		t.Fatal(err)
	}
	var entries []document.Entry
	for i, text := range texts {
		d, err := document.New([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, document.Entry{Document: d, Location: document.Location{
			URI: fmt.Sprintf("test:%s/%d", filepath.Base(path), i), Source: "test", FetchedAt: time.Unix(1_700_000_000, 0).UTC(), ContentType: "text/plain", Extractor: "plain/1",
		}})
	}
	if _, err := f.Put(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if kind == shard.KindShared {
		raw, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		if _, err := raw.WriteAt([]byte{byte(kind >> 24), byte(kind >> 16), byte(kind >> 8), byte(kind)}, 68); err != nil {
			t.Fatal(err)
		}
	}
}

// hits returns what a query finds, as "source text".
func hits(t *testing.T, n *Node, text string) (all []string, refused int) {
	t.Helper()
	res, err := n.Query(t.Context(), api.QueryRequest{Text: text, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range res.Hits {
		all = append(all, h.Source+" "+h.Text)
	}
	return all, len(res.Refused)
}

func mustFind(t *testing.T, n *Node, text string, want ...string) {
	t.Helper()
	if got, refused := hits(t, n, text); fmt.Sprint(got) != fmt.Sprint(want) || refused != 0 {
		t.Errorf("%q: found %q, %d refused; want %q", text, got, refused, want)
	}
}

func TestAnAttachedFileIsSearchedUntilItIsDetached(t *testing.T) {
	home := newHome(t)
	n := openNode(t, home)
	for _, kind := range []shard.Kind{shard.KindShared, shard.KindPrivate} {
		path := donorFile(t, kind, "The marten of the mountain.", "A river.")
		res, err := n.Attach(t.Context(), path)
		if err != nil || !res.New || res.Replaced || res.Documents != 2 || res.Chunks != 2 || res.Kind != kind.String() {
			t.Fatalf("%+v, %v", res, err)
		}
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		for range 2 { // at once, and after the home was opened again
			mustFind(t, n, "marten", "file The marten of the mountain.")
			q, err := n.Query(t.Context(), api.QueryRequest{Text: "marten"})
			if err != nil {
				t.Fatal(err)
			}
			root := q.Hits[0].Root
			if text, err := n.Text(t.Context(), root); err != nil || string(text) != "The marten of the mountain." {
				t.Errorf("text %q, %v", text, err)
			}
			if p, err := n.Prove(t.Context(), api.ProveRequest{Root: root}); err != nil || p.Text == "" {
				t.Errorf("proof %+v, %v", p, err)
			}
			if s, err := n.Show(t.Context(), root.String()); err != nil || s.Source != "file" || len(s.Locations) != 1 {
				t.Errorf("show %+v, %v", s, err)
			}
			// A corpus and a file of its own are searched alone.
			if q, err := n.Query(t.Context(), api.QueryRequest{Text: "marten", Corpus: MainCorpus}); err != nil || q.Total != 0 {
				t.Errorf("in a corpus: %+v, %v", q, err)
			}
			if s, err := n.Status(t.Context()); err != nil || !s.Healthy || len(s.Attached) != 1 || s.Attached[0] != res.AttachedFile {
				t.Errorf("status %+v, %v", s, err)
			}
			if c, err := n.Check(t.Context()); err != nil || c.Documents != 2 || len(c.Problems) != 0 {
				t.Errorf("check %+v, %v", c, err)
			}
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
			n = openNode(t, home)
		}
		if _, err := n.Detach(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		mustFind(t, n, "marten")
		if _, err := n.Detach(t.Context(), path); api.AsError(err).Code != api.CodeNotFound {
			t.Errorf("detached twice: %v", err)
		}
		mustHold(t, home, "list.json")
	}
}

// mustHold demands what is in the folder of attached files.
func mustHold(t *testing.T, home Home, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(home.Attached())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("attached/ holds %q, want %q", got, want)
	}
}

func TestAttachingAgainTakesWhatTheFileHoldsNow(t *testing.T) {
	home := newHome(t)
	n := openNode(t, home)
	path := donorFile(t, shard.KindShared, "one marten")
	first, err := n.Attach(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	mustFind(t, n, "marten", "file one marten")
	if again, err := n.Attach(t.Context(), path); err != nil || again.New || again.Replaced || again.Name != first.Name {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	mustFind(t, n, "marten", "file one marten")
	twin := filepath.Join(t.TempDir(), "twin.db")
	if b, err := os.ReadFile(path); err != nil {
		t.Fatal(err)
	} else {
		writeFile(t, twin, string(b))
	}
	if same, err := n.Attach(t.Context(), twin); err != nil || same.New || same.SameAs != path || same.Path != twin || same.Name != first.Name {
		t.Errorf("the same bytes elsewhere: %+v, %v", same, err)
	}
	if s, err := n.Status(t.Context()); err != nil || len(s.Attached) != 1 || s.Attached[0].Path != path {
		t.Errorf("after the same bytes: %+v, %v", s.Attached, err)
	}
	mustFind(t, n, "marten", "file one marten")
	os.Remove(path)
	writeDonor(t, path, shard.KindShared, "another marten")
	other, err := n.Attach(t.Context(), path)
	if err != nil || other.New || !other.Replaced || other.Name == first.Name {
		t.Errorf("another: %+v, %v", other, err)
	}
	mustFind(t, n, "marten", "file another marten")
	mustHold(t, home, other.Name, "list.json")
	// What held other bytes, and holds those of another now, is that one.
	if _, err := n.Attach(t.Context(), twin); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil {
		t.Fatal(err)
	} else {
		writeFile(t, twin, string(b))
	}
	if same, err := n.Attach(t.Context(), twin); err != nil || !same.Replaced || same.SameAs != path {
		t.Errorf("other bytes, and those of another path: %+v, %v", same, err)
	}
	mustHold(t, home, other.Name, "list.json")
	if _, err := n.Detach(t.Context(), other.Name); err != nil {
		t.Error(err)
	}
}

// TestWhatIsRefusedIsNotAttached: a reason each, soon, and the rest answers.
func TestWhatIsRefusedIsNotAttached(t *testing.T) {
	home := newHome(t)
	n := openNode(t, home)
	good := donorFile(t, shard.KindShared, "one marten")
	if _, err := n.Attach(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	link, text, flipped := filepath.Join(dir, "link.db"), filepath.Join(dir, "text.db"), filepath.Join(dir, "flipped.db")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	writeFile(t, text, strings.Repeat("no database ", 100))
	writeDonor(t, flipped, shard.KindShared, "The marten is here for sure.")
	b, err := os.ReadFile(flipped)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, flipped, strings.Replace(string(b), "for sure", "for hire", 1))
	for path, want := range map[string]api.Code{
		link: api.CodeDenied, text: api.CodeInvalid, flipped: api.CodeInvalid, dir: api.CodeDenied, dir + "/none.db": api.CodeNotFound,
		"relative.db": api.CodeUsage, filepath.Join(home.Shards(), "00.db"): api.CodeUsage,
	} {
		if res, err := n.Attach(t.Context(), path); api.AsError(err).Code != want {
			t.Errorf("%s: %+v, %v; want %s", path, res, err, want)
		}
	}
	n.cfg.Attach.MaxBytes = 4096
	if _, err := n.Attach(t.Context(), good); api.AsError(err).Code != api.CodeUsage {
		t.Errorf("over max_bytes: %v", err)
	}
	mustFind(t, n, "marten", "file one marten")
	if s, err := n.Status(t.Context()); err != nil || len(s.Attached) != 1 || !s.Healthy {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestACopyThatIsDamagedLaterIsSaidAndTheOthersAnswer
func TestACopyThatIsDamagedLaterIsSaidAndTheOthersAnswer(t *testing.T) {
	home := newHome(t)
	n := openNode(t, home)
	var names []string
	for _, text := range []string{"one marten", "two martens"} {
		res, err := n.Attach(t.Context(), donorFile(t, shard.KindShared, text))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, res.Name)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(home.Attached(), names[0]), 5000); err != nil {
		t.Fatal(err)
	}
	n = openNode(t, home)
	if got, refused := hits(t, n, "marten"); fmt.Sprint(got) != "[file two martens]" || refused != 1 {
		t.Errorf("%q, %d refused", got, refused)
	}
	if s, err := n.Status(t.Context()); err != nil || s.Healthy || len(s.Problems) != 1 || !strings.Contains(s.Problems[0], "arborist detach") {
		t.Errorf("%+v, %v", s, err)
	}
	if c, err := n.Check(t.Context()); err != nil || len(c.Problems) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := n.Detach(t.Context(), names[0]); err != nil {
		t.Error(err)
	}
	mustFind(t, n, "marten", "file two martens")
}

// TestWhatAnAttachCutShortLeftIsSwept, and a list that cannot be read keeps
// nothing else from working and loses nothing.
func TestWhatAnAttachCutShortLeftIsSwept(t *testing.T) {
	home := newHome(t)
	n := openNode(t, home)
	res, err := n.Attach(t.Context(), donorFile(t, shard.KindShared, "one marten"))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ABCDEFGHIJKL.new", "ABCDEFGHIJKL.new-wal", strings.Repeat("0a", 16) + ".db", "mine.txt"} {
		writeFile(t, filepath.Join(home.Attached(), name), "left")
	}
	n = openNode(t, home)
	mustHold(t, home, res.Name, "list.json", "mine.txt")
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(home.Attached(), "list.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "{", `{"format":2,"files":[]}`, `{"format":1,"files":[{"name":"../shards/00.db"}]}`, `{"format":1,"more":1}`} {
		writeFile(t, filepath.Join(home.Attached(), "list.json"), bad)
		n = openNode(t, home)
		mustFind(t, n, "marten")
		if s, err := n.Status(t.Context()); err != nil || s.Healthy || len(s.Problems) != 1 {
			t.Errorf("%q: %+v, %v", bad, s, err)
		}
		if _, err := n.Attach(t.Context(), donorFile(t, shard.KindShared, "x y")); api.AsError(err).Code != api.CodeInvalid {
			t.Errorf("%q: attach: %v", bad, err)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(home.Attached(), "list.json"), string(list))
	mustFind(t, openNode(t, home), "marten", "file one marten")
}

// TestQueriesGoOnWhileFilesComeAndGo
func TestQueriesGoOnWhileFilesComeAndGo(t *testing.T) {
	n := openNode(t, newHome(t))
	if _, err := n.Attach(t.Context(), donorFile(t, shard.KindShared, "the marten that stays")); err != nil {
		t.Fatal(err)
	}
	goes := donorFile(t, shard.KindPrivate, "one more marten")
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for ctx.Err() == nil {
				res, err := n.Query(t.Context(), api.QueryRequest{Text: "marten"})
				if err != nil || len(res.Refused) > 0 || res.Total < 1 || res.Total > 2 {
					t.Errorf("%+v, %v", res, err)
					return
				}
			}
		})
	}
	for range 8 {
		if _, err := n.Attach(t.Context(), goes); err != nil {
			t.Error(err)
		}
		if _, err := n.Detach(t.Context(), goes); err != nil {
			t.Error(err)
		}
	}
	stop()
	wg.Wait()
	mustFind(t, n, "marten", "file the marten that stays")
}

// TestHundredsOfAttachedFilesAnswerWithinBounds: SQLite itself could attach ten.
func TestHundredsOfAttachedFilesAnswerWithinBounds(t *testing.T) {
	const files = 300
	home := newHome(t)
	n := openNode(t, home)
	dir, attached := t.TempDir(), mustMake(t, home.Attached())
	list := make([]api.AttachedFile, files)
	var made sync.WaitGroup
	for worker := range 20 { // most of the time is waiting for the disk
		made.Go(func() {
			for i := worker; i < files; i += 20 {
				path := filepath.Join(dir, fmt.Sprintf("%d.db", i))
				writeDonor(t, path, shard.KindShared, fmt.Sprintf("The marten number%d of the mountain.", i), fmt.Sprintf("River number%d.", i))
				a, err := shard.Adopt(t.Context(), path, attached, 1<<30)
				if err != nil {
					t.Error(err)
				}
				list[i] = api.AttachedFile{Name: a.Name, Path: path}
			}
		})
	}
	made.Wait()
	if err := n.attached.replace(list); err != nil {
		t.Fatal(err)
	}
	handles, memory := openHandles(t), heap()
	start := time.Now()
	mustFind(t, n, "number17 marten", "file The marten number17 of the mountain.")
	first := time.Since(start)
	start = time.Now()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			res, err := n.Query(t.Context(), api.QueryRequest{Text: "marten mountain", Limit: 1000})
			if err != nil || res.Total != files || len(res.Hits) != files || len(res.Refused) != 0 {
				t.Errorf("query %d: %d of %d found, %v", i, res.Total, files, err)
			}
		})
	}
	wg.Wait()
	eight := time.Since(start)
	used, grown := openHandles(t)-handles, heap()-memory
	t.Logf("%d files: first query %s, then 8 at once %s; %d handles, heap +%d KiB", files, first, eight, used, grown>>10)
	if used > 2*files+20 || grown > 200<<20 {
		t.Errorf("%d handles, heap grew by %d bytes", used, grown)
	}
}

func mustMake(t *testing.T, dir string) string {
	t.Helper()
	if err := shard.MakeFolder(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func openHandles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
