package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arborist/daemon/api"
	"arborist/internal/arbtest/spread"
	"arborist/shard/corpus"
)

// A restored is a publisher whose shards were brought back from a backup that
// is older than what its follower has: 3 records here, 5 signed.
type restored struct {
	home     Home
	follower *api.Client
	addr     string // of the follower
	origin   string
}

func newRestored(t *testing.T) restored {
	t.Helper()
	r := restored{home: newHome(t)}
	addPages(t, r.home, "first", 3)
	backup := filepath.Join(t.TempDir(), "backup")
	if err := os.CopyFS(backup, os.DirFS(r.home.Shards())); err != nil {
		t.Fatal(err)
	}
	addPages(t, r.home, "later", 2)
	r.follow(t)
	if err := os.RemoveAll(r.home.Shards()); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(r.home.Shards(), os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	return r
}

// fromBackup loses the home, once a follower has what was added after the backup
// in dir, and serves what comes back of it. The follower is joined.
func (r *restored) fromBackup(t *testing.T, dir string) (publisher *api.Client, follower api.JoinResult) {
	t.Helper()
	addPages(t, r.home, "later", 2)
	r.follow(t)
	r.home = Home(filepath.Join(t.TempDir(), "new"))
	if res, err := Restore(t.Context(), RestoreOptions{Dir: dir, Home: r.home}, nil); err != nil || len(res.Problems) > 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	publisher, _ = serve(t, r.home)
	follower, err := publisher.Join(t.Context(), r.addr)
	if err != nil {
		t.Fatal(err)
	}
	return publisher, follower
}

// follow lets a follower take the 5 records that are there, and ends the publisher.
func (r *restored) follow(t *testing.T) {
	t.Helper()
	r.followAt(t, 5)
}

func (r *restored) followAt(t *testing.T, size uint64) {
	t.Helper()
	ctx := t.Context()
	publisher, stop := serve(t, r.home)
	var stopFollower func() error
	followerHome := newHome(t)
	r.follower, stopFollower = serve(t, followerHome)
	t.Cleanup(func() { stopFollower() })
	at, err := publisher.PeerID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r.origin = at.PeerID + "/" + MainCorpus
	res, err := r.follower.Sync(ctx, api.SyncRequest{From: at.Addrs[0], Corpus: r.origin}, nil)
	if err != nil || res.Corpus.Size != size {
		t.Fatal(res, err)
	}
	followerAt, err := r.follower.PeerID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r.addr = followerAt.Addrs[0]
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// pages makes a folder with n documents that no other name gives.
func pages(t *testing.T, name string, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("p%d.md", i)), fmt.Sprintf("# %s %d\n\nGranite, %s.", name, i, name))
	}
	return dir
}

func addPages(t *testing.T, home Home, name string, n int) {
	t.Helper()
	node, err := Open(t.Context(), Options{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	add(t, node, api.AddRequest{Paths: []string{pages(t, name, n)}})
	if err := node.Close(); err != nil {
		t.Fatal(err)
	}
}

// wantBehind checks that nothing is added, nothing stored, and status says why.
func wantBehind(t *testing.T, s api.Service, peer string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	before, err := s.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Add(ctx, api.AddRequest{Paths: []string{pages(t, "fork", 2)}}, nil)
	if err == nil || !strings.Contains(api.AsError(err).Message, corpus.ErrBehind.Error()) {
		t.Fatalf("add to a corpus that was restored: %v", err)
	}
	after, err := s.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("as after the restore of an old backup: 3 records here, 5 signed; run `arborist peer sync %s", peer)
	if after.Healthy || len(after.Problems) != 1 || !strings.Contains(after.Problems[0], want) {
		t.Errorf("status %q, want %q", after.Problems, want)
	}
	if after.Shared != before.Shared || after.Corpora[0].Size != 3 {
		t.Errorf("the refused add stored something: %+v, before %+v", after.Shared, before.Shared)
	}
}

// wantBack syncs the records back, adds more, and checks that the follower goes
// on without having seen two histories.
func (r restored) wantBack(t *testing.T, s api.Service) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	res, err := s.Sync(ctx, api.SyncRequest{From: r.addr, Corpus: r.origin}, nil)
	if err != nil || res.Corpus.Size != 5 || !res.Corpus.Own || res.Documents != 2 {
		t.Fatalf("sync back: %+v, %v", res, err)
	}
	// Where it was restored whole, it waits for the follower's head as well.
	after := api.AddRequest{Paths: []string{pages(t, "after", 2)}}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		_, err := s.Add(ctx, after, nil)
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), "restored from a backup of") || time.Now().After(end) {
			t.Fatal("add after the sync: ", err)
		}
	}
	if st, err := s.Status(ctx); err != nil || !st.Healthy {
		t.Fatalf("after the sync: %+v, %v", st, err)
	}
	if check, err := s.Check(ctx); err != nil || len(check.Problems) > 0 {
		t.Errorf("check: %+v, %v", check, err)
	}
}

func (r restored) wantFollowed(t *testing.T, publisher string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	res, err := r.follower.Sync(ctx, api.SyncRequest{From: publisher, Corpus: r.origin}, nil)
	if err != nil || res.Corpus.Size != 7 {
		t.Fatalf("follower: %+v, %v", res, err)
	}
	if st, err := r.follower.Status(ctx); err != nil || !st.Healthy {
		t.Errorf("follower: %+v, %v", st, err)
	}
}

