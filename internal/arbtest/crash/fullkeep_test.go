package crash_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"arborist/daemon"
	"arborist/daemon/api"
	"arborist/shard"
)

// What looks after a store says how much space it lacks, changes nothing, and
// succeeds once there is some.
func TestUpkeepOnAFullDiskSaysSoAndChangesNothing(t *testing.T) {
	disk := smallDisk(t, 24<<20)
	home, pages := daemon.Home(filepath.Join(disk, "home")), t.TempDir()
	if _, err := daemon.Init(t.Context(), home, 2); err != nil {
		t.Fatal(err)
	}
	n := openHome(t, home)
	const documents = 8
	for i := range documents {
		writePage(t, pages, i)
	}
	if _, err := n.Add(t.Context(), api.AddRequest{Paths: []string{pages}}, nil); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	origin := followOther(t, n)
	upkeep := map[string]func() error{
		"purge": func() error {
			_, err := n.Unsync(ctx, api.UnsyncRequest{Corpus: origin, Purge: true}, nil)
			return err
		},
		"compact": func() error { _, err := n.Compact(ctx, api.CompactRequest{}, nil); return err },
		"split":   func() error { _, err := n.SplitShards(ctx, api.SplitRequest{}, nil); return err },
		"repair":  func() error { _, err := n.CheckWith(ctx, api.CheckRequest{Repair: true}); return err },
		"heal":    func() error { _, err := n.CheckWith(ctx, api.CheckRequest{Heal: true}); return err },
		"backup": func() error {
			_, err := n.Backup(ctx, api.BackupRequest{Dir: filepath.Join(disk, "copy")}, nil)
			return err
		},
	}
	ballast := filepath.Join(disk, "ballast")
	fill(t, ballast)
	for name, do := range upkeep {
		err := do()
		if !errors.Is(err, shard.ErrFull) && !errors.Is(err, syscall.ENOSPC) || !strings.Contains(api.AsError(err).Hint, "space") {
			t.Errorf("%s on a full disk: %v, next: %q", name, err, api.AsError(err).Hint)
		}
		mustBeFound(t, n, documents)
	}
	// There is space to write now, and less than writing the shards anew takes.
	if info, err := os.Stat(ballast); err != nil || os.Truncate(ballast, info.Size()-1300<<10) != nil {
		t.Fatal(err)
	}
	mustBeIn(t, n, "read-write")
	if err := upkeep["purge"](); !errors.Is(err, shard.ErrFull) {
		t.Errorf("purge without room for it: %v", err)
	}
	if res, err := n.Check(ctx); err != nil || len(res.Problems) > 0 || res.Documents != documents+1 {
		t.Errorf("check: %+v, %v", res, err)
	}
	if res, err := n.ListCorpora(ctx); err != nil || len(res.Corpora) != 2 {
		t.Errorf("what is followed: %+v, %v", res, err)
	}
	if err := errors.Join(os.Remove(ballast), os.RemoveAll(filepath.Join(disk, "copy"))); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT, "size=96M"); err != nil {
		t.Fatal(err)
	}
	for name, do := range upkeep {
		if err := do(); err != nil {
			t.Errorf("%s with space again: %v", name, err)
		}
	}
	mustBeFound(t, n, documents)
	if res, err := n.Check(ctx); err != nil || len(res.Problems) > 0 || res.Documents != documents {
		t.Errorf("check after a purge: %+v, %v", res, err)
	}
	if st, err := n.Status(ctx); err != nil || st.Shards != 4 || !st.Healthy {
		t.Errorf("status %+v, %v", st, err)
	}
}

// followOther has a node follow a corpus of another home, with one document, and
// returns its origin.
func followOther(t *testing.T, n *daemon.Node) string {
	t.Helper()
	home, pages, www := daemon.Home(filepath.Join(t.TempDir(), "other")), t.TempDir(), t.TempDir()
	if _, err := daemon.Init(t.Context(), home, 1); err != nil {
		t.Fatal(err)
	}
	other := openHome(t, home)
	writePage(t, pages, 100)
	if _, err := other.Add(t.Context(), api.AddRequest{Paths: []string{pages}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Publish(t.Context(), api.PublishRequest{Corpus: daemon.MainCorpus, To: www}, nil); err != nil {
		t.Fatal(err)
	}
	res, err := n.Sync(t.Context(), api.SyncRequest{From: "file:" + www, Corpus: daemon.MainCorpus}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res.Corpus.Origin
}
