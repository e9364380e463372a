package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"arborist/crawl/internal/frontier"
	"arborist/ingest"
	"arborist/ingest/extract"
	"arborist/internal/arbtest/pdftest"
	"arborist/internal/arbtest/site"
)

// childEnv holds the arguments of a crawl in a process of its own, which a
// test can kill: database, seed and mode.
const childEnv = "ARBORIST_TEST_CRAWL"

func TestMain(m *testing.M) {
	pdftest.Serve()
	if args := os.Getenv(childEnv); args != "" {
		if err := child(strings.Split(args, "|")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // net/http on hostile servers
	os.Exit(m.Run())
}

// child goes on with a crawl, or begins it. It says so on standard output. In
// mode "bomb" the page /p7 ends the program whenever it is read.
func child(args []string) error {
	p, err := OpenPrivate(args[0])
	if err != nil {
		return err
	}
	defer p.Close()
	fmt.Println("open")
	cfg := Config{Seed: args[1], Depth: 99, Store: p, Resume: true, AllowNets: loopback, Delay: 2 * time.Millisecond, Fast: args[2] != "polite"}
	storing := ingest.Config{BatchWait: 20 * time.Millisecond}
	if args[2] == "bomb" {
		storing.BatchWait = time.Hour // nothing is stored by chance before the end
		storing.Extract = func(ctx context.Context, contentType, uri string, body []byte) (extract.Text, error) {
			if strings.HasSuffix(uri, "/p7") {
				os.Exit(bombed)
			}
			return extract.Extract(ctx, contentType, uri, body)
		}
	}
	for {
		c, err := New(cfg, nil)
		if err != nil {
			return err
		}
		report, _, err := c.Ingest(context.Background(), storing, nil)
		if errors.Is(err, ErrNothingToResume) {
			cfg.Resume = false
			continue
		}
		if err == nil && report.FailedTotal+report.RefusedTotal > 0 {
			err = fmt.Errorf("%d failed, %d refused: %.300s", report.FailedTotal, report.RefusedTotal, fmt.Sprint(report.Failed, report.Refused))
		}
		return err
	}
}

// bombed is the exit code of a child that a page has ended.
const bombed = 66

// start starts a child and waits until it has the store open, or has ended.
func start(t *testing.T, path, seed, mode string) (kill func(), ended chan error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+path+"|"+seed+"|"+mode)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Read(make([]byte, 1))
	ended = make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return func() { cmd.Process.Kill() }, ended
}

// A faucet lets as many requests through as it is told, and holds the others
// back: however slow the machine, a child cannot run away from its kill.
type faucet struct {
	to    http.Handler
	drops chan struct{}
}

func (f *faucet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-f.drops:
		f.to.ServeHTTP(w, r)
	case <-r.Context().Done():
	}
}

func (f *faucet) open(n int) {
	for len(f.drops) > 0 {
		<-f.drops
	}
	for range n {
		f.drops <- struct{}{}
	}
}

// killOnce goes on with a crawl and kills it: after some requests or, one time
// in three, within moments.
func killOnce(t *testing.T, s *site.Site, f *faucet, path, seed, mode string) {
	t.Helper()
	requests := 2 + rand.IntN(10)
	enough := len(s.Targets()) + requests
	f.open(requests + 2)
	kill, ended := start(t, path, seed, mode)
	moment := make(<-chan time.Time)
	if rand.IntN(3) == 0 {
		moment = time.After(time.Duration(rand.IntN(20_000)) * time.Microsecond)
	}
	for len(s.Targets()) < enough {
		select {
		case err := <-ended:
			t.Fatalf("it ended before it was killed: %v", err)
		case <-moment:
			enough = 0
		case <-time.After(200 * time.Microsecond):
		}
	}
	kill()
	<-ended
}

