package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"arborist/daemon/api"
)

// rotateInChild changes the key of the main corpus and drops the old one, as
// far as it gets.
func rotateInChild(home Home) error {
	ctx := context.Background()
	n, err := Open(ctx, Options{Home: home})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, err = n.RotateCorpus(ctx, MainCorpus)
	if err != nil && !errors.Is(err, errStillSigns) { // the last one was not retired
		return err
	}
	if _, err := n.RetireCorpusKey(ctx, MainCorpus); err != nil {
		return err
	}
	fmt.Println("done")
	return n.Close()
}

// killRotation runs the child and kills it this long after it is ready; it
// returns how long the child took where it came to its end.
func killRotation(t *testing.T, home Home, after time.Duration) (took time.Duration) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), childVariable+"=rotate|"+string(home))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the child says %q", lines.Text())
	}
	ready := time.Now()
	if after > 0 {
		time.Sleep(after)
		cmd.Process.Kill()
	}
	for lines.Scan() {
		if lines.Text() == "done" {
			took = time.Since(ready)
		} else {
			t.Fatal(lines.Text())
		}
	}
	cmd.Wait()
	return took
}

// A kill at any moment of a rotation or of the end of the old key leaves a
// publisher that adds and a follower that follows; nothing of it looks like two
// histories to anybody.
func TestAKilledRotationIsNoFork(t *testing.T) {
	const rounds = 24
	ctx := context.WithoutCancel(t.Context())
	home := newHome(t)
	addPages(t, home, "first", 1)
	follower, _ := serve(t, newHome(t))
	whole := killRotation(t, home, 0)
	if whole == 0 {
		t.Fatal("the child did not end by itself")
	}
	keys := make(map[string]bool)
	size, cut := uint64(1), 0
	for round := range rounds {
		// Mostly in the first half, where the key changes.
		after := 1 + time.Duration(rand.Float64()*rand.Float64()*1.2*float64(whole))
		// What else the machine does makes one rotation many times as long as
		// another, so that the time goes up and down until a third are not cut.
		if killRotation(t, home, after) == 0 {
			cut++
			whole += whole / 5
		} else {
			whole -= whole / 3
		}
		addPages(t, home, fmt.Sprint("round ", round), 1)
		size++
		n := openNode(t, home)
		info, err := n.lookupCorpus(ctx, MainCorpus)
		if err != nil || info.Size != size {
			t.Fatalf("round %d, killed after %v: %+v, %v", round, after, info, err)
		}
		keys[info.Key] = true
		if st, err := n.Status(ctx); err != nil || !st.Healthy {
			t.Errorf("round %d, killed after %v: %q, %v", round, after, st.Problems, err)
		}
		if check, err := n.Check(ctx); err != nil || len(check.Problems) > 0 {
			t.Errorf("round %d, killed after %v: check %q, %v", round, after, check.Problems, err)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if round%4 != 3 {
			continue
		}
		publisher, stop := serve(t, home)
		at, err := publisher.PeerID(ctx)
		if err != nil {
			t.Fatal(err)
		}
		res, err := follower.Sync(ctx, api.SyncRequest{From: at.Addrs[0], Corpus: at.PeerID + "/" + MainCorpus}, nil)
		if err != nil || res.Corpus.Size != size || res.Corpus.Key != info.Key || len(res.Corpus.ReplacedKeys) != len(info.Older) {
			t.Fatalf("round %d: the follower has %+v, %v", round, res.Corpus, err)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := follower.Status(ctx); err != nil || !st.Healthy || len(st.Corpora) == 0 {
		t.Errorf("the follower: %+v, %v", st, err)
	}
	left, err := os.ReadDir(home.Keys())
	if err = errors.Join(err, t.Context().Err()); err != nil || len(left) > 6 {
		t.Errorf("files of keys: %v, %v", left, err)
	}
	t.Logf("a rotation takes %v; %d of %d were cut, %d keys were in force", whole, cut, rounds, len(keys))
	if cut < rounds/3 {
		t.Errorf("only %d of %d rotations were cut", cut, rounds)
	}
}
