package crawl

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"arborist/document"
	"arborist/ingest"
	"arborist/internal/arbtest/site"
)

func openPrivate(t testing.TB, path string) *Private {
	t.Helper()
	p, err := OpenPrivate(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// into crawls a site into a store, fast.
func into(t testing.TB, ctx context.Context, p *Private, cfg Config) (Report, ingest.Report, error) {
	t.Helper()
	cfg.Store, cfg.Fast, cfg.AllowNets = p, true, loopback
	c, err := New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Ingest(ctx, ingest.Config{}, nil)
}

// contents is a fingerprint of the tables that hold documents.
func contents(t testing.TB, p *Private) string {
	t.Helper()
	h := sha256.New()
	for _, table := range []string{"state", "documents", "leaves", "texts", "origins", "locations", "segments", "postings"} {
		rows, err := p.File().Reader().Query("SELECT * FROM " + table)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				fmt.Fprintf(h, "%v|", *v.(*any))
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// currentURIs gives the paths whose documents are current, sorted.
func currentURIs(t testing.TB, p *Private) []string {
	t.Helper()
	rows, err := p.File().Reader().Query("SELECT uri FROM locations WHERE current = 1")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var uri string
		if err := rows.Scan(&uri); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(uri, "://")
		out = append(out, rest[strings.IndexByte(rest, '/'):])
	}
	return sorted(out)
}

// spooled counts the pages whose bytes are kept.
func spooled(t testing.TB, p *Private) (n int) {
	t.Helper()
	if err := p.File().Reader().QueryRow("SELECT count(*) FROM spool").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAnUnchangedRecrawlWritesNoDocument(t *testing.T) {
	s := siteOfAll()
	seed := s.Start(t) + "/"
	p := openPrivate(t, filepath.Join(t.TempDir(), "crawl", "web.db"))
	report, stored, err := into(t, t.Context(), p, Config{Seed: seed, Depth: 3})
	if err != nil || report.Pages != 12 || stored.Documents != 12 || stored.New != 12 {
		t.Fatalf("%+v, %+v, %v", report, stored, err)
	}
	before := contents(t, p)
	if report, stored, err = into(t, t.Context(), p, Config{Seed: seed, Depth: 3}); err != nil || report.Pages != 12 || stored.Unchanged != 12 {
		t.Fatalf("%+v, %+v, %v", report, stored, err)
	}
	if contents(t, p) != before {
		t.Error("documents were written")
	}
	s.Set("/b/c", site.Links("changed"))
	if _, stored, err = into(t, t.Context(), p, Config{Seed: seed, Depth: 3}); err != nil || stored.Unchanged != 11 || stored.Superseded != 1 {
		t.Fatalf("%+v, %v", stored, err)
	}
	history, err := p.File().History(t.Context(), strings.TrimSuffix(seed, "/")+"/b/c")
	if err != nil || len(history) != 2 {
		t.Errorf("%+v, %v", history, err)
	}
	if n := spooled(t, p); n != 0 {
		t.Errorf("%d pages are kept after the crawl", n)
	}
}

func TestAddedDocumentsTouchNoCrawl(t *testing.T) {
	p := openPrivate(t, filepath.Join(t.TempDir(), "web.db"))
	d, err := document.New([]byte("some text"))
	if err != nil {
		t.Fatal(err)
	}
	e := document.Entry{Document: d, Location: document.Location{URI: "file:x/a.md", Source: "directory"}}
	for i, want := range []document.Outcome{{New: true}, {Unchanged: true}} {
		got, err := p.Put(t.Context(), []document.Entry{e})
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("put %d: %+v, %v", i, got, err)
		}
	}
}

func TestPagesThatAreNoDocumentsAreSettled(t *testing.T) {
	s := site.New(map[string]site.Page{
		"/": site.Links("home", "/empty", "/binary"), "/empty": {Body: "  "}, "/binary": {Type: "text/plain", Body: "\x00\x01\x02"},
	})
	seed := s.Start(t) + "/"
	p := openPrivate(t, filepath.Join(t.TempDir(), "web.db"))
	report, stored, err := into(t, t.Context(), p, Config{Seed: seed, Depth: 1})
	if err != nil || report.Pages != 3 || stored.Documents != 1 || len(stored.Failed) != 2 {
		t.Fatalf("%+v, %+v, %v", report, stored, err)
	}
	if n := spooled(t, p); n != 0 {
		t.Errorf("%d pages are kept", n)
	}
	s.Forget()
	report, stored, err = into(t, t.Context(), p, Config{Seed: seed, Depth: 1, Resume: true})
	if err != nil || report.Pages != 3 || report.Earlier != 3 || stored.Documents != 0 || len(s.Hits()) != 0 {
		t.Errorf("a finished crawl, resumed: %+v, %+v, %v, requests %q", report, stored, err, s.Targets())
	}
}

func TestResumeNeedsTheSameCrawl(t *testing.T) {
	s := siteOfAll()
	seed := s.Start(t) + "/"
	p := openPrivate(t, filepath.Join(t.TempDir(), "web.db"))
	if _, _, err := into(t, t.Context(), p, Config{Seed: seed, Depth: 1, Resume: true}); !errors.Is(err, ErrNothingToResume) || !strings.Contains(err.Error(), "without --resume") {
		t.Errorf("%v", err)
	}
	if _, _, err := into(t, t.Context(), p, Config{Seed: seed, Depth: 1}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := into(t, t.Context(), p, Config{Seed: seed, Depth: 2, Resume: true}); !errors.Is(err, ErrOtherCrawl) || !strings.Contains(err.Error(), "--depth") {
		t.Errorf("%v", err)
	}
	if got := crawl(t, t.Context(), Config{Seed: seed, Resume: true}, nil); !errors.Is(got.err, ErrNothingToResume) {
		t.Errorf("%v", got.err)
	}
}

func TestASeedIsCrawledOnceAtATime(t *testing.T) {
	s := siteOfAll()
	seed := s.Start(t) + "/"
	p := openPrivate(t, filepath.Join(t.TempDir(), "web.db"))
	inside := errors.New("inside")
	c, err := New(Config{Seed: seed, Depth: 1, Fast: true, Store: p, AllowNets: loopback}, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Documents(t.Context(), func(ingest.Raw) error {
		_, _, err := into(t, t.Context(), p, Config{Seed: seed, Depth: 1})
		if !errors.Is(err, ErrBusy) {
			t.Errorf("%v", err)
		}
		return inside
	}, nil)
	if !errors.Is(err, inside) {
		t.Fatal(err)
	}
	if _, _, err := into(t, t.Context(), p, Config{Seed: seed, Depth: 1}); err != nil {
		t.Errorf("after the first ended: %v", err)
	}
}

// tree is a site of pages that are reached one from the other.
func tree(n int) *site.Site {
	return byPath(func(target string) site.Page {
		var i int
		if target != "/" {
			if _, err := fmt.Sscanf(target, "/p%d", &i); err != nil || i >= n {
				return site.Page{Status: http.StatusNotFound}
			}
		}
		var hrefs []string
		for _, j := range []int{2*i + 1, 2*i + 2} {
			if j < n {
				hrefs = append(hrefs, fmt.Sprintf("/p%d", j))
			}
		}
		return site.Links(fmt.Sprint("leaf ", i*i), hrefs...) // unlike any other, or they would be a soft 404
	})
}

func treePaths(n int) []string {
	out := []string{"/"}
	for i := 1; i < n; i++ {
		out = append(out, fmt.Sprintf("/p%d", i))
	}
	return sorted(out)
}

func TestACrawlInPiecesFetchesNothingTwiceAndForgetsNothing(t *testing.T) {
	const pages = 40
	for _, cut := range []string{"page cap", "cancelled", "store fails"} {
		t.Run(cut, func(t *testing.T) {
			s := tree(pages)
			seed := s.Start(t) + "/"
			path := filepath.Join(t.TempDir(), "web.db")
			for piece := 1; ; piece++ {
				if piece > 40 {
					t.Fatal("it does not come to an end")
				}
				p := openPrivate(t, path)
				cfg := Config{Seed: seed, Depth: 99, Resume: piece > 1}
				ctx, cancel := context.WithCancel(t.Context())
				seen := 0
				switch cut {
				case "page cap":
					cfg.MaxPages = 7 * piece
				case "cancelled":
					cfg.Visit = func(Visit) {
						if seen++; seen == 5 {
							cancel()
						}
					}
				}
				var report Report
				var err error
				if cut == "store fails" {
					report, err = brokenPipe(t, ctx, p, cfg, 5)
				} else {
					report, _, err = into(t, ctx, p, cfg)
				}
				cancel()
				p.Close()
				if err == nil && !report.Capped {
					if report.Pages != pages {
						t.Errorf("the report of the whole crawl says %d pages", report.Pages)
					}
					break
				}
			}
			for target, n := range counts(s.Targets()) {
				if n > 1 && target != robotsTxt {
					t.Errorf("%s was requested %d times", target, n)
				}
			}
			equal(t, "documents", currentURIs(t, openPrivate(t, path)), treePaths(pages))
		})
	}
}

// brokenPipe stores n pages and then fails, with pages on their way.
func brokenPipe(t testing.TB, ctx context.Context, p *Private, cfg Config, n int) (Report, error) {
	cfg.Store, cfg.Fast, cfg.AllowNets = p, true, loopback
	c, err := New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = ingest.Run(ctx, c, failingSink{p, &n}, ingest.Config{Batch: 3}, nil)
	return c.Report(), err
}

type failingSink struct {
	*Private
	left *int
}

func (s failingSink) Store(ctx context.Context, entries []document.Entry) ([]document.Outcome, error) {
	if *s.left -= len(entries); *s.left < 0 {
		return nil, errors.New("disk full")
	}
	return s.Private.Store(ctx, entries)
}

func counts(targets []string) map[string]int {
	out := map[string]int{}
	for _, t := range targets {
		out[t]++
	}
	return out
}

func TestTheGoDocumentationIsCrawledWhole(t *testing.T) {
	root := filepath.Join(goroot(t), "doc")
	if _, err := os.Stat(root); err != nil {
		t.Skip("no Go documentation on this machine")
	}
	s := site.Over(http.FileServer(http.Dir(root)))
	p := openPrivate(t, filepath.Join(t.TempDir(), "web.db"))
	report, stored, err := into(t, t.Context(), p, Config{Seed: s.Start(t) + "/", Depth: 5, Documents: true})
	if err != nil || len(stored.Failed) != 0 {
		t.Fatalf("%+v, %+v, %v", report, stored, err)
	}
	once(t, s)
	var want []string
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil {
			target := strings.TrimPrefix(path, root)
			if d.IsDir() {
				target += "/"
			}
			want = append(want, target)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got := currentURIs(t, p)
	// The files link to pages of the web site that are not in the folder;
	// those answer 404 and are no documents.
	equal(t, "documents", got, sorted(want))
	t.Logf("%d documents, %d chunks, %d bytes; %d broken links", stored.Documents, stored.Chunks, stored.Bytes, report.FailedTotal)
}

func TestCrawlAndPeerKnowNothingOfEachOther(t *testing.T) {
	deps := func(pkg string) []string {
		out, err := exec.Command("go", "list", "-deps", "-tags", "sqlite_fts5", pkg).Output()
		if err != nil {
			return nil // it does not build at the moment, or is not there
		}
		return strings.Fields(string(out))
	}
	for _, pkg := range []string{"arborist/crawl", "arborist/crawl/internal/crawldb"} {
		list := deps(pkg)
		if !slices.Contains(list, "arborist/shard") {
			t.Fatalf("go list -deps %s gave %d packages and no shard", pkg, len(list))
		}
		for _, dep := range list {
			if strings.HasPrefix(dep, "arborist/peer") || strings.HasPrefix(dep, "arborist/daemon") || strings.HasPrefix(dep, "arborist/rag") || strings.Contains(dep, "libp2p") {
				t.Errorf("%s imports %s", pkg, dep)
			}
		}
	}
	for _, dep := range deps("arborist/peer") {
		if strings.HasPrefix(dep, "arborist/crawl") {
			t.Errorf("peer imports %s", dep)
		}
	}
}

// goroot asks the go command for its folder.
func goroot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no go command: ", err)
	}
	return strings.TrimSpace(string(out))
}

// What failed in a way that may pass, or at a limit, is asked for again by the
// next run; what the site said for good is not.
func TestResumeTriesAgainWhatMayHavePassed(t *testing.T) {
	s := site.New(map[string]site.Page{
		"/":     site.Links("home", "/down", "/huge", "/gone", "/no", "/good"),
		"/down": {Status: 500}, "/huge": {Serve: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Length", "99999999")
		}},
		"/gone": {Status: 410}, "/no": {Status: 403}, "/good": site.Links("good"),
	})
	seed := s.Start(t) + "/"
	p := openPrivate(t, filepath.Join(t.TempDir(), "web.db"))
	report, _, err := into(t, t.Context(), p, Config{Seed: seed, Depth: 1, Attempts: 1})
	if err != nil || report.Pages != 2 || report.FailedTotal != 4 {
		t.Fatalf("%+v, %v", report, err)
	}
	s.Forget()
	s.Set("/down", site.Links("up again"))
	s.Set("/huge", site.Links("small"))
	report, stored, err := into(t, t.Context(), p, Config{Seed: seed, Depth: 1, Attempts: 1, Resume: true})
	if err != nil || report.Pages != 4 || report.FailedTotal != 2 || stored.New != 2 {
		t.Errorf("%+v, %v", report, err)
	}
	equal(t, "requests", sorted(s.Targets()), []string{"/down", "/huge", robotsTxt})
}
