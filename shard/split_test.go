package shard

import (
	"context"
	"errors"
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

func TestSplitShowsTheSameInTwiceAsManyFiles(t *testing.T) {
	dir, _, uris := versioned(t)
	s := openTestShared(t, dir)
	before := viewOf(t, s, uris)
	for _, want := range []int{8, 16} {
		var stages []string
		res, err := s.Split(t.Context(), func(p SplitProgress) { stages = append(stages, p.Stage) })
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", res)
		if res.Before != want/2 || res.After != want || s.Shards() != want || len(stages) < 3 {
			t.Errorf("%+v, %d shards, stages %q", res, s.Shards(), stages)
		}
		if after := viewOf(t, s, uris); !reflect.DeepEqual(before, after) {
			t.Errorf("%d shards show something else", want)
		}
		mustCheck(t, s)
		mustBeTidy(t, dir, want)
	}
	// The set is one like any other: opened again, put into, asked for another number.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := SetSize(dir); err != nil || n != 16 {
		t.Errorf("%d shards, %v", n, err)
	}
	if err := errors.Join(CreateShared(dir, 16)); err != nil {
		t.Error(err)
	}
	s = openTestShared(t, dir)
	if after := viewOf(t, s, uris); !reflect.DeepEqual(before, after) {
		t.Error("opened again it shows something else")
	}
	put1(t, s, page(500), page(550))
	mustCheck(t, s)
}

// mustBeTidy finds n shards, the logs, and nothing else in a folder.
func mustBeTidy(t *testing.T, dir string, n int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	shards := 0
	for _, e := range entries {
		name := e.Name()
		for _, suffix := range sidecars {
			name = strings.TrimSuffix(name, suffix)
		}
		switch {
		case name == e.Name() && shardName.MatchString(name):
			shards++
		case name != CorporaName && !shardName.MatchString(name):
			t.Errorf("%s is left behind", e.Name())
		}
	}
	if shards != n {
		t.Errorf("%d shards, want %d", shards, n)
	}
}

// A process that is killed at any step leaves the old set or the new one, and
// whoever opens it next ends what was begun.
func TestSplitThatIsCutShortLeavesTheOldSetOrTheNew(t *testing.T) {
	dir, _, uris := versioned(t)
	s := openTestShared(t, dir)
	before := viewOf(t, s, uris)
	var images []string
	s.atStep = func() { // what a kill leaves is what the files hold now
		image := filepath.Join(t.TempDir(), "shards")
		if err := os.CopyFS(image, os.DirFS(dir)); err != nil {
			t.Error(err)
		}
		images = append(images, image)
	}
	if _, err := s.Split(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if len(images) < 12 {
		t.Fatalf("%d steps", len(images))
	}
	sizes := map[int]int{}
	for i, image := range images {
		s, err := OpenShared(image)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		sizes[s.Shards()]++
		if after := viewOf(t, s, uris); !reflect.DeepEqual(before, after) {
			t.Errorf("step %d: it shows something else", i)
		}
		mustCheck(t, s)
		mustBeTidy(t, image, s.Shards())
		if i%5 == 0 { // it can be done again, or once more
			if _, err := s.Split(t.Context(), nil); err != nil {
				t.Errorf("step %d: %v", i, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if sizes[4] < 3 || sizes[8] < 9 || len(sizes) != 2 {
		t.Errorf("sets of these sizes: %v", sizes)
	}
}

func TestSplitWhileOthersReadAndWrite(t *testing.T) {
	dir, entries := published(t, 60)
	s := openTestShared(t, dir)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	last := 0
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
			last = n
		}
	})
	for range 2 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				r, err := s.Search(context.Background(), Query{Text: "number", AllVersions: true})
				if err != nil || r.Total < 60 || len(r.Refused) > 0 {
					t.Errorf("%d found, refused %v, %v", r.Total, r.Refused, err)
				}
				root := entries[n%len(entries)].Document.Root()
				if _, err := s.Document(context.Background(), root); err != nil {
					t.Error("document: ", err)
				}
			}
		})
	}
	for range 2 {
		res, err := s.Split(t.Context(), nil)
		if err != nil {
			t.Error(err)
		}
		t.Logf("%+v", res)
	}
	close(stop)
	wg.Wait()
	for n := 100; n <= last; n++ {
		if _, err := s.Document(t.Context(), page(n).Document.Root()); err != nil {
			t.Errorf("page %d: %v", n, err)
		}
	}
	st, err := s.Stats(t.Context())
	if err != nil || st.Documents != uint64(60+last-99) || s.Shards() != 16 {
		t.Errorf("%+v in %d shards, want %d documents, %v", st, s.Shards(), 60+last-99, err)
	}
	var problems []string
	if _, err := s.Check(t.Context(), func(p string) { problems = append(problems, p) }); err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if !strings.Contains(p, "listed and not current") { // the writer went past the publisher
			t.Error(p)
		}
	}
}

func TestKilledSplitLosesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shards")
	if err := CreateShared(dir, 1); err != nil {
		t.Fatal(err)
	}
	s := openTestShared(t, dir)
	var entries []document.Entry
	for n := range 60 {
		entries = append(entries, page(n))
	}
	put1(t, s, entries...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sizes := map[int]bool{}
	for round := range 5 {
		if _, problem := runChild(t, fmt.Sprintf("%s|%d", dir, jobSplit), time.Duration(30+round*400)*time.Millisecond); problem != "" {
			t.Fatalf("round %d: %s", round, problem)
		}
		s := openTestShared(t, dir)
		mustHold(t, s, len(entries)-1)
		mustBeTidy(t, dir, s.Shards())
		sizes[s.Shards()] = true
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("sets of these sizes: %v", sizes)
}

func TestSplitRefusesWhatCheckWouldFind(t *testing.T) {
	for name, script := range map[string]string{
		"a text is changed": "UPDATE texts SET data = zeroblob(length(data)) WHERE id = 1",
		"counters lie":      "UPDATE state SET words = words + 1",
		"a foreign place":   "UPDATE locations SET place = zeroblob(16) WHERE id = 1",
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := published(t, 20)
			tamper(t, filepath.Join(dir, "01.db"), script)
			s := openTestShared(t, dir)
			if _, err := s.Split(t.Context(), nil); !errors.Is(err, ErrCorrupt) {
				t.Errorf("split: %v", err)
			}
			mustBeTidy(t, dir, 4)
			if r, err := s.Search(t.Context(), Query{Text: "number"}); err != nil || len(r.Hits) == 0 {
				t.Errorf("afterwards: %d hits, %v", len(r.Hits), err)
			}
		})
	}
}
