package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arborist/daemon/api"
	"arborist/document"
	"arborist/shard/corpus"
)

// TestABackupDuringAddsRestoresCleanWithAllThatWasAcknowledged: shared and
// private documents go in all the time, some of them superseding others.
func TestABackupDuringAddsRestoresCleanWithAllThatWasAcknowledged(t *testing.T) {
	home := newHome(t)
	c, stop := serve(t, home)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	defer cancel()
	acknowledged := make(chan document.Root, 10_000)
	ended := make(chan error, 2)
	docs := t.TempDir()
	for _, private := range []bool{false, true} {
		go func() {
			for i := 0; ; i++ {
				text := fmt.Sprintf("# Page %d\n\nGranite, private: %v.\n\n%s", i, private, strings.Repeat("Filling text. ", 300))
				path := filepath.Join(docs, fmt.Sprintf("p%d-%v.md", i%7, private))
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					ended <- err
					return
				}
				if _, err := c.Add(ctx, api.AddRequest{Paths: []string{path}, Private: private}, nil); err != nil {
					if ctx.Err() != nil {
						err = nil
					}
					ended <- err
					return
				}
				d, err := document.New([]byte(text))
				if err != nil {
					ended <- err
					return
				}
				acknowledged <- d.Root()
			}
		}()
	}
	var restored []Home
	for range 3 {
		time.Sleep(100 * time.Millisecond)
		before := len(acknowledged)
		dir := filepath.Join(t.TempDir(), "backup")
		stages := 0
		res, err := c.Backup(ctx, api.BackupRequest{Dir: dir}, func(api.Progress) { stages++ })
		if err != nil || res.Files < 7 || stages == 0 {
			t.Fatalf("%+v, %v, %d progress reports", res, err, stages)
		}
		to := Home(filepath.Join(t.TempDir(), "new"))
		back, err := Restore(t.Context(), RestoreOptions{Dir: dir, Home: to}, nil)
		if err != nil || len(back.Problems) > 0 || back.PeerID != res.PeerID || !back.Made.Equal(res.Made) {
			t.Fatalf("%+v, %v", back, err)
		}
		n := openNode(t, to)
		for range before {
			root := <-acknowledged
			if _, err := n.Text(t.Context(), root); err != nil {
				t.Fatal("acknowledged before the backup: ", err)
			}
		}
		restored = append(restored, to)
		if check, err := n.Check(t.Context()); err != nil || len(check.Problems) > 0 {
			t.Errorf("restored: %+v, %v", check, err)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := errors.Join(<-ended, <-ended, stop()); err != nil {
		t.Fatal(err)
	}
	mustBeOwnersAlone(t, restored[0])
	n := openNode(t, restored[0])
	if _, err := n.ConfirmCorpus(context.WithoutCancel(ctx), MainCorpus); err != nil {
		t.Fatal(err)
	}
	add(t, n, api.AddRequest{Paths: []string{pages(t, "later", 2)}}) // its keys sign
}

// mustBeOwnersAlone checks that nobody else can read anything of a home.
func mustBeOwnersAlone(t *testing.T, home Home) {
	t.Helper()
	err := filepath.WalkDir(string(home), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// aBackup makes a home with shared, private and loose files, and backs it up.
func aBackup(t *testing.T) (home Home, dir string) {
	t.Helper()
	home = newHome(t)
	addPages(t, home, "first", 3)
	n := openNode(t, home)
	add(t, n, api.AddRequest{Paths: []string{pages(t, "secret", 2)}, Private: true})
	writeFile(t, filepath.Join(home.Private(), "answer.txt"), "derived")
	dir = filepath.Join(t.TempDir(), "backup")
	if _, err := n.Backup(t.Context(), api.BackupRequest{Dir: dir}, nil); err != nil {
		t.Fatal(err)
	}
	mustBeOwnersAlone(t, Home(dir))
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	return home, dir
}

func TestWhatIsNoWholeBackupIsNotRestored(t *testing.T) {
	_, good := aBackup(t)
	edit := func(name, from, to string) func(string) error {
		return func(dir string) error {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !strings.Contains(string(b), from) {
				return fmt.Errorf("%s has no %q: %w", name, from, err)
			}
			return os.WriteFile(filepath.Join(dir, name), []byte(strings.Replace(string(b), from, to, 1)), 0o600)
		}
	}
	for name, spoil := range map[string]func(dir string) error{
		"interrupted": func(d string) error { return os.Remove(filepath.Join(d, manifestName)) },
		"manifest not named": func(d string) error {
			return os.Rename(filepath.Join(d, manifestName), filepath.Join(d, manifestName+".new"))
		},
		"a file is missing": func(d string) error { return os.Remove(filepath.Join(d, "keys", "peer.key")) },
		"a file is cut":     func(d string) error { return os.Truncate(filepath.Join(d, "shards", "00.db"), 8192) },
		"a bit is changed":  edit("private/answer.txt", "derived", "derivee"),
		"a key is a link": func(d string) error {
			p := filepath.Join(d, "keys", "peer.key")
			return errors.Join(os.Rename(p, p+"x"), os.Symlink(p+"x", p))
		},
		"leaves the home":     edit(manifestName, "  keys/peer.key", "  keys/../../peer.key"),
		"an unknown place":    edit(manifestName, "  config.toml", "  arborist.sock"),
		"another version":     edit(manifestName, "arborist-backup/1", "arborist-backup/2"),
		"a file is not named": edit(manifestName, "# files ", "# files 1"),
		"other bytes":         edit(manifestName, "# bytes ", "# bytes 1"),
		"manifest is cut":     func(d string) error { return os.Truncate(filepath.Join(d, manifestName), 200) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
				t.Fatal(err)
			}
			if err := spoil(dir); err != nil {
				t.Fatal(err)
			}
			for _, dry := range []bool{true, false} {
				to := Home(filepath.Join(t.TempDir(), "new"))
				_, err := Restore(t.Context(), RestoreOptions{Dir: dir, Home: to, DryRun: dry}, nil)
				if err == nil || api.AsError(err).Message == "" {
					t.Errorf("dry run %v: restored", dry)
				}
				if left, err := os.ReadDir(filepath.Dir(string(to))); err != nil || len(left) > 0 {
					t.Errorf("dry run %v: it left %v, %v", dry, left, err)
				}
			}
		})
	}
	to := Home(filepath.Join(t.TempDir(), "new"))
	if res, err := Restore(t.Context(), RestoreOptions{Dir: good, Home: to, DryRun: true}, nil); err != nil || res.Files < 8 {
		t.Errorf("the whole one: %+v, %v", res, err)
	}
	if _, err := os.Stat(string(to)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the dry run wrote")
	}
}

func TestNothingIsReplacedByBackupOrRestore(t *testing.T) {
	home, dir := aBackup(t)
	n := openNode(t, home)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(string(home), link); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{dir, string(home), filepath.Join(string(home), "backup"), filepath.Join(link, "private", "b")} {
		if _, err := n.Backup(t.Context(), api.BackupRequest{Dir: to}, nil); err == nil || api.AsError(err).Code != api.CodeUsage {
			t.Errorf("backup to %s: %v", to, err)
		}
	}
	if _, err := Restore(t.Context(), RestoreOptions{Dir: dir, Home: home}, nil); err == nil || api.AsError(err).Code != api.CodeUsage {
		t.Errorf("restore over a home: %v", err)
	}
	empty := Home(t.TempDir())
	if _, err := Restore(t.Context(), RestoreOptions{Dir: dir, Home: empty}, nil); err != nil {
		t.Errorf("restore to an empty folder: %v", err)
	}
	other := Home(filepath.Join(t.TempDir(), "new"))
	if err := os.Mkdir(string(other)+".restoring", 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(string(other)+".restoring", "mine.txt"), "not yours")
	if _, err := Restore(t.Context(), RestoreOptions{Dir: dir, Home: other}, nil); err == nil {
		t.Error("a folder of somebody else's was taken")
	}
	if _, err := os.Stat(filepath.Join(string(other)+".restoring", "mine.txt")); err != nil {
		t.Error(err)
	}
}

func TestAFailedBackupLeavesNothing(t *testing.T) {
	home := newHome(t)
	addPages(t, home, "first", 3)
	n := openNode(t, home)
	dir := filepath.Join(t.TempDir(), "backup")
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	defer cancel()
	_, err := n.Backup(ctx, api.BackupRequest{Dir: dir}, func(p api.Progress) {
		if p.Done == 2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	if _, err := n.Backup(t.Context(), api.BackupRequest{Dir: dir}, nil); err != nil {
		t.Error("the same folder again: ", err)
	}
}

// TestARestoredBackupSignsNothingBelowWhatItsFollowersSaw: keys and kept heads
// are as old as the rest, so that only others know.
func TestARestoredBackupSignsNothingBelowWhatItsFollowersSaw(t *testing.T) {
	r := restored{home: newHome(t)}
	addPages(t, r.home, "first", 3)
	n := openNode(t, r.home)
	dir := filepath.Join(t.TempDir(), "backup")
	if _, err := n.Backup(t.Context(), api.BackupRequest{Dir: dir}, nil); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	publisher, joined := r.fromBackup(t, dir)
	_, err := publisher.Add(t.Context(), api.AddRequest{Paths: []string{pages(t, "fork", 1)}}, nil)
	if err == nil || !strings.Contains(err.Error(), corpus.ErrBehind.Error()) {
		t.Fatalf("first add: %v", err)
	}
	wantBehind(t, publisher, joined.PeerID)
	r.wantBack(t, publisher)
	at, err := publisher.PeerID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.wantFollowed(t, at.Addrs[0])
}
