package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"arborist/ingest"
)

// childEnv holds the arguments of a crawl in a process of its own, which a
// test can kill: database, seed and mode.
const childEnv = "ARBORIST_TEST_CRAWL"

func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		if err := child(strings.Split(args, "|")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if seed := os.Getenv(discoverEnv); seed != "" {
		if err := discover(seed); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // net/http on hostile servers
	os.Exit(m.Run())
}

// child goes on with a crawl, or begins it.
func child(args []string) error {
	p, err := OpenPrivate(args[0])
	if err != nil {
		return err
	}
	defer p.Close()
	cfg := Config{Seed: args[1], Depth: 99, Store: p, Resume: true, AllowNets: loopback, Delay: 2 * time.Millisecond, Fast: args[2] == "fast"}
	for {
		c, err := New(cfg, nil)
		if err != nil {
			return err
		}
		report, _, err := c.Ingest(context.Background(), ingest.Config{BatchWait: 20 * time.Millisecond}, nil)
		if errors.Is(err, ErrNothingToResume) {
			cfg.Resume = false
			continue
		}
		if err == nil && report.FailedTotal+report.RefusedTotal > 0 {
			err = fmt.Errorf("failed %v, refused %v", report.Failed, report.Refused)
		}
		return err
	}
}

func TestAKilledCrawlIsResumedPageExact(t *testing.T) {
	const pages, least = 420, 20 // kills at random points
	for _, mode := range []string{"polite", "fast"} {
		t.Run(mode, func(t *testing.T) {
			s := tree(pages)
			seed := s.Start(t) + "/"
			path := filepath.Join(t.TempDir(), "web.db")
			// The last request before each kill: its answer may not have been
			// committed. In fast mode that holds for as many as are in flight.
			mayRepeat := map[string]int{}
			kills := 0
			for ended := false; !ended; {
				s0 := len(s.Targets())
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), childEnv+"="+path+"|"+seed+"|"+mode)
				cmd.Stderr = os.Stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- cmd.Wait() }()
				for after := s0 + 2 + rand.IntN(25); !ended; {
					select {
					case err := <-done:
						if err != nil {
							t.Fatal(err)
						}
						ended = true
						continue
					case <-time.After(200 * time.Microsecond):
					}
					if len(s.Targets()) >= after {
						kills++
						cmd.Process.Kill()
						<-done
						break
					}
				}
				if kills > 400 {
					t.Fatal("it does not come to an end")
				}
				if ended {
					break
				}
				if run := s.Targets()[s0:]; len(run) > 0 {
					mayRepeat[run[len(run)-1]]++
				}
			}
			if kills < least {
				t.Errorf("%d kills", kills)
			}
			repeated := 0
			for target, n := range counts(s.Targets()) {
				if target == robotsTxt {
					continue
				}
				repeated += n - 1
				if mode == "polite" && n > 1+mayRepeat[target] {
					t.Errorf("%s was requested %d times", target, n)
				}
			}
			if repeated > kills*3*runtime.NumCPU() {
				t.Errorf("%d requests were made again after %d kills", repeated, kills)
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

func check(t *testing.T, p *Private) (problems []string, err error) {
	_, err = p.File().Check(t.Context(), func(problem string) { problems = append(problems, problem) })
	return problems, err
}
