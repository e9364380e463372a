package crash_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"arborist/daemon"
	"arborist/daemon/api"
	"arborist/document"
	"arborist/shard"
)

// smallDisk mounts a disk of so many bytes, which takes root.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size)); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill leaves no byte of a disk free.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for {
		if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func openHome(t *testing.T, home daemon.Home) *daemon.Node {
	t.Helper()
	n, err := daemon.Open(t.Context(), daemon.Options{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

// writePage writes a file that is to be added, and returns its text.
func writePage(t *testing.T, dir string, i int) string {
	t.Helper()
	text := fmt.Sprintf("word%dbegins here.\n\n%s", i, strings.Repeat(fmt.Sprintf("Filling of page %d, which is long. ", i), 2000))
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.txt", i)), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return text
}

func mustBeFound(t *testing.T, n *daemon.Node, pages int) {
	t.Helper()
	for i := range pages {
		res, err := n.Query(t.Context(), api.QueryRequest{Text: fmt.Sprintf("word%dbegins", i), Limit: 2})
		if err != nil || len(res.Hits) != 1 {
			t.Fatalf("page %d: %d hits, %v", i, len(res.Hits), err)
		}
		if _, err := document.New([]byte(res.Hits[0].Text)); err != nil {
			t.Errorf("page %d: %v", i, err)
		}
	}
}

func mustBeIn(t *testing.T, n *daemon.Node, state string) {
	t.Helper()
	st, err := n.Status(t.Context())
	if err != nil || st.State != state || st.Healthy != (state == "read-write") {
		t.Errorf("status %q, healthy %t, %q, %v; want %q", st.State, st.Healthy, st.Problems, err, state)
	}
}

// TestFullDiskIsReadOnlyUntilThereIsSpace is threat 35: a full disk is an error
// that says so, everything acknowledged stays readable, also for a daemon that
// starts then, status names the state, and it ends by itself.
func TestFullDiskIsReadOnlyUntilThereIsSpace(t *testing.T) {
	disk := smallDisk(t, 16<<20)
	home, pages := daemon.Home(filepath.Join(disk, "home")), t.TempDir()
	if _, err := daemon.Init(t.Context(), home, 2); err != nil {
		t.Fatal(err)
	}
	n := openHome(t, home)
	mustBeIn(t, n, "read-write")
	acknowledged := 0
	add := func() error {
		writePage(t, pages, acknowledged)
		_, err := n.Add(t.Context(), api.AddRequest{Paths: []string{filepath.Join(pages, fmt.Sprintf("%d.txt", acknowledged))}}, nil)
		if err == nil {
			acknowledged++
		}
		return err
	}
	mustBeFull := func(when string) {
		t.Helper()
		if err := add(); !errors.Is(err, shard.ErrFull) || api.AsError(err).Hint == "" {
			t.Fatalf("add %s: %v", when, err)
		}
		mustBeIn(t, n, "read-only: disk full")
		mustBeFound(t, n, acknowledged)
	}
	var err error
	for err == nil && acknowledged < 1000 {
		err = add()
	}
	if !errors.Is(err, shard.ErrFull) || acknowledged < 3 {
		t.Fatalf("%d pages, then %v", acknowledged, err)
	}
	t.Logf("%d pages, then: %v", acknowledged, err)
	mustBeFull("on a full disk")

	ballast := filepath.Join(disk, "ballast")
	fill(t, ballast)
	mustBeFull("with no byte left")
	n.Close() // may leave the logs where they are
	fill(t, ballast+"2")
	n = openHome(t, home)
	mustBeFound(t, n, acknowledged)
	fill(t, ballast+"3") // what the logs took
	mustBeFull("in a new process")

	if err := errors.Join(os.Remove(ballast), os.Remove(ballast+"2"), os.Remove(ballast+"3")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT, "size=48M"); err != nil {
		t.Fatal(err)
	}
	if err := add(); err != nil {
		t.Fatalf("add with space again: %v", err)
	}
	mustBeIn(t, n, "read-write")
	mustBeFound(t, n, acknowledged)
	res, err := n.Check(t.Context())
	if err != nil || len(res.Problems) > 0 {
		t.Errorf("check: %q, %v", res.Problems, err)
	}
}

// TestWriteThatFindsTheDiskFull meets the end of the disk in the middle of a
// commit, below the daemon's own limit.
func TestWriteThatFindsTheDiskFull(t *testing.T) {
	disk := smallDisk(t, 8<<20)
	home := daemon.Home(filepath.Join(disk, "home"))
	res, err := daemon.Init(t.Context(), home, 2)
	if err != nil {
		t.Fatal(err)
	}
	s, err := openStores(home, res.PeerID)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	put := 0
	for ; put < 2000 && err == nil; put++ {
		err = s.put(t.Context(), put, put%2 == 1)
	}
	put-- // the one that failed
	if !errors.Is(err, shard.ErrFull) || put < 3 {
		t.Fatalf("%d batches, then %v", put, err)
	}
	t.Logf("%d batches, then: %v", put, err)
	mustHold := func() {
		t.Helper()
		for n := range put {
			var from hold = s.shared
			if n%2 == 1 {
				from = s.private.File()
			}
			if err := holds(t.Context(), from, batch(n, n%2 == 1)); err != nil {
				t.Errorf("batch %d: %v", n, err)
			}
		}
	}
	mustHold()
	if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT, "size=32M"); err != nil {
		t.Fatal(err)
	}
	for ; err != nil || put%7 != 0; put++ {
		if err = s.put(t.Context(), put, put%2 == 1); err != nil {
			t.Fatalf("put with space again: %v", err)
		}
	}
	mustHold()
	if err := s.clean(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestHomeOpensWhereItsLogHasNoRoom fills the disk while the write-ahead log of
// the corpora is longer than the reserve, as where a backup read the file when
// much was added: it cannot be moved into its file, and is read where it is.
func TestHomeOpensWhereItsLogHasNoRoom(t *testing.T) {
	disk := smallDisk(t, 48<<20)
	home, pages := daemon.Home(filepath.Join(disk, "home")), t.TempDir()
	if _, err := daemon.Init(t.Context(), home, 2); err != nil {
		t.Fatal(err)
	}
	n := openHome(t, home)
	release := holdLog(t, filepath.Join(home.Shards(), shard.CorporaName))
	for i := range 3 {
		writePage(t, pages, i)
	}
	for i := range 4000 {
		if err := os.WriteFile(filepath.Join(pages, fmt.Sprintf("small%d.txt", i)), fmt.Appendf(nil, "Page %d of many.", i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	add := func() error {
		_, err := n.Add(t.Context(), api.AddRequest{Paths: []string{pages}}, nil)
		return err
	}
	if err := add(); err != nil {
		t.Fatal(err)
	}
	writePage(t, pages, 3)
	n.Close()
	fill(t, filepath.Join(disk, "ballast"))
	release()
	for range 3 { // what is left, the reserve, must be enough again and again
		n.Close()
		n = openHome(t, home)
		mustBeFound(t, n, 3)
		mustBeIn(t, n, "read-only: disk full")
		if err := add(); !errors.Is(err, shard.ErrFull) {
			t.Fatalf("add on a full disk: %v", err)
		}
	}
	if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT, "size=128M"); err != nil {
		t.Fatal(err)
	}
	if err := add(); err != nil {
		t.Fatalf("add with space again: %v", err)
	}
	mustBeFound(t, n, 4)
	if res, err := n.Check(t.Context()); err != nil || len(res.Problems) > 0 {
		t.Errorf("check: %q, %v", res.Problems, err)
	}
}

// holdLog reads a file, so that its write-ahead log stays, until release is called.
func holdLog(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN; SELECT count(*) FROM sqlite_schema"); err != nil {
		t.Fatal(err)
	}
	return func() { db.Close() }
}
