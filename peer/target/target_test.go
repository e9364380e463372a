package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"arborist/document"
	"arborist/peer"
	"arborist/proof"
	"arborist/shard"
	"arborist/shard/corpus"
)

// A home is a shared store with the corpus main of its own.
type home struct {
	t      testing.TB
	dir    string
	shared *shard.Shared
	signer *proof.Signer
}

func newHome(t testing.TB) *home {
	t.Helper()
	h := openHome(t, t.TempDir())
	if _, err := h.shared.Corpora().Create(t.Context(), "main", h.signer.Verifier()); err != nil {
		t.Fatal(err)
	}
	if err := peer.Certify(t.Context(), h.dir+"/peer.key", h.shared); err != nil {
		t.Fatal(err)
	}
	return h
}

func openHome(t testing.TB, dir string) *home {
	t.Helper()
	if err := shard.CreateShared(dir+"/shards", 1); err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, dir: dir}
	id, err := peer.LoadID(dir + "/peer.key")
	if err == nil {
		h.signer, err = proof.NewSigner(id+"/main", [32]byte{1})
	}
	if err == nil {
		h.shared, err = shard.OpenShared(dir + "/shards")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.shared.Close() })
	return h
}

func (h *home) origin() string { return h.signer.Name() }

func (h *home) add(prefix string, n int) {
	h.t.Helper()
	var all []document.Entry
	for i := range n {
		d, err := document.New(fmt.Appendf(nil, "Text %d of %s.\n\nIt says little.", i, prefix))
		if err != nil {
			h.t.Fatal(err)
		}
		all = append(all, document.Entry{Document: d, Location: document.Location{URI: fmt.Sprint("doc:/", prefix, "/", i), FetchedAt: time.Unix(1e9, 0)}})
	}
	if _, err := h.shared.Publisher(h.origin(), h.signer).Put(h.t.Context(), all); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) publish(to peer.Target, documents bool) peer.PublishResult {
	h.t.Helper()
	res, err := peer.Publish(h.t.Context(), h.shared, to, peer.PublishRequest{Corpus: h.origin(), Documents: documents})
	if err != nil {
		h.t.Fatal(err)
	}
	return res
}

func openDir(t testing.TB, dir string) *Folder {
	t.Helper()
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// follow syncs the corpus from somewhere into an empty home and returns how
// many records and documents came.
func follow(t testing.TB, from, origin string) (size uint64, documents int, err error) {
	t.Helper()
	dir := t.TempDir()
	if err := shard.CreateShared(dir+"/shards", 1); err != nil {
		t.Fatal(err)
	}
	shared, err := shard.OpenShared(dir + "/shards")
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	p, err := peer.New(peer.Config{KeyFile: dir + "/peer.key"}, shared)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	res, err := p.Sync(t.Context(), from, origin, nil)
	return res.Size, res.Documents, err
}

func TestAPublishedTreeIsWhatTheHandlerServes(t *testing.T) {
	h, dir := newHome(t), t.TempDir()
	h.add("a", 300)
	if err := h.shared.Corpora().MakeFilter(t.Context(), h.origin(), h.signer); err != nil {
		t.Fatal(err)
	}
	if res := h.publish(openDir(t, dir), true); res.Size != 300 || res.Before != 0 {
		t.Errorf("publish = %+v", res)
	}
	handler, err := peer.Handler(h.shared, peer.ServeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(filepath.Join(dir, "arborist"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, strings.TrimPrefix(path, dir), nil))
		if w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), content) {
			t.Errorf("%s: %d bytes, served with status %d are %d", path, len(content), w.Code, w.Body.Len())
		}
		return err
	})
	// 2 tiles at level 0, 1 at level 1, 2 bundles, 2 packs, documents, and what changes.
	if err != nil || files != 7+300+5 {
		t.Errorf("%d files, %v", files, err)
	}
	late := openDir(t, t.TempDir())
	h.publish(late, false)
	if res := h.publish(late, true); res.Files != 300 {
		t.Errorf("documents were asked for later: %d files", res.Files)
	}
	web := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer web.Close()
	for _, from := range []string{"file:" + dir, web.URL} {
		if size, n, err := follow(t, from, "main"); err != nil || size != 300 || n != 300 {
			t.Errorf("sync from %s: %d records, %d documents, %v", from, size, n, err)
		}
	}
}

// recorded is a target that notes what is put, and fails when told to.
type recorded struct {
	peer.Target
	mu   sync.Mutex
	puts []string
	left int // puts until all fail; negative: none fails
}

var errCut = errors.New("cut")

