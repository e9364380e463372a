package daemon

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arborist/daemon/api"
	"arborist/shard/corpus"
)

// TestAHomeFromBeforeARetiredRotationSignsNothing restores a whole home, keys
// and all, from before its corpus changed its key: it is of one piece, and only
// its follower knows better. Its old key must not sign a second history.
func TestAHomeFromBeforeARetiredRotationSignsNothing(t *testing.T) {
	for _, waits := range []bool{true, false} {
		r := restored{home: newHome(t)}
		addPages(t, r.home, "first", 3)
		n := openNode(t, r.home)
		dir := filepath.Join(t.TempDir(), "backup")
		if _, err := n.Backup(t.Context(), api.BackupRequest{Dir: dir}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := n.RotateCorpus(t.Context(), MainCorpus); err != nil {
			t.Fatal(err)
		}
		if _, err := n.RetireCorpusKey(t.Context(), MainCorpus); err != nil {
			t.Fatal(err)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		publisher, joined := r.fromBackup(t, dir)
		for end := time.Now().Add(20 * time.Second); waits; time.Sleep(20 * time.Millisecond) {
			st, err := publisher.Status(t.Context())
			if err != nil || time.Now().After(end) {
				t.Fatalf("the daemon does not notice: %+v, %v", st, err)
			}
			if strings.Contains(strings.Join(st.Problems, "\n"), "its key was changed after this backup") {
				break
			}
		}
		for name, try := range map[string]func() error{
			"add": func() error {
				_, err := publisher.Add(t.Context(), api.AddRequest{Paths: []string{pages(t, "fork", 1)}}, nil)
				return err
			},
			"rotate": func() error { _, err := publisher.RotateCorpus(t.Context(), MainCorpus); return err },
		} {
			err := try()
			if err == nil || !strings.Contains(err.Error(), corpus.ErrBehind.Error()) || !strings.Contains(api.AsError(err).Hint, joined.PeerID) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if st, err := publisher.Status(t.Context()); err != nil || st.Healthy || st.Corpora[0].Size != 3 {
			t.Errorf("status %+v, %v", st, err)
		}
		if st, err := r.follower.Status(t.Context()); err != nil || !st.Healthy {
			t.Errorf("follower: %+v, %v", st, err)
		}
	}
}
