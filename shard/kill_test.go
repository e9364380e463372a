package shard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"arborist/document"
)

// childVariable makes the test binary run child instead of tests.
const childVariable = "ARBORIST_SHARD_CHILD"

// page is what the child puts at a number: several chunks, so that a torn
// document would show.
func page(n int) document.Entry {
	text := fmt.Sprintf("# Page %d\n\n%s\n\n## Second part\n\n%s\n\nEnd of page %d.", n,
		strings.Repeat(fmt.Sprintf("Number %d is told here at some length. ", n), 60), strings.Repeat("Filling. ", 200), n)
	d, err := document.New([]byte(text))
	if err != nil {
		panic(err)
	}
	// Fifty places: most puts supersede something, mostly in another file.
	return document.Entry{Document: d, Location: document.Location{URI: fmt.Sprintf("test:%d", n%50), Source: "child", FetchedAt: fetched}}
}

// child puts pages into a set until it is killed or cannot, and prints the
// number of each page that was acknowledged.
func child() int {
	args := strings.Split(os.Getenv(childVariable), "|")
	from, _ := strconv.Atoi(args[1])
	later := len(args) > 2 && args[2] == "later"
	if len(args) > 2 && !later {
		most, _ := strconv.ParseUint(args[2], 10, 64)
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			fmt.Println("error", err)
			return 1
		}
	}
	if from == jobSalvage {
		fmt.Println("open")
		if err := SalvageShared(context.Background(), args[0], args[0]+".aside", childRepair(args[0])); err != nil {
			fmt.Println("error", err)
		}
		return 0
	}
	s, err := OpenShared(args[0])
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("open")
	if from < 0 {
		return childJob(s, from)
	}
	put := s.Put
	if later {
		put = s.Store
		go func() {
			for {
				if err := s.Index(context.Background(), nil); err != nil {
					fmt.Println("error", err)
				}
				time.Sleep(20 * time.Millisecond)
			}
		}()
	}
	for n := from; ; n += 5 {
		var batch []document.Entry
		for i := range 5 {
			batch = append(batch, page(n+i))
		}
		if _, err := put(context.Background(), batch); err != nil {
			fmt.Println("error", err)
			return 3
		}
		for i := range 5 {
			fmt.Println(n + i)
		}
	}
}

// runChild starts the child, kills it after a time, and
// returns the last page that it acknowledged and its error line.
func runChild(t *testing.T, env string, life time.Duration) (last int, problem string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), childVariable+"="+env)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last = -1
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "open" {
			// Its life starts here: how long a process takes to start says nothing.
			stop := time.AfterFunc(life, func() { cmd.Process.Kill() })
			defer stop.Stop()
			continue
		}
		if text, ok := strings.CutPrefix(lines.Text(), "error "); ok {
			problem = text
			continue
		}
		if n, err := strconv.Atoi(lines.Text()); err == nil {
			last = n
		}
	}
	cmd.Wait()
	return last, problem
}

// mustHold checks that all pages up to last are there, whole, and that the
// newest page of each place is current.
func mustHold(t *testing.T, s *Shared, last int) {
	t.Helper()
	roots := make([]document.Root, last+1)
	for n := range roots {
		roots[n] = page(n).Document.Root()
	}
	has, err := s.Has(t.Context(), roots)
	if err != nil {
		t.Fatal(err)
	}
	for n, ok := range has {
		if !ok {
			t.Errorf("page %d was acknowledged and is lost", n)
		}
	}
	// What was on its way may have superseded the last pages: no older one may
	// be current.
	for n := max(0, last-40); n <= last; n++ {
		at, err := s.History(t.Context(), page(n).Location.URI)
		if err != nil {
			t.Fatal(err)
		}
		current := false
		for _, v := range at {
			current = current || v.Current && v.Seq >= int64(n/50+1)
		}
		if !current {
			t.Errorf("neither page %d nor a newer one is current at %s", n, page(n).Location.URI)
		}
	}
	if _, err := s.Check(t.Context(), func(p string) {
		if !strings.Contains(p, "repaired:") { // what a crash between two steps leaves
			t.Errorf("check: %s", p)
		}
	}); err != nil {
		t.Fatal(err)
	}
	mustCheck(t, s) // nothing is left to repair
}