func (r *recorded) Put(ctx context.Context, name string, f peer.TargetFile, content io.Reader) error {
	r.mu.Lock()
	r.puts = append(r.puts, name)
	cut := r.left == 0
	r.left--
	r.mu.Unlock()
	if cut {
		io.CopyN(io.Discard, content, f.Size/2)
		return errCut
	}
	return r.Target.Put(ctx, name, f, content)
}

func TestPublishingAgainWritesWhatIsNewAndTheHeadLast(t *testing.T) {
	h := newHome(t)
	h.add("a", 300)
	to := &recorded{Target: openDir(t, t.TempDir()), left: -1}
	h.publish(to, false)
	if n := len(to.puts); !strings.HasSuffix(to.puts[n-1], "/checkpoint") {
		t.Errorf("the last of %d files was %s", n, to.puts[n-1])
	}
	to.puts = nil
	if res := h.publish(to, false); res.Files != 0 || len(to.puts) != 0 || res.Before != 300 {
		t.Errorf("publishing the same again = %+v, wrote %q", res, to.puts)
	}
	h.add("b", 10)
	h.publish(to, false)
	base := "arborist/v1/" + h.origin() + "/"
	want := []string{base + "tile/0/001.p/54", base + "tile/entries/001.p/54", base + "pack/001.p/54", "arborist/v1/corpora", base + "checkpoint"}
	if !slices.Equal(to.puts, want) {
		t.Errorf("10 new records wrote\n%s\nwant\n%s", strings.Join(to.puts, "\n"), strings.Join(want, "\n"))
	}
}

func TestAPublishThatWasCutLeavesTheOlderState(t *testing.T) {
	h := newHome(t)
	h.add("a", 270)
	dir := t.TempDir()
	folder := openDir(t, dir)
	h.publish(folder, false)
	h.add("b", 250)
	for cut := 0; ; cut++ {
		to := &recorded{Target: folder, left: cut}
		_, err := peer.Publish(t.Context(), h.shared, to, peer.PublishRequest{Corpus: h.origin()})
		size, n, syncErr := follow(t, "file:"+dir, h.origin())
		if syncErr != nil {
			t.Fatalf("after a cut at file %d: %v", cut, syncErr)
		}
		if err == nil {
			if size != 520 || n != 520 {
				t.Errorf("at the end there are %d records, %d documents", size, n)
			}
			break
		}
		if !errors.Is(err, errCut) || size != 270 {
			t.Errorf("after a cut at file %d (%v) there are %d records, want 270", cut, err, size)
		}
	}
}

// TestPublishInAProcessOfItsOwn is the publisher of the test below.
func TestPublishInAProcessOfItsOwn(t *testing.T) {
	dir := os.Getenv("ARBORIST_TEST_PUBLISH_HOME")
	if dir == "" {
		t.Skip("runs as the child of TestAKilledPublishLeavesTheOlderState")
	}
	h := openHome(t, dir)
	to := &killer{Target: openDir(t, os.Getenv("TO"))}
	fmt.Sscan(os.Getenv("KILL_AT"), &to.at)
	h.publish(to, false)
}

// killer kills the process in the middle of a file.
type killer struct {
	peer.Target
	mu sync.Mutex
	at int
}

func (k *killer) Put(ctx context.Context, name string, f peer.TargetFile, content io.Reader) error {
	k.mu.Lock()
	k.at--
	now := k.at == 0
	k.mu.Unlock()
	if now {
		content = io.MultiReader(io.LimitReader(content, f.Size/2), deadly{})
	}
	return k.Target.Put(ctx, name, f, content)
}

type deadly struct{}

func (deadly) Read([]byte) (int, error) { syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }

func TestAKilledPublishLeavesTheOlderState(t *testing.T) {
	h, dir := newHome(t), t.TempDir()
	h.add("a", 100)
	first, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	h.publish(first, false)
	first.Close()
	h.add("b", 300)
	h.shared.Close()
	for _, at := range []string{"1", "4", "5"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPublishInAProcessOfItsOwn$")
		cmd.Env = append(os.Environ(), "ARBORIST_TEST_PUBLISH_HOME="+h.dir, "TO="+dir, "KILL_AT="+at)
		var exit *exec.ExitError
		if out, err := cmd.CombinedOutput(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("the child was not killed at file %s: %v\n%s", at, err, out)
		}
		if size, _, err := follow(t, "file:"+dir, h.origin()); err != nil || size != 100 {
			t.Errorf("killed at file %s: %d records, %v", at, size, err)
		}
	}
	again := openHome(t, h.dir)
	again.publish(openDir(t, dir), false)
	if size, n, err := follow(t, "file:"+dir, h.origin()); err != nil || size != 400 || n != 400 {
		t.Errorf("published again: %d records, %d documents, %v", size, n, err)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, passing)); len(left) != 1 {
		t.Errorf("%d files are left in %s, want the lock alone", len(left), passing)
	}
}