// durablePages gives the paths of the pages that a killed crawl has kept.
func durablePages(t *testing.T, path string) map[string]bool {
	t.Helper()
	p, err := OpenPrivate(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	rows, err := p.File().Reader().Query("SELECT url FROM frontier WHERE state IN (?, ?)", frontier.Fetched, frontier.Done)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	durable := map[string]bool{}
	for rows.Next() {
		var u string
		if err := rows.Scan(&u); err != nil {
			t.Fatal(err)
		}
		durable[u[strings.LastIndexByte(u, '/'):]] = true
	}
	return durable
}

// The server's log of a crawl that is killed at random points, within moments
// of its start too: no page is asked for once it is durable, and in the end none
// is missing. What was on its way at a kill is asked for again: whether it was
// answered is known to the server alone.
func TestAKilledCrawlIsResumedPageExact(t *testing.T) {
	const kills, pages = 20, 280 // more than the requests before the last kill
	for mode, atOnce := range map[string]int{"polite": 1, "fast": 3 * runtime.NumCPU()} {
		t.Run(mode, func(t *testing.T) {
			s := tree(pages)
			f := &faucet{to: s, drops: make(chan struct{}, 2*pages)}
			server := httptest.NewServer(f)
			t.Cleanup(server.Close)
			seed := server.URL + "/"
			path := filepath.Join(t.TempDir(), "web.db")
			logged := 0
			durable := map[string]bool{}
			for run := range kills + 1 {
				if run < kills {
					killOnce(t, s, f, path, seed, mode)
				} else {
					f.open(2 * pages)
					if _, ended := start(t, path, seed, mode); <-ended != nil {
						t.Fatal("it did not come to its end")
					}
				}
				log := s.Targets()
				for _, target := range log[logged:] {
					if durable[target] {
						t.Errorf("after %d kills, %s was asked for although it was durable", run, target)
					}
				}
				logged, durable = len(log), durablePages(t, path)
			}
			repeated := 0
			for target, n := range counts(s.Targets()) {
				if target != robotsTxt {
					repeated += n - 1
				}
			}
			if repeated > kills*atOnce {
				t.Errorf("%d requests were made again after %d kills, with %d at once", repeated, kills, atOnce)
			}
			p := openPrivate(t, path)
			equal(t, "documents", currentURIs(t, p), treePaths(pages))
			if n := spooled(t, p); n != 0 {
				t.Errorf("%d pages are kept", n)
			}
			if problems, err := check(t, p); err != nil || len(problems) > 0 {
				t.Errorf("check: %q, %v", problems, err)
			}
			t.Logf("%d kills, %d of %d requests were made again", kills, repeated, pages)
		})
	}
}

// A page that ends the program each time costs the crawl that page alone, and
// no number of ends costs it the page.
func TestAPageThatEndsTheProgramHoldsUpNoOther(t *testing.T) {
	const pages = 30
	s := tree(pages)
	seed := s.Start(t) + "/"
	path := filepath.Join(t.TempDir(), "web.db")
	for range 12 {
		_, ended := start(t, path, seed, "bomb")
		var exit *exec.ExitError
		if err := <-ended; !errors.As(err, &exit) || exit.ExitCode() != bombed {
			t.Fatalf("the program ended with %v", err)
		}
	}
	p := openPrivate(t, path)
	others := slices.DeleteFunc(treePaths(pages), func(path string) bool { return path == "/p7" })
	equal(t, "documents", currentURIs(t, p), others)
	p.Close()
	if _, ended := start(t, path, seed, "fast"); <-ended != nil {
		t.Fatal("it did not end well although the page does no harm any more")
	}
	equal(t, "documents", currentURIs(t, openPrivate(t, path)), treePaths(pages))
	for target, n := range counts(s.Targets()) {
		// The first end may have come while answers were on their way.
		if target != robotsTxt && n > 2 {
			t.Errorf("%s was requested %d times", target, n)
		}
	}
}

func check(t *testing.T, p *Private) (problems []string, err error) {
	_, err = p.File().Check(t.Context(), func(problem string) { problems = append(problems, problem) })
	return problems, err
}