func TestKilledWriterLosesNothingAcknowledged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shards")
	if err := CreateShared(dir, 4); err != nil {
		t.Fatal(err)
	}
	last, rounds := -1, 12
	for round := range rounds {
		// The child goes back a little, as somebody does who was not told how far
		// the last call came.
		from := max(0, (last-9)/5*5)
		acknowledged, problem := runChild(t, fmt.Sprintf("%s|%d", dir, from), time.Duration(60+round*17)*time.Millisecond)
		if problem != "" {
			t.Fatalf("round %d: %s", round, problem)
		}
		last = max(last, acknowledged)
		if round%4 == 3 {
			s := openTestShared(t, dir)
			mustHold(t, s, last)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d pages acknowledged over %d kills", last+1, rounds)
	if last < 20 {
		t.Errorf("only %d pages were acknowledged: the test tests too little", last+1)
	}
}

func TestFullDiskIsAnErrorThatLosesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shards")
	if err := CreateShared(dir, 2); err != nil {
		t.Fatal(err)
	}
	last, problem := runChild(t, fmt.Sprintf("%s|0|%d", dir, 1<<20), 10*time.Second)
	if problem == "" || !strings.Contains(problem, ".db: ") {
		t.Fatalf("the child ended with %q, wanted is an error that names the file", problem)
	}
	t.Logf("page %d, then: %s", last, problem)
	s := openTestShared(t, dir)
	mustHold(t, s, last)
	if _, err := s.Put(t.Context(), []document.Entry{page(last + 1)}); err != nil {
		t.Errorf("with room again: %v", err)
	}
	mustHold(t, s, last+1)
}

func TestFileAtItsLimitTakesNothingMoreAndReadsOn(t *testing.T) {
	f := newPrivate(t)
	put1(t, f, entry(t, "test:first", "first page"))
	var pages int
	if err := f.writer.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if err := f.writer.QueryRow(fmt.Sprintf("PRAGMA max_page_count=%d", pages+2)).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	big := entry(t, "test:big", strings.Repeat("so many words that no page is left for them ", 2000))
	_, err := f.Put(t.Context(), []document.Entry{big})
	var fe *FileError
	if !errors.As(err, &fe) || fe.Path != f.Path() {
		t.Fatalf("put into a full file: %v", err)
	}
	if r, err := Search(t.Context(), []*File{f}, Query{Text: "first"}); err != nil || len(r.Hits) != 1 {
		t.Errorf("search in a full file: %+v, %v", r, err)
	}
	if err := f.writer.QueryRow("PRAGMA max_page_count=1000000").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if out := put1(t, f, big); !out[0].New {
		t.Errorf("with room again: %+v", out)
	}
	mustCheck(t, f)
}

// jobCompact, in place of a page, has the child do something else until it is killed.
const (
	jobCompact = -1
	jobSplit   = -2
	jobRepair  = -3 // once, of an open set
	jobSalvage = -4 // once, of a set that nobody has open
	jobPurge   = -5 // of goneOrigin, once
)

// childRepair keeps what is taken out in files beside the set.
func childRepair(dir string) Repair {
	return Repair{Did: func(string) {}, Keep: func(l Lost) error {
		if err := MakeFolder(dir + ".kept"); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir+".kept", l.Root.String()), l.Text, 0o600)
	}}
}

func childJob(s *Shared, job int) int {
	if job == jobRepair {
		r := childRepair(s.Dir())
		if _, err := s.CheckWith(context.Background(), CheckOptions{Repair: &r}, func(string) {}); err != nil {
			fmt.Println("error", err)
		}
		return 0
	}
	if job == jobPurge {
		if _, err := s.Purge(context.Background(), goneOrigin, false, func(int, int) {}); err != nil {
			fmt.Println("error", err)
		}
		return 0
	}
	for n := 0; ; n++ {
		var err error
		switch job {
		case jobCompact:
			var failed error
			err = s.Compact(context.Background(), func(c Compacted) { failed = errors.Join(failed, c.Err) })
			err = errors.Join(err, failed)
		case jobSplit:
			// Others go on meanwhile: what they were told is stored has to stay.
			if n == 0 {
				go func() {
					for p := 10_000; ; p++ {
						if _, err := s.Put(context.Background(), []document.Entry{page(p)}); err != nil {
							fmt.Println("error", err)
						}
					}
				}()
			}
			_, err = s.Split(context.Background(), nil)
			if errors.Is(err, ErrMostShards) {
				select {} // until it is killed
			}
		}
		if err != nil {
			fmt.Println("error", err)
			return 3
		}
		fmt.Println(n)
	}
}
