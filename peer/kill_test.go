package peer

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"arborist/shard"
)

// childDir tells a run of this test binary that it is the follower that gets
// killed, and where its home is.
const childDir = "ARBORIST_TEST_SYNC_CHILD"

// TestSyncInAProcessOfItsOwn is the follower of the test below.
func TestSyncInAProcessOfItsOwn(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("runs as the child of TestAKilledSyncLosesNothing")
	}
	shared, err := shard.OpenShared(dir + "/shards")
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	p, err := New(Config{KeyFile: dir + "/keys/peer.key"}, shared)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	last, err := strconv.Atoi(os.Getenv("KILL_AT"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := p.Sync(t.Context(), os.Getenv("FROM"), os.Getenv("CORPUS"), func(p Progress) {
		if last > 0 && p.Documents >= last {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("result documents=%d resumed=%d size=%d\n", res.Documents, res.Resumed, res.Size)
}

func TestAKilledSyncLosesNothing(t *testing.T) {
	const n = 1500
	a, b := newNode(t).up(nil), newNode(t)
	a.publish("main", entriesOf(t, "doc:/x", n, 150)...)
	// Versions whose order matters, early and late in the log.
	for i := range 3 {
		a.publish("main", entryOf(t, "doc:/x/7", fmt.Sprint("version ", i)), entryOf(t, "doc:/x/1400", fmt.Sprint("version ", i)))
	}
	server := httptest.NewServer(a.peer.Handler())
	defer server.Close()
	run := func(killAt int) (string, error) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSyncInAProcessOfItsOwn$", "-test.v")
		cmd.Env = append(os.Environ(), childDir+"="+b.dir, "FROM="+server.URL, "CORPUS="+a.origin("main"), "KILL_AT="+strconv.Itoa(killAt))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	b.close()
	for _, killAt := range []int{1, 600, 1200} {
		out, err := run(killAt)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("the child was not killed at record %d: %v\n%s", killAt, err, out)
		}
		b.openStore()
		if _, err := b.shared.Check(t.Context(), func(p string) { t.Errorf("check after a kill: %s", p) }); err != nil {
			t.Error(err)
		}
		b.close()
	}
	out, err := run(0)
	if err != nil {
		t.Fatalf("the last run: %v\n%s", err, out)
	}
	if !strings.Contains(out, fmt.Sprintf("size=%d", n+6)) || strings.Contains(out, "resumed=0") {
		t.Errorf("the last run fetched everything again:\n%s", out)
	}
	b.openStore()
	sameLog(t, a, b, "main")
}