func TestARestoredPublisherNoticesOffline(t *testing.T) {
	r := newRestored(t)
	n := openNode(t, r.home)
	wantBehind(t, n, "FROM")
	if n.net != nil {
		t.Error("the local guard brought up the network")
	}
	r.wantBack(t, n)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	publisher, _ := serve(t, r.home)
	at, err := publisher.PeerID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.wantFollowed(t, at.Addrs[0])
}

func TestARestoredPublisherLearnsFromAFollower(t *testing.T) {
	for _, waits := range []bool{true, false} {
		t.Run(fmt.Sprint("guard had its turn ", waits), func(t *testing.T) {
			r := newRestored(t)
			if err := os.Remove(r.home.CorpusHead(MainCorpus)); err != nil {
				t.Fatal(err)
			}
			publisher, _ := serve(t, r.home)
			st, err := publisher.Status(t.Context())
			if err != nil || !st.Healthy {
				t.Fatalf("before it could know: %+v, %v", st, err)
			}
			joined, err := publisher.Join(t.Context(), r.addr)
			if err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(20 * time.Second); waits && st.Healthy; {
				if time.Now().After(end) {
					t.Fatal("the daemon does not ask the peer that connects")
				}
				time.Sleep(20 * time.Millisecond)
				if st, err = publisher.Status(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if !waits { // the first append asks by itself
				_, err := publisher.Add(t.Context(), api.AddRequest{Paths: []string{pages(t, "fork", 1)}}, nil)
				if err == nil || !strings.Contains(err.Error(), corpus.ErrBehind.Error()) {
					t.Fatalf("first add: %v", err)
				}
			}
			wantBehind(t, publisher, joined.PeerID)
			r.wantBack(t, publisher)
			at, err := publisher.PeerID(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r.wantFollowed(t, at.Addrs[0])
		})
	}
}

// TestAForkThatWasSignedIsFrozen: without any guard's knowledge the restored
// publisher signs another history; its follower's head is evidence then.
func TestAForkThatWasSignedIsFrozen(t *testing.T) {
	for _, records := range []int{2, 4, 1} { // as many as were lost, more, fewer
		r := newRestored(t)
		if err := os.Remove(r.home.CorpusHead(MainCorpus)); err != nil {
			t.Fatal(err)
		}
		addPages(t, r.home, "fork", records)
		publisher, _ := serve(t, r.home)
		if _, err := publisher.Join(t.Context(), r.addr); err != nil {
			t.Fatal(err)
		}
		_, err := publisher.Add(t.Context(), api.AddRequest{Paths: []string{pages(t, "more", 1)}}, nil)
		if err == nil || !strings.Contains(err.Error(), "frozen") {
			t.Fatalf("add to the fork: %v", err)
		}
		// The evidence file is written beside the call that found the fork.
		var st api.StatusResult
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if st, err = publisher.Status(t.Context()); err != nil || len(st.Problems) == 1 || time.Now().After(end) {
				break
			}
		}
		if err != nil || st.Healthy || len(st.Problems) != 1 || !strings.Contains(st.Problems[0], "its own key has signed two histories") {
			t.Errorf("status: %+v, %v", st, err)
		}
	}
}

func TestAddsWithoutPeersDoNotWait(t *testing.T) {
	path := pages(t, "x", 1)
	synctest.Test(t, func(t *testing.T) {
		n := startNodes(t, spread.Network(1, 1, 0), func(int, simNode) string { return "" })[0]
		start := time.Now()
		if _, err := n.Add(t.Context(), api.AddRequest{Paths: []string{path}}, nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 0 { // computing takes no time in a bubble, waiting does
			t.Errorf("the first add waited %v", took)
		}
	})
}

func TestAKeptHeadThatIsNoneStopsAppendsAlone(t *testing.T) {
	other := newHome(t)
	addPages(t, other, "theirs", 1)
	foreign, err := os.ReadFile(other.CorpusHead(MainCorpus))
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(path string) error{
		"empty":          func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"garbage":        func(p string) error { return os.WriteFile(p, []byte("not a note\n"), 0o600) },
		"of another key": func(p string) error { return os.WriteFile(p, foreign, 0o600) },
		"cut":            func(p string) error { return os.Truncate(p, 100) },
		"huge":           func(p string) error { return os.Truncate(p, 1<<40) },
		"a folder":       func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) },
		"a link":         func(p string) error { return errors.Join(os.Rename(p, p+"x"), os.Symlink(p+"x", p)) },
	} {
		t.Run(name, func(t *testing.T) {
			home := newHome(t)
			addPages(t, home, "x", 1)
			path := home.CorpusHead(MainCorpus)
			if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
				t.Fatalf("kept head: %v, %v", st, err)
			}
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			n := openNode(t, home)
			_, err := n.Add(t.Context(), api.AddRequest{Paths: []string{pages(t, "y", 1)}}, nil)
			if e := api.AsError(err); err == nil || e.Code != api.CodeInvalid || !strings.Contains(e.Hint, "move it away") {
				t.Errorf("add: %v", err)
			}
			st, err := n.Status(t.Context())
			if err != nil || st.Healthy || !strings.Contains(st.Problems[0], path) || st.Shared.Documents != 1 {
				t.Errorf("status: %+v, %v", st, err)
			}
			if _, err := n.Query(t.Context(), api.QueryRequest{Text: "granite"}); err != nil {
				t.Error(err)
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			add(t, n, api.AddRequest{Paths: []string{pages(t, "z", 1)}})
		})
	}
}
