package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arborist/daemon/api"
	"arborist/shard/corpus"
)

// restoredHome gives a home with 3 records as a backup has it. Before it is
// restored, later is run with the home that goes on.
func restoredHome(t *testing.T, later func(home Home)) Home {
	t.Helper()
	home := newHome(t)
	addPages(t, home, "first", 3)
	n := openNode(t, home)
	dir := filepath.Join(t.TempDir(), "backup")
	if _, err := n.Backup(t.Context(), api.BackupRequest{Dir: dir}, nil); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	later(home)
	to := Home(filepath.Join(t.TempDir(), "new"))
	res, err := Restore(t.Context(), RestoreOptions{Dir: dir, Home: to}, nil)
	if err != nil || len(res.Problems) > 0 || !strings.Contains(strings.Join(res.Notes, " "), "corpus confirm main") {
		t.Fatalf("%+v, %v", res, err)
	}
	return to
}

// wantUnconfirmed checks that nothing is signed for the main corpus.
func wantUnconfirmed(t *testing.T, s api.Service) {
	t.Helper()
	ctx := t.Context()
	for name, try := range map[string]func() error{
		"add": func() error {
			_, err := s.Add(ctx, api.AddRequest{Paths: []string{pages(t, "fork", 1)}}, nil)
			return err
		},
		"withdraw": func() error {
			_, err := s.Withdraw(ctx, api.WithdrawRequest{Corpus: MainCorpus, What: []string{"file:first/p0.md"}})
			return err
		},
		"rotate": func() error {
			_, err := s.RotateCorpus(ctx, MainCorpus)
			return err
		},
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), "restored from a backup of") || api.AsError(err).Code != api.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	st, err := s.Status(ctx)
	if err != nil || st.Healthy || !strings.Contains(strings.Join(st.Problems, " "), "restored from a backup of") {
		t.Errorf("status: %q, %v", st.Problems, err)
	}
	if st.Corpora[0].Size != 3 {
		t.Errorf("%d records, want the 3 of the backup", st.Corpora[0].Size)
	}
}

func wantGoesOn(t *testing.T, s api.Service, size uint64) {
	t.Helper()
	add := api.AddRequest{Paths: []string{pages(t, "next", 1)}}
	// A busy machine may need more than one try to hear of a follower's head.
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		_, err := s.Add(t.Context(), add, nil)
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	if st, err := s.Status(t.Context()); err != nil || !st.Healthy || st.Corpora[0].Size != size+1 {
		t.Errorf("%+v, %v", st, err)
	}
}

