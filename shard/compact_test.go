package shard

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"arborist/document"
)

func compactAll(t *testing.T, s *Shared) (all []Compacted) {
	t.Helper()
	err := s.Compact(t.Context(), func(c Compacted) {
		if c.Err != nil {
			t.Errorf("%s: %v", c.Path, c.Err)
		}
		all = append(all, c)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What a compaction leaves is smaller, in one segment, and shows the same.
func TestCompactMakesFilesSmallerAndChangesNothingThatIsShown(t *testing.T) {
	dir, _, uris := versioned(t)
	s := openTestShared(t, dir)
	// Free pages: what a lot of versions have left behind.
	for n := range 40 {
		put1(t, s, page(100+n), page(300+n))
	}
	before := viewOf(t, s, uris)
	all := compactAll(t, s)
	if len(all) != 5 {
		t.Fatalf("%d files were compacted", len(all))
	}
	for _, c := range all {
		t.Logf("%s: %d bytes, then %d", filepath.Base(c.Path), c.Before, c.After)
		if c.After > c.Before || c.After == 0 {
			t.Errorf("%s: %d bytes, then %d", c.Path, c.Before, c.After)
		}
		if info, err := os.Stat(c.Path + "-wal"); err == nil && info.Size() > 0 {
			t.Errorf("%s has a log of %d bytes", c.Path, info.Size())
		}
	}
	for _, f := range s.files {
		var segments, free int
		if err := f.reader.QueryRow("SELECT count(*) FROM segments WHERE negative = 0").Scan(&segments); err != nil || segments != 1 {
			t.Errorf("%s: %d segments, %v", f.path, segments, err)
		}
		if err := f.reader.QueryRow("PRAGMA freelist_count").Scan(&free); err != nil || free != 0 {
			t.Errorf("%s: %d free pages, %v", f.path, free, err)
		}
	}
	if after := viewOf(t, s, uris); !reflect.DeepEqual(before, after) {
		t.Error("what is shown has changed")
	}
	mustCheck(t, s)
	put1(t, s, page(999))
	mustCheck(t, s)
	if left, _ := filepath.Glob(filepath.Join(dir, "*.compact*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// Reads and writes of others go on while files are compacted.
func TestCompactWhileOthersReadAndWrite(t *testing.T) {
	dir, _ := published(t, 60)
	s := openTestShared(t, dir)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 100; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := s.Put(context.Background(), []document.Entry{page(n)}); err != nil {
				t.Error("put: ", err)
			}
		}
	})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			r, err := s.Search(context.Background(), Query{Text: "number", AllVersions: true})
			if err != nil || r.Total < 60 {
				t.Errorf("%d found, %v", r.Total, err)
			}
		}
	})
	for range 3 {
		compactAll(t, s)
	}
	close(stop)
	wg.Wait()
	mustCheck(t, s)
}

func TestKilledCompactionLosesNothing(t *testing.T) {
	dir, entries := published(t, 60)
	kills := 4
	for round := range kills {
		if _, problem := runChild(t, fmt.Sprintf("%s|%d", dir, jobCompact), time.Duration(5+round*70)*time.Millisecond); problem != "" {
			t.Fatalf("round %d: %s", round, problem)
		}
		s := openTestShared(t, dir)
		mustHold(t, s, len(entries)-1)
		put1(t, s, page(1000+round))
		if left, _ := filepath.Glob(filepath.Join(dir, "*.compact*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A disk that fills up on the way leaves the files as they were.
func TestCompactionOnAFullDiskChangesNothing(t *testing.T) {
	dir, entries := published(t, 100)
	// The largest file still fits, what is to be gathered of it does not.
	_, problem := runChild(t, fmt.Sprintf("%s|%d|%d", dir, jobCompact, 160<<10), time.Minute)
	if !strings.Contains(problem, ".db") {
		t.Fatalf("the child ended with %q, wanted is an error that names the file", problem)
	}
	t.Log(problem)
	s := openTestShared(t, dir)
	mustHold(t, s, len(entries)-1)
	compactAll(t, s)
	mustHold(t, s, len(entries)-1)
}
