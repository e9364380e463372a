package crawldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"arborist/crawl/internal/frontier"
	"arborist/crawl/internal/frontier/frontiertest"
	"arborist/document"
	"arborist/ingest"
	"arborist/shard"
)

const seed = "http://h/"

func open(t testing.TB, path string) *DB {
	t.Helper()
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func begin(t testing.TB, db *DB, seed string) *Crawl {
	t.Helper()
	c, err := db.Begin(t.Context(), []string{seed}, 2)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCrawlKeepsThePromisesOfAFrontier(t *testing.T) {
	frontiertest.Run(t, func(t *testing.T) frontiertest.Frontier {
		return begin(t, open(t, filepath.Join(t.TempDir(), "web.db")), frontiertest.Seed)
	})
}

func TestCrawlsInOneFileDoNotMix(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "web.db"))
	other := begin(t, db, "http://other/")
	if err := other.Add(t.Context(), []frontier.Link{{URL: "http://other/"}, {URL: "http://other/x"}}); err != nil {
		t.Fatal(err)
	}
	frontiertest.Run(t, func(t *testing.T) frontiertest.Frontier {
		c := begin(t, db, frontiertest.Seed)
		t.Cleanup(c.Release)
		return c
	})
	entries, err := other.Waiting(t.Context(), "http://other", 0, 0, 10)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

func page(url, body string) *ingest.Raw {
	return &ingest.Raw{Body: []byte(body), Location: document.Location{
		URI: url, Source: "crawl", FetchedAt: time.Unix(1700000000, 0).UTC(),
		ContentType: "text/html", Status: 200, ETag: `"e"`, Modified: "m",
	}}
}

// fetched settles one page as fetched.
func fetched(t testing.TB, c *Crawl, raw *ingest.Raw, links ...frontier.Link) {
	t.Helper()
	if err := c.Add(t.Context(), []frontier.Link{{URL: raw.Location.URI}}); err != nil {
		t.Fatal(err)
	}
	entries, err := c.Waiting(t.Context(), "http://h", 0, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(entries, func(e frontier.Entry) bool { return e.URL == raw.Location.URI })
	err = c.Settle(t.Context(), []frontier.Outcome{{Entry: entries[i], State: frontier.Fetched, Status: 200, Links: links, Page: raw}})
	if err != nil {
		t.Fatal(err)
	}
}

func unstored(t testing.TB, c *Crawl) []ingest.Raw {
	t.Helper()
	var out []ingest.Raw
	if err := c.Unstored(t.Context(), func(r ingest.Raw) error { out = append(out, r); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

func entry(t testing.TB, raw *ingest.Raw, text string) document.Entry {
	t.Helper()
	d, err := document.New([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return document.Entry{Document: d, Location: raw.Location}
}

func states(t testing.TB, c *Crawl) map[string]frontier.State {
	t.Helper()
	out := map[string]frontier.State{}
	err := c.Recall(t.Context(), func(o frontier.Outcome) error { out[o.Entry.URL] = o.State; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAPageIsKeptUntilItsDocumentIsStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.db")
	db := open(t, path)
	c := begin(t, db, seed)
	a, b := page("http://h/a", "<p>a"), page("http://h/b", "")
	fetched(t, c, a)
	fetched(t, c, b)

	// The process dies here.
	db.Close()
	db = open(t, path)
	c, err := db.Resume(t.Context(), []string{seed}, 2)
	if err != nil {
		t.Fatal(err)
	}
	got := unstored(t, c)
	if len(got) != 2 || string(got[0].Body) != "<p>a" || got[0].Location != a.Location || got[1].Location != b.Location || len(got[1].Body) != 0 {
		t.Fatalf("handed on: %+v", got)
	}
	if _, err := db.Put(t.Context(), []document.Entry{entry(t, a, "a")}); err != nil {
		t.Fatal(err)
	}
	if s := states(t, c); s["http://h/a"] != frontier.Done || s["http://h/b"] != frontier.Fetched {
		t.Errorf("states %v", s)
	}
	if got := setApart(t, c, 9); len(got) != 1 || got[0] != "http://h/b" {
		t.Errorf("handed on: %+v", got)
	}
	if err := db.Unreadable(t.Context(), []string{"http://h/b", "http://h/none"}); err != nil {
		t.Fatal(err)
	}
	if got := unstored(t, c); len(got) != 0 {
		t.Errorf("handed on: %+v", got)
	}
	if s := states(t, c); s["http://h/b"] != frontier.Done {
		t.Errorf("states %v", s)
	}
}

// setApart takes up to n of the pages that Unstored leaves.
func setApart(t testing.TB, c *Crawl, n int) (urls []string) {
	t.Helper()
	full := errors.New("full")
	err := c.SetApart(t.Context(), func(r ingest.Raw) error {
		if urls = append(urls, r.Location.URI); len(urls) == n {
			return full
		}
		return nil
	})
	if err != nil && err != full {
		t.Fatal(err)
	}
	return urls
}

func TestAPageIsNeverGivenUpBecauseTheProgramEnded(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "web.db"))
	c := begin(t, db, seed)
	fetched(t, c, page("http://h/bomb", "x"))
	fetched(t, c, page("http://h/good", "y"))
	if got := unstored(t, c); len(got) != 2 {
		t.Fatalf("handed on first: %+v", got)
	}
	// The program ends again and again while one page is in hand: each has its
	// turn, and neither is lost.
	for i := range 40 {
		if got := unstored(t, c); len(got) != 0 {
			t.Fatalf("handed on before the rest of the crawl: %+v", got)
		}
		want := []string{"http://h/bomb", "http://h/good"}[i%2]
		if got := setApart(t, c, 1); len(got) != 1 || got[0] != want {
			t.Fatalf("end %d: %q was handed on, want %q", i, got, want)
		}
	}
	if s := states(t, c); s["http://h/bomb"] != frontier.Fetched || s["http://h/good"] != frontier.Fetched {
		t.Errorf("states %v", s)
	}
	// After a run that ends in good order no page is under suspicion.
	c.Release()
	if got := unstored(t, c); len(got) != 2 {
		t.Errorf("handed on after a good end: %+v", got)
	}
}

func TestBeginForgetsAndResumeRemembers(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "web.db"))
	if _, err := db.Resume(t.Context(), []string{seed}, 2); !errors.Is(err, ErrNoCrawl) {
		t.Errorf("resume of nothing: %v", err)
	}
	c := begin(t, db, seed)
	if _, err := db.Begin(t.Context(), []string{seed}, 2); !errors.Is(err, ErrBusy) {
		t.Errorf("twice at once: %v", err)
	}
	fetched(t, c, page("http://h/a", "x"), frontier.Link{URL: "http://h/l", Depth: 1})
	c.Release()
	if _, err := db.Resume(t.Context(), []string{seed}, 3); !errors.Is(err, ErrDepth) {
		t.Errorf("other depth: %v", err)
	}
	c, err := db.Resume(t.Context(), []string{seed}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if e, _ := c.Waiting(t.Context(), "http://h", 1, 0, 9); len(e) != 1 || len(states(t, c)) != 1 {
		t.Errorf("resumed with %v waiting, %v settled", e, states(t, c))
	}
	c.Release()
	c = begin(t, db, seed)
	if e, _ := c.Waiting(t.Context(), "http://h", 1, 0, 9); len(e) != 0 || len(states(t, c)) != 0 || len(unstored(t, c)) != 0 {
		t.Errorf("begun with %v waiting, %v settled", e, states(t, c))
	}
}

func TestAFailedTransactionLeavesNothingKnown(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "web.db"))
	c := begin(t, db, seed)
	if err := c.Add(t.Context(), []frontier.Link{{URL: "http://h/a"}, {URL: "http://h/b"}}); err != nil {
		t.Fatal(err)
	}
	e, err := c.Waiting(t.Context(), "http://h", 0, 0, 9)
	if err != nil {
		t.Fatal(err)
	}
	if e[0].URL == seed {
		e = e[1:]
	}
	good := frontier.Outcome{Entry: e[0], State: frontier.Fetched, Page: page("http://h/a", "x"), Links: []frontier.Link{{URL: "http://h/x", Depth: 1}}}
	// The second page has the same place in the spool as an existing row.
	if err := db.file.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO spool VALUES (?, 'z', 0, 0, '', 0, '', '', x'')", e[1].ID)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	bad := frontier.Outcome{Entry: e[1], State: frontier.Fetched, Page: page("http://h/b", "x")}
	if err := c.Settle(t.Context(), []frontier.Outcome{good, bad}); err == nil {
		t.Fatal("no error")
	}
	if s := states(t, c); len(s) != 0 {
		t.Errorf("half a transaction: %v", s)
	}
	if err := c.Settle(t.Context(), []frontier.Outcome{good}); err != nil {
		t.Fatal(err)
	}
	if e, _ := c.Waiting(t.Context(), "http://h", 1, 0, 9); len(e) != 1 {
		t.Errorf("the link of the page is lost: %v", e)
	}
}

func TestPrivateFilesAreTheirOwnersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "crawl")
	path := filepath.Join(dir, "web.db")
	db := open(t, path)
	fetched(t, begin(t, db, seed), page("http://h/a", "x")) // makes the log
	for _, name := range []string{dir, path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if perm := info.Mode().Perm(); perm&0o077 != 0 {
			t.Errorf("%s has mode %o", name, perm)
		}
	}
	db.Close()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, path)
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode stays %o", info.Mode().Perm())
	}
}

