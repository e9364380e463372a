package daemon

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arborist/daemon/api"
)

// copyDir replaces a folder by another.
func copyDir(t *testing.T, to, from string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(to, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.Chmod(f, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// wantRefused checks that nothing goes on with the wrong key, and that the
// errors and status say what to do.
func wantRefused(t *testing.T, s api.Service, say, hint string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	before, err := s.Status(ctx)
	if err != nil || before.Healthy || len(before.Problems) != 1 || !strings.Contains(before.Problems[0], say) || !strings.Contains(before.Problems[0], hint) {
		t.Errorf("status: %q, %v; want %q and %q", before.Problems, err, say, hint)
	}
	_, addErr := s.Add(ctx, api.AddRequest{Paths: []string{pages(t, "fork", 1)}}, nil)
	_, rotateErr := s.RotateCorpus(ctx, MainCorpus)
	_, createErr := s.CreateCorpus(ctx, MainCorpus)
	for what, err := range map[string]error{"add": addErr, "rotate": rotateErr, "create": createErr} {
		if e := api.AsError(err); err == nil || e.Code != api.CodeInvalid || !strings.Contains(e.Message, say) || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %v; want %q and %q", what, err, say, hint)
		}
	}
	if after, err := s.Status(ctx); err != nil || after.Shared != before.Shared || after.Corpora[0].Key != before.Corpora[0].Key {
		t.Errorf("something was stored: %+v, %v", after, err)
	}
}

func TestShardsFromBeforeARotationAreSyncedBack(t *testing.T) {
	for name, row := range map[string]struct{ more, retire bool }{
		"both keys sign, nothing added since": {},
		"both keys sign":                      {more: true},
		"the old key is gone":                 {more: true, retire: true},
		"the old key is gone, nothing added":  {retire: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.WithoutCancel(t.Context())
			home := newHome(t)
			addPages(t, home, "first", 2)
			backup := filepath.Join(t.TempDir(), "backup")
			copyDir(t, backup, home.Shards())

			publisher, stop := serve(t, home)
			if _, err := publisher.RotateCorpus(ctx, MainCorpus); err != nil {
				t.Fatal(err)
			}
			if row.retire {
				if _, err := publisher.RetireCorpusKey(ctx, MainCorpus); err != nil {
					t.Fatal(err)
				}
			}
			size := uint64(2)
			if row.more {
				if _, err := publisher.Add(ctx, api.AddRequest{Paths: []string{pages(t, "later", 3)}}, nil); err != nil {
					t.Fatal(err)
				}
				size = 5
			}
			at, err := publisher.PeerID(ctx)
			if err != nil {
				t.Fatal(err)
			}
			origin := at.PeerID + "/" + MainCorpus
			follower, _ := serve(t, newHome(t))
			res, err := follower.Sync(ctx, api.SyncRequest{From: at.Addrs[0], Corpus: origin}, nil)
			if err != nil || res.Corpus.Size != size {
				t.Fatal(res, err)
			}
			key := res.Corpus.Key
			followerAt, err := follower.PeerID(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			copyDir(t, home.Shards(), backup)

			publisher, _ = serve(t, home)
			wantRefused(t, publisher, "from before its key was changed", "arborist peer sync FROM "+origin)
			res, err = publisher.Sync(ctx, api.SyncRequest{From: followerAt.Addrs[0], Corpus: origin}, nil)
			if err != nil || res.Corpus.Size != size || !res.Corpus.Own || res.Corpus.Key != key || len(res.Corpus.ReplacedKeys) != 1 {
				t.Fatalf("sync back: %+v, %v", res, err)
			}
			if st, err := publisher.Status(ctx); err != nil || !st.Healthy {
				t.Fatalf("after the sync: %q, %v", st.Problems, err)
			}
			if _, err := publisher.Add(ctx, api.AddRequest{Paths: []string{pages(t, "after", 1)}}, nil); err != nil {
				t.Fatal(err)
			}
			if check, err := publisher.Check(ctx); err != nil || len(check.Problems) > 0 {
				t.Errorf("check: %+v, %v", check, err)
			}
			if at, err = publisher.PeerID(ctx); err != nil {
				t.Fatal(err)
			}
			res, err = follower.Sync(ctx, api.SyncRequest{From: at.Addrs[0], Corpus: origin}, nil)
			if err != nil || res.Corpus.Size != size+1 || res.Corpus.Key != key {
				t.Errorf("the follower: %+v, %v", res, err)
			}
			if st, err := follower.Status(ctx); err != nil || !st.Healthy {
				t.Errorf("the follower: %q, %v", st.Problems, err)
			}
		})
	}
}

func TestKeysFromBeforeARotationAreAskedFor(t *testing.T) {
	home := newHome(t)
	addPages(t, home, "first", 1)
	old, now := filepath.Join(t.TempDir(), "keys"), filepath.Join(t.TempDir(), "now")
	copyDir(t, old, home.Keys())
	n := openNode(t, home)
	if _, err := n.RotateCorpus(t.Context(), MainCorpus); err != nil {
		t.Fatal(err)
	}
	add(t, n, api.AddRequest{Paths: []string{pages(t, "later", 1)}})
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	copyDir(t, now, home.Keys())
	copyDir(t, home.Keys(), old)
	n = openNode(t, home)
	wantRefused(t, n, "is in no file of", home.CorpusKey(MainCorpus))
	copyDir(t, home.Keys(), now)
	add(t, n, api.AddRequest{Paths: []string{pages(t, "after", 1)}})
	if st, err := n.Status(t.Context()); err != nil || !st.Healthy {
		t.Errorf("with the keys: %q, %v", st.Problems, err)
	}
}