// What a corpus has signed after its backup nobody here can know: it signs
// nothing until somebody who can has said so.
func TestARestoredCorpusWaitsUntilItsHeadIsConfirmed(t *testing.T) {
	t.Run("by its owner", func(t *testing.T) {
		home := restoredHome(t, func(Home) {})
		n := openNode(t, home)
		wantUnconfirmed(t, n)
		if res, err := n.Add(t.Context(), api.AddRequest{Private: true, Paths: []string{pages(t, "private", 1)}}, nil); err != nil || res.New != 1 {
			t.Errorf("a private add: %+v, %v", res, err)
		}
		// A backup of it is no more certain than it is.
		dir, again := filepath.Join(t.TempDir(), "backup"), Home(filepath.Join(t.TempDir(), "again"))
		since, err := os.ReadFile(home.Unconfirmed(MainCorpus))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Backup(t.Context(), api.BackupRequest{Dir: dir}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(t.Context(), RestoreOptions{Dir: dir, Home: again}, nil); err != nil {
			t.Fatal(err)
		}
		wantUnconfirmed(t, openNode(t, again))
		if got, err := os.ReadFile(again.Unconfirmed(MainCorpus)); err != nil || string(got) != string(since) {
			t.Errorf("it waits since %q, the home that was backed up since %q, %v", got, since, err)
		}
		for range 2 {
			if _, err := n.ConfirmCorpus(t.Context(), MainCorpus); err != nil {
				t.Fatal(err)
			}
		}
		wantGoesOn(t, n, 3)
	})
	t.Run("by a follower", func(t *testing.T) {
		r := restored{}
		home := restoredHome(t, func(home Home) {
			r.home = home
			r.followAt(t, 3)
		})
		publisher, _ := serve(t, home)
		wantUnconfirmed(t, publisher)
		if _, err := publisher.Join(t.Context(), r.addr); err != nil {
			t.Fatal(err)
		}
		wantGoesOn(t, publisher, 3)
	})
	t.Run("not by a published copy, which may be as old", func(t *testing.T) {
		to := filepath.Join(t.TempDir(), "public")
		home := restoredHome(t, func(home Home) { publishTo(t, home, to) })
		n := openNode(t, home)
		if _, err := n.Publish(t.Context(), api.PublishRequest{Corpus: MainCorpus, To: to}, nil); err != nil {
			t.Fatal(err)
		}
		wantUnconfirmed(t, n)
	})
	t.Run("after what was published later is back", func(t *testing.T) {
		to := filepath.Join(t.TempDir(), "public")
		home := restoredHome(t, func(home Home) {
			addPages(t, home, "later", 2)
			publishTo(t, home, to)
		})
		n := openNode(t, home)
		_, err := n.Publish(t.Context(), api.PublishRequest{Corpus: MainCorpus, To: to}, nil)
		if !errors.Is(err, corpus.ErrBehind) || api.AsError(err).Code != api.CodeInvalid {
			t.Fatalf("published over it: %v", err)
		}
		wantBehind(t, n, "FROM")
		if _, err := n.ConfirmCorpus(t.Context(), MainCorpus); err == nil {
			t.Error("a corpus that lacks records was confirmed")
		}
		if _, err := n.Sync(t.Context(), api.SyncRequest{From: "file://" + to, Corpus: n.id + "/" + MainCorpus}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := n.ConfirmCorpus(t.Context(), MainCorpus); err != nil {
			t.Fatal(err)
		}
		wantGoesOn(t, n, 5)
	})
	t.Run("also where its key was changed and retired since", func(t *testing.T) {
		to := filepath.Join(t.TempDir(), "public")
		home := restoredHome(t, func(home Home) {
			n := openNode(t, home)
			if _, err := n.RotateCorpus(t.Context(), MainCorpus); err != nil {
				t.Fatal(err)
			}
			if _, err := n.RetireCorpusKey(t.Context(), MainCorpus); err != nil {
				t.Fatal(err)
			}
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
			addPages(t, home, "later", 1)
			publishTo(t, home, to)
		})
		n := openNode(t, home)
		_, err := n.Publish(t.Context(), api.PublishRequest{Corpus: MainCorpus, To: to}, nil)
		if !errors.Is(err, corpus.ErrBehind) {
			t.Errorf("published over it: %v", err)
		}
		wantUnconfirmed(t, n)
	})
	t.Run("also where it is empty", func(t *testing.T) {
		home := newHome(t)
		n := openNode(t, home)
		dir, to := filepath.Join(t.TempDir(), "backup"), Home(filepath.Join(t.TempDir(), "new"))
		if _, err := n.Backup(t.Context(), api.BackupRequest{Dir: dir}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(t.Context(), RestoreOptions{Dir: dir, Home: to}, nil); err != nil {
			t.Fatal(err)
		}
		back := openNode(t, to)
		if _, err := back.Add(t.Context(), api.AddRequest{Paths: []string{pages(t, "fork", 1)}}, nil); err == nil {
			t.Error("an empty corpus signs a first record, which may be another's place")
		}
	})
}

func publishTo(t *testing.T, home Home, to string) {
	t.Helper()
	n := openNode(t, home)
	if _, err := n.Publish(t.Context(), api.PublishRequest{Corpus: MainCorpus, To: to}, nil); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}
