package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"arborist/daemon/api"
	"arborist/document"
)

// serve runs a daemon on loopback and returns a client of it. stop ends it and
// returns what Serve returned.
func serve(t *testing.T, home Home) (c *api.Client, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		opts := Options{Home: home, Listen: []string{"/ip4/127.0.0.1/tcp/0"}}
		done <- Serve(ctx, opts, func(*Node) { close(ready) })
	}()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal("daemon did not start: ", err)
	}
	c, err := api.Dial(t.Context(), home.Socket())
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		c.Close()
		cancel()
		return <-done
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return c, stop
}

func TestADaemonSaysOnceWhichCorporaTakeNothing(t *testing.T) {
	home, docs := newHome(t), t.TempDir()
	writeFile(t, filepath.Join(docs, "page.md"), "# Page\n\nGranite.")
	n, err := Open(t.Context(), Options{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.Add(t.Context(), api.AddRequest{Paths: []string{docs}}, nil)
	if err := errors.Join(err, n.Close()); err != nil {
		t.Fatal(err)
	}
	writeFile(t, home.CorpusHead(MainCorpus), "no head\n")
	var said strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	opts := Options{Home: home, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, Log: slog.New(slog.NewTextHandler(&said, nil))}
	if err := Serve(ctx, opts, func(*Node) { cancel() }); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(said.String(), "corpus main takes no documents"); got != 1 {
		t.Errorf("it was said %d times: %s", got, &said)
	}
}

func TestCallsMeanTheSameOverTheSocket(t *testing.T) {
	docs := t.TempDir()
	for i := range 5 {
		writeFile(t, filepath.Join(docs, fmt.Sprintf("p%d.md", i)), fmt.Sprintf("# Page %d\n\nGranite number %d.", i, i))
	}
	writeFile(t, filepath.Join(docs, "empty.md"), "")
	local, remote := openNode(t, newHome(t)), api.Service(nil)
	remote, _ = serve(t, newHome(t))

	ctx := t.Context()
	root := rootOf(t, "# Page 3\n\nGranite number 3.")
	calls := []struct {
		name string
		do   func(api.Service) (any, error)
	}{
		{"add", func(s api.Service) (any, error) { return s.Add(ctx, api.AddRequest{Paths: []string{docs}}, nil) }},
		{"add again", func(s api.Service) (any, error) { return s.Add(ctx, api.AddRequest{Paths: []string{docs}}, nil) }},
		{"add nothing", func(s api.Service) (any, error) { return s.Add(ctx, api.AddRequest{}, nil) }},
		{"add to no corpus", func(s api.Service) (any, error) {
			return s.Add(ctx, api.AddRequest{Paths: []string{docs}, Corpus: "nowhere"}, nil)
		}},
		{"text", func(s api.Service) (any, error) { return s.Text(ctx, root) }},
		{"text of nothing", func(s api.Service) (any, error) { return s.Text(ctx, document.Root{9}) }},
		{"history of nothing", func(s api.Service) (any, error) { return s.History(ctx, "file:nowhere") }},
		{"query of nothing", func(s api.Service) (any, error) { return s.Query(ctx, api.QueryRequest{Text: "..."}) }},
		{"query over the cap", func(s api.Service) (any, error) {
			return s.Query(ctx, api.QueryRequest{Text: strings.Repeat("word ", 20000)})
		}},
		{"query a missing file", func(s api.Service) (any, error) {
			return s.Query(ctx, api.QueryRequest{Text: "x", DB: "/nonexistent.db"})
		}},
		{"prove a missing chunk", func(s api.Service) (any, error) { return s.Prove(ctx, api.ProveRequest{Root: root, Chunk: 9}) }},
		{"crawl a bad seed", func(s api.Service) (any, error) { return s.Crawl(ctx, api.CrawlRequest{SeedURL: "nonsense"}, nil) }},
		{"crawl a private address", func(s api.Service) (any, error) {
			return s.Crawl(ctx, api.CrawlRequest{SeedURL: "http://127.0.0.1/"}, nil)
		}},
		{"join nonsense", func(s api.Service) (any, error) { return s.Join(ctx, "nonsense") }},
		{"sync nothing", func(s api.Service) (any, error) { return s.Sync(ctx, api.SyncRequest{}, nil) }},
		{"corpus as it was", func(s api.Service) (any, error) {
			res, err := s.CorpusAt(ctx, api.CorpusAtRequest{Corpus: "main", Size: 3, Limit: 2, Offset: 1})
			res.Origin = "" // each has its own
			return res, err
		}},
		{"corpus as it never was", func(s api.Service) (any, error) {
			return s.CorpusAt(ctx, api.CorpusAtRequest{Corpus: "main", Size: 99, Limit: 1})
		}},
		{"create a bad corpus", func(s api.Service) (any, error) { return s.CreateCorpus(ctx, "../x") }},
		{"check", func(s api.Service) (any, error) { return s.Check(ctx) }},
	}
	for _, c := range calls {
		want, wantErr := c.do(local)
		got, gotErr := c.do(remote)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v over the socket, %+v without", c.name, got, want)
		}
		if g, w := outside(gotErr), outside(wantErr); g != w {
			t.Errorf("%s: error %q over the socket, %q without", c.name, g, w)
		}
	}
}

// outside is what people and programs see of an error.
func outside(err error) string {
	if err == nil {
		return ""
	}
	e := api.AsError(err)
	return fmt.Sprintf("%s: %s (%s)", e.Code, e.Message, e.Hint)
}

func TestQueryOverTheSocketHasVerifiedHits(t *testing.T) {
	docs := t.TempDir()
	writeFile(t, filepath.Join(docs, "p.md"), "Granite and slate.")
	c, _ := serve(t, newHome(t))
	if _, err := c.Add(t.Context(), api.AddRequest{Paths: []string{docs}}, nil); err != nil {
		t.Fatal(err)
	}
	res, err := c.Query(t.Context(), api.QueryRequest{Text: "granite"})
	if err != nil || len(res.Hits) != 1 || !strings.HasPrefix(res.Hits[0].Proof, "arborist-proof/2\n") {
		t.Fatalf("%+v, %v", res, err)
	}
}

func TestProgressArrivesBeforeTheResult(t *testing.T) {
	docs := t.TempDir()
	for i := range 50 {
		writeFile(t, filepath.Join(docs, fmt.Sprintf("p%d.md", i)), fmt.Sprintf("Page %d.", i))
	}
	c, _ := serve(t, newHome(t))
	var last api.Progress
	res, err := c.Add(t.Context(), api.AddRequest{Paths: []string{docs}}, func(p api.Progress) { last = p })
	if err != nil {
		t.Fatal(err)
	}
	if last.Done != int64(res.Documents) || last.Bytes != res.Bytes {
		t.Errorf("last progress %+v, result %+v", last, res)
	}
}

func TestOneProcessOwnsAHome(t *testing.T) {
	home := newHome(t)
	_, stop := serve(t, home)
	ctx := t.Context()
	_, err := Open(ctx, Options{Home: home})
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeLocked || !strings.Contains(e.Message, fmt.Sprintf("pid %d", os.Getpid())) || !strings.Contains(e.Hint, "arborist daemon") {
		t.Fatalf("second owner: %v", err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	n, err := Open(ctx, Options{Home: home})
	if err != nil {
		t.Fatal("after a clean stop: ", err)
	}
	n.Close()
}

func TestOnlyTheOwnerReachesHomeAndSocket(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	home := newHome(t)
	serve(t, home)
	for path, want := range map[string]os.FileMode{
		string(home): 0o700, home.Socket(): 0o600, home.PeerKey(): 0o600,
		home.CorpusKey(MainCorpus): 0o600, home.Keys(): 0o700, home.CrawlDB(): 0o600,
		filepath.Dir(home.CrawlDB()): 0o700, home.Private(): 0o700,
	} {
		st, err := os.Stat(path)
		if err != nil {
			t.Error(err)
		} else if got := st.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

// TestStopEndsALongCall: a crawl in flight neither holds the daemon up nor
// loses what it had acknowledged.
func TestStopEndsALongCall(t *testing.T) {
	home := newHome(t)
	c, stop := serve(t, home)
	site := endlessSite(t)
	crawled := make(chan error, 1)
	first := make(chan struct{}, 1000)
	go func() {
		_, err := c.Crawl(context.WithoutCancel(t.Context()), api.CrawlRequest{
			SeedURL: site, Depth: 1000, Ingest: true, Fast: true, AllowNet: []string{"127.0.0.0/8"},
		}, func(api.Progress) {
			select {
			case first <- struct{}{}:
			default:
			}
		})
		crawled <- err
	}()
	for range 20 {
		<-first
	}
	start := time.Now()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > stopWait {
		t.Errorf("the stop took %v", took)
	}
	if err := <-crawled; err == nil {
		t.Error("the crawl says that it ended by itself")
	}
	n := openNode(t, home)
	res, err := n.Check(t.Context())
	if err != nil || len(res.Problems) > 0 {
		t.Errorf("after the stop: %+v, %v", res, err)
	}
}

// endlessSite serves pages that each link to the next one.
func endlessSite(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<p>Page %s of an endless site.</p><a href=\"%sx/\">next</a>", r.URL.Path, r.URL.Path)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/"
}