func TestWhatATargetHoldsIsNotReplaced(t *testing.T) {
	h := newHome(t)
	h.add("a", 20)
	dir := t.TempDir()
	h.publish(openDir(t, dir), false)
	checkpoint := filepath.Join(dir, "arborist/v1", h.origin(), "checkpoint")
	whole, err := os.ReadFile(checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := proof.NewSigner(h.origin(), [32]byte{9})
	if err != nil {
		t.Fatal(err)
	}
	note := func(size uint64, root byte) []byte {
		n, err := proof.SignCheckpoint(proof.Checkpoint{Origin: h.origin(), Size: size, Root: [32]byte{root}}, stranger)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	f, err := OpenFolder(dir) // by another lock holder: refused
	if err == nil {
		f.Close()
		t.Error("two publishers write to one folder at a time")
	}
	for name, there := range map[string][]byte{
		"a newer head": note(21, 1), "another history": note(20, 1), "no head": []byte("hello"), "a giant": make([]byte, 1<<20),
	} {
		to := &recorded{Target: &Folder{root: mustRoot(t, dir), known: map[string]bool{}}, left: -1}
		if err := os.WriteFile(checkpoint, there, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := peer.Publish(t.Context(), h.shared, to, peer.PublishRequest{Corpus: h.origin()})
		if err == nil || len(to.puts) > 0 || name != "a giant" && !errors.Is(err, peer.ErrTarget) {
			t.Errorf("%s: %v, wrote %q", name, err, to.puts)
		}
	}
	if err := os.WriteFile(checkpoint, whole, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A head at the target that our own key has signed and that is not in the log
// here says that this node is an old copy, or that there are two.
func TestATargetTellsAnOldCopyOfItself(t *testing.T) {
	for name, row := range map[string]struct {
		size   uint64
		want   error
		frozen bool
	}{
		"more records":    {21, corpus.ErrBehind, false},
		"another history": {20, corpus.ErrEquivocation, true},
		"an older one":    {7, corpus.ErrEquivocation, true},
	} {
		h := newHome(t)
		h.add("a", 20)
		dir := t.TempDir()
		to := openDir(t, dir)
		h.publish(to, false)
		note, err := proof.SignCheckpoint(proof.Checkpoint{Origin: h.origin(), Size: row.size, Root: [32]byte{1}}, h.signer)
		if err != nil {
			t.Fatal(err)
		}
		checkpoint := filepath.Join(dir, "arborist/v1", h.origin(), "checkpoint")
		if err := os.WriteFile(checkpoint, note, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := peer.Publish(t.Context(), h.shared, to, peer.PublishRequest{Corpus: h.origin()}); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
		info, err := h.shared.Corpora().Lookup(t.Context(), h.origin())
		if err != nil || info.Frozen != row.frozen || !row.frozen && info.Seen != row.size {
			t.Errorf("%s: the store has %+v, %v", name, info, err)
		}
		if left, err := os.ReadFile(checkpoint); err != nil || string(left) != string(note) {
			t.Errorf("%s: the target's head was replaced, %v", name, err)
		}
	}
}

// wantFollowedFrom adds 10 documents to the 300 that a bucket has, publishes them
// there, and follows the corpus from the bucket's address.
func wantFollowedFrom(t *testing.T, h *home, bucket peer.Target, url string) {
	t.Helper()
	h.add("b", 10)
	to := &recorded{Target: bucket, left: -1}
	if res := h.publish(to, false); res.Before != 300 || res.Files != 5 || !strings.HasSuffix(to.puts[4], "/checkpoint") {
		t.Errorf("10 new records = %+v, wrote %q", res, to.puts)
	}
	size, n, err := follow(t, url+"/corpora/some/where/arborist/v1/", "main")
	if err != nil || size != 310 || n != 310 {
		t.Errorf("sync: %d records, %d documents, %v", size, n, err)
	}
}

func mustRoot(t testing.TB, dir string) *os.Root {
	t.Helper()
	r, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestNothingIsWrittenOutsideAFolder(t *testing.T) {
	h, dir, outside := newHome(t), t.TempDir(), t.TempDir()
	h.add("a", 3)
	if err := os.Symlink(outside, filepath.Join(dir, "arborist")); err != nil {
		t.Fatal(err)
	}
	if _, err := peer.Publish(t.Context(), h.shared, openDir(t, dir), peer.PublishRequest{Corpus: h.origin()}); err == nil {
		t.Error("a link out of the folder was followed")
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("%d files were written outside", len(left))
	}
}