func TestThePrivateFileIsNoSharedOne(t *testing.T) {
	dir := t.TempDir()
	if err := shard.CreateShared(dir, 1); err != nil {
		t.Fatal(err)
	}
	shared, err := filepath.Glob(filepath.Join(dir, "*.db"))
	if err != nil || len(shared) == 0 {
		t.Fatal(shared, err)
	}
	private := filepath.Join(t.TempDir(), "web.db")
	open(t, private).Close()
	data, err := os.ReadFile(private)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(shared[0]); !errors.Is(err, shard.ErrKind) {
		t.Errorf("a shared file opened as the crawl db: %v", err)
	}
	if err := os.WriteFile(shared[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := shard.OpenShared(dir); !errors.Is(err, shard.ErrKind) {
		t.Errorf("the crawl db opened as shared: %v, %v", s, err)
	}
}

func TestANewerFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.db")
	db := open(t, path)
	if err := db.file.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec("UPDATE crawl_format SET version = 99")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if _, err := Open(path); !errors.Is(err, shard.ErrNewer) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
}

func TestRecentNeverClaimsWhatItWasNotTold(t *testing.T) {
	r := newRecent()
	for i := range 3 * recentHalf {
		url := fmt.Sprintf("http://h/%d", i)
		if r.has(url, 3) {
			t.Fatalf("%s is known before it was added", url)
		}
		r.add(url, 3)
		if r.has(url, 2) {
			t.Fatal("known at a depth at which it was not found")
		}
		if !r.has(url, 3) || !r.has(url, 4) {
			t.Fatalf("%s is forgotten at once", url)
		}
	}
	if n := len(r.newer) + len(r.older); n > 2*recentHalf {
		t.Errorf("it holds %d addresses", n)
	}
}

func BenchmarkSettlePage(b *testing.B) {
	db := open(b, filepath.Join(b.TempDir(), "web.db"))
	c := begin(b, db, seed)
	ctx := context.Background()
	body := []byte(strings.Repeat("text of a page ", 2000))
	for i := 0; b.Loop(); i++ {
		url := fmt.Sprintf("http://h/%d", i)
		if err := c.Add(ctx, []frontier.Link{{URL: url}}); err != nil {
			b.Fatal(err)
		}
		e, err := c.Waiting(ctx, "http://h", 0, int64(0), 1)
		if err != nil {
			b.Fatal(err)
		}
		o := frontier.Outcome{Entry: e[0], State: frontier.Fetched, Page: &ingest.Raw{Body: body, Location: document.Location{URI: url}}}
		for l := range 100 {
			o.Links = append(o.Links, frontier.Link{URL: fmt.Sprintf("http://h/l%d", (i+l)%1000), Depth: 1})
		}
		if err := c.Settle(ctx, []frontier.Outcome{o}); err != nil {
			b.Fatal(err)
		}
		if err := db.stored(ctx, []string{url}); err != nil {
			b.Fatal(err)
		}
	}
}

// A page out of an archive says nothing of the page that waits to be stored, nor of
// whether the site has it still.
func TestARecordedPageTouchesNoCrawl(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "web.db"))
	c := begin(t, db, seed)
	waiting, gone := page("http://h/waiting", "<p>now"), page("http://h/gone", "<p>was")
	if _, err := db.Put(t.Context(), []document.Entry{entry(t, gone, "was")}); err != nil {
		t.Fatal(err)
	}
	if n, err := db.MarkGone(t.Context(), []Check{{URL: gone.Location.URI, At: time.Unix(1700000100, 0)}}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	fetched(t, c, waiting)
	for _, raw := range []*ingest.Raw{waiting, gone} {
		e := entry(t, raw, "as it was recorded")
		e.Location.Source, e.Recorded = "warc", true
		if _, err := db.Put(t.Context(), []document.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	if left := unstored(t, c); len(left) != 1 || states(t, c)[waiting.Location.URI] != frontier.Fetched {
		t.Errorf("%d pages wait to be stored, want 1; %v", len(left), states(t, c))
	}
	if _, is, err := db.GoneSince(t.Context(), gone.Location.URI); !is || err != nil {
		t.Errorf("the mark of a page that is gone went: %v", err)
	}
}
