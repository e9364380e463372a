package crash_test

import (
	"strings"
	"testing"

	"arborist/internal/arbtest/crash"
)

// Without syncs, or with those alone that synchronous=NORMAL makes, the same
// images must show losses: otherwise the harness could not see any.
func TestLostSyncsLoseWhatWasAcknowledged(t *testing.T) {
	log, _ := record(t, schedule{Shards: 2, Rounds: 2, Reopens: 1})
	for name, drop := range map[string]func(crash.Op) bool{
		"synchronous=OFF":      func(o crash.Op) bool { return o.Action == crash.Sync },
		"synchronous=NORMAL":   func(o crash.Op) bool { return o.Action == crash.Sync && strings.HasSuffix(o.Path, "-wal") },
		"no synced folders":    func(o crash.Op) bool { return o.Action == crash.Sync && !strings.Contains(o.Path, ".") },
		"no synced corpus log": func(o crash.Op) bool { return o.Action == crash.Sync && strings.Contains(o.Path, "corpora.db") },
	} {
		t.Run(name, func(t *testing.T) {
			sum := replay(t, log.Without(drop), 200, 1, func(c count) bool { return c.lost > 0 })
			t.Log(sum)
			if sum.lost == 0 {
				t.Error("nothing acknowledged is lost in any image: the harness is blind to it")
			}
		})
	}
}

// TestFailedSyncIsNeverASuccess is threat 36: what an fsync has failed for may
// never reach the disk, and no later fsync says so. A commit whose sync failed
// is reported as failed, and whatever is acknowledged afterwards, in the same
// process or in one that follows a kill, must not rest on it.
func TestFailedSyncIsNeverASuccess(t *testing.T) {
	s := schedule{Shards: 2, Rounds: 6, Reopens: 2, Insist: true}
	// Strace counts for each thread on its own. A step that makes more syncs than
	// lie between two failures, and begins at the first of them when it is tried
	// again, never comes through where it stays on one thread: to make a new shard
	// file takes 14, with the folders above it.
	log, trace := record(t, s, "fsync,fdatasync:error=EIO:when=4+19")
	failed, refused := 0, 0
	for _, o := range log.Ops {
		if o.Action == crash.Sync && o.Failed {
			failed++
		}
		if o.Action == crash.Ack && strings.HasPrefix(string(o.Data), "failed ") {
			t.Logf("%.300s", o.Data)
			refused++
		}
	}
	n := number(t, imagesVariable, 40)
	sum := replay(t, log, n, uint64(number(t, seedVariable, 1)), nil)
	t.Logf("%v; %d syncs failed, %d steps were refused", sum, failed, refused)
	if failed < 4 || refused < 2 {
		t.Errorf("%d syncs failed, %d steps were refused: the test tests too little", failed, refused)
	}
	for _, f := range sum.faults {
		t.Error(f)
	}
	if len(sum.faults) > 0 {
		keep(t, trace)
	}
}
