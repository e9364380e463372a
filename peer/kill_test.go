package peer

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"arborist/document"
	"arborist/shard"
)

// childDir tells a run of this test binary that it is the follower that gets
// killed, and where its home is.
const childDir = "ARBORIST_TEST_SYNC_CHILD"

// TestSyncInAProcessOfItsOwn is the follower of the test below.
func TestSyncInAProcessOfItsOwn(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("runs as the child of the tests of killed syncs")
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

// childSync has another process sync, which kills itself at a record. 0: not at all.
func (n *node) childSync(from, corpus string, killAt int) (output string, err error) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestSyncInAProcessOfItsOwn$", "-test.v")
	cmd.Env = append(os.Environ(), childDir+"="+n.dir, "FROM="+from, "CORPUS="+corpus, "KILL_AT="+strconv.Itoa(killAt))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (n *node) killedSync(from, corpus string, killAt int) {
	n.t.Helper()
	out, err := n.childSync(from, corpus, killAt)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		n.t.Fatalf("the child was not killed at record %d: %v\n%s", killAt, err, out)
	}
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
	b.close()
	for _, killAt := range []int{1, 600, 1200} {
		b.killedSync(server.URL, a.origin("main"), killAt)
		b.openStore()
		if _, err := b.shared.Check(t.Context(), func(p string) { t.Errorf("check after a kill: %s", p) }); err != nil {
			t.Error(err)
		}
		b.close()
	}
	out, err := b.childSync(server.URL, a.origin("main"), 0)
	if err != nil {
		t.Fatalf("the last run: %v\n%s", err, out)
	}
	if !strings.Contains(out, fmt.Sprintf("size=%d", n+6)) || strings.Contains(out, "resumed=0") {
		t.Errorf("the last run fetched everything again:\n%s", out)
	}
	b.openStore()
	sameLog(t, a, b, "main")
}

// A sync of edited documents that is killed asks again for the deltas of those alone
// that are not here yet.
func TestAKilledSyncOfEditedDocumentsGoesOn(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	const large, small = 8, 300
	text := func(i int) string { return textOf(fmt.Sprint("long", i), minDelta) }
	var first, second []document.Entry
	for i := range large {
		uri := fmt.Sprint(editedURI, i)
		first = append(first, entryOf(t, uri, text(i)))
		second = append(second, entryOf(t, uri, edited(text(i), 400)))
		second = append(second, entriesOf(t, fmt.Sprint("doc:/", i), small, 150)...)
	}
	a.publish("main", first...)
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ofKind(kindDelta)(strings.TrimPrefix(r.URL.Path, PathPrefix)) {
			mu.Lock()
			asked = append(asked, r.URL.Path)
			mu.Unlock()
		}
		a.peer.Handler().ServeHTTP(w, r)
	}))
	defer server.Close()
	b.sync(server.URL, a.origin("main"))
	a.publish("main", second...)
	b.close()
	b.killedSync(server.URL, a.origin("main"), large*small/2)
	b.openStore()
	if _, err := b.shared.Check(t.Context(), func(p string) { t.Errorf("check after a kill: %s", p) }); err != nil {
		t.Error(err)
	}
	here := 0
	for _, e := range second {
		has, err := b.shared.Has(t.Context(), []document.Root{e.Document.Root()})
		if err != nil {
			t.Fatal(err)
		}
		if has[0] && e.Document.Chunks() > 1 {
			here++
		}
	}
	if here == 0 || here == large {
		t.Fatalf("%d of %d edited documents came before the kill, want some", here, large)
	}
	asked = nil
	b.up(nil)
	if res := b.sync(server.URL, a.origin("main")); len(asked) != large-here || res.Size != uint64(len(first)+len(second)) {
		t.Errorf("%d deltas were asked for after the kill, want %d; %+v", len(asked), large-here, res)
	}
	sameLog(t, a, b, "main")
}
