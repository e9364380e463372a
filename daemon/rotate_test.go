package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"arborist/proof"
	"arborist/shard"
)

// A kill can leave the key files of a rotation at any of these steps; each time
// the corpus has a key to sign with, and the files settle.
func TestKilledRotationLeavesAKeyThatSigns(t *testing.T) {
	for _, step := range []string{"key written", "rotated", "old key linked", "done"} {
		home := Home(t.TempDir())
		if err := home.makeFolders(); err != nil {
			t.Fatal(err)
		}
		if err := shard.CreateShared(home.Shards(), 1); err != nil {
			t.Fatal(err)
		}
		shared, err := shard.OpenShared(home.Shards())
		if err != nil {
			t.Fatal(err)
		}
		defer shared.Close()
		ctx, id := t.Context(), "12D3KooWGzxzKZYveHXtpG6AsrUJBcWxHBFS2HsEoGTxrMLvKXtf"
		info, err := createCorpus(ctx, home, shared, id, "main")
		if err != nil {
			t.Fatal(err)
		}
		old, err := loadSigner(home, "main")
		if err != nil {
			t.Fatal(err)
		}
		next, err := nextSigner(home, info)
		if err != nil {
			t.Fatal(err)
		}
		want := old
		if step != "key written" {
			want = next
			if _, err := shared.Corpora().Rotate(ctx, info.Origin, old, next); err != nil {
				t.Fatal(err)
			}
		}
		if step == "old key linked" {
			if err := os.Link(home.CorpusKey("main"), home.OldCorpusKey("main")); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if info, err = createCorpus(ctx, home, shared, id, "main"); err != nil {
				t.Fatalf("%s: %v", step, err)
			}
			present, beside, err := corpusSigners(home, info)
			if err != nil || present.Verifier().String() != want.Verifier().String() || len(beside) != map[bool]int{true: 0, false: 1}[want == old] {
				t.Fatalf("%s: %v signs with %d beside, %v", step, present, len(beside), err)
			}
			if _, err := shared.Corpora().Append(ctx, info.Origin, present, []proof.Record{}, beside...); err != nil {
				t.Errorf("%s: %v", step, err)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(home.Keys(), "*.next.key")); (len(left) > 0) != (want == old) {
			t.Errorf("%s: left %v", step, left)
		}
	}
}

// A kill between the two last steps of a write leaves the file under two names.
// One of them becomes another key's by and by; the next write under the other
// must not reach it.
func TestAKeyThatWasMadeIsNeverWrittenOver(t *testing.T) {
	home := Home(t.TempDir())
	if err := home.makeFolders(); err != nil {
		t.Fatal(err)
	}
	first, main := home.NextCorpusKey("main"), home.CorpusKey("main")
	if err := writeNew(first, []byte("the key in force\n")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(first, first+".new"); err != nil { // as a kill leaves it
		t.Fatal(err)
	}
	if err := os.Rename(first, main); err != nil {
		t.Fatal(err)
	}
	if err := writeNew(first, []byte("the key to come\n")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{main: "the key in force\n", first: "the key to come\n"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if _, err := os.Lstat(first + ".new"); err == nil {
		t.Error("what the kill had left is still there")
	}
}

// A corpus whose key is lost gets no other one beside its log: the file stays
// missing, for the backup that has it.
func TestALostKeyIsNotReplaced(t *testing.T) {
	home := newHome(t)
	addPages(t, home, "first", 1)
	path := home.CorpusKey(MainCorpus)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	n := openNode(t, home)
	if _, err := n.CreateCorpus(t.Context(), MainCorpus); err == nil {
		t.Error("a corpus without its key was made again")
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Init(t.Context(), home, 0); err == nil {
		t.Error("init is content with a lost key")
	}
	if left, err := os.ReadDir(home.Keys()); err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return e.Name() == filepath.Base(path) }) {
		t.Errorf("keys: %v, %v", left, err)
	}
}
