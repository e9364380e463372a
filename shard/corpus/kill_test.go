package corpus

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"arborist/merkle"
	"arborist/proof"
)

// childEnv makes the test binary a child process: "folder,seed,steps".
const childEnv = "ARBORIST_CORPUS_CHILD"

// soak is how many rounds the crash tests run.
func soak(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("ARBORIST_SOAK")); err == nil {
		return n
	}
	return usual
}

// child appends to an own corpus and extends a followed one, at random, and
// says on stdout what was acknowledged: "origin size root". Errors of the
// store are expected: the parent injects faults. It returns the exit code.
func child(run string) int {
	if fields := strings.Split(run, ","); fields[len(fields)-1] == "witness" {
		fmt.Fprintln(os.Stderr, witnessChild(fields))
		return 1
	}
	c, err := newCrasher(run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for range c.steps {
		head, err := c.step()
		if err == nil {
			fmt.Printf("%s %d %x\n", head.Origin, head.Size, head.Root)
		}
	}
	c.store.Close()
	return 0
}

type crasher struct {
	store       *Store
	own, source *proof.Signer
	rand        *rand.Rand
	steps       int
	published   merkle.Builder // of source
}

func newCrasher(run string) (*crasher, error) {
	fields := strings.Split(run, ",")
	seed, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return nil, err
	}
	steps, err := strconv.Atoi(fields[2])
	if err != nil {
		return nil, err
	}
	c := &crasher{rand: rand.New(rand.NewPCG(seed, 1)), steps: steps}
	for range 20 { // under fault injection Open may fail too
		if c.store, err = Open(filepath.Join(fields[0], "corpora.db")); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	for name, to := range map[string]**proof.Signer{"main": &c.own, "source": &c.source} {
		if *to, err = proof.NewSigner(testPeer+"/"+name, [32]byte{1, 1}); err != nil {
			return nil, err
		}
	}
	for range 20 {
		_, err = c.store.Create(context.Background(), "main", c.own.Verifier())
		if err == nil {
			_, err = c.store.Follow(context.Background(), c.source.Verifier())
		}
		if err == nil {
			break
		}
	}
	return c, err
}

func (c *crasher) step() (proof.Checkpoint, error) {
	if c.rand.IntN(3) > 0 {
		recs := make([]proof.Record, 1+c.rand.IntN(60))
		for i := range recs {
			uri := fmt.Sprintf("u:%d", c.rand.IntN(400))
			if recs[i] = listed(uri, fmt.Sprint(c.rand.IntN(300))); c.rand.IntN(9) == 0 {
				recs[i] = withdrawal(uri)
			}
		}
		return c.store.Append(context.Background(), c.own.Name(), c.own, recs)
	}
	return c.extend()
}

// extend follows the source, a log that is the same in every process: record i
// is sourceLine(i). Now and then the lines are cut.
func (c *crasher) extend() (head proof.Checkpoint, err error) {
	ctx := context.Background()
	info, err := c.store.Lookup(ctx, c.source.Name())
	if err != nil {
		return head, err
	}
	size := max(info.Size, c.published.Size()) + uint64(c.rand.IntN(300))
	for i := c.published.Size(); i < size; i++ {
		c.published.Append(merkle.LeafHash(sourceLine(i)))
	}
	if size == 0 {
		return head, errors.New("nothing published")
	}
	head = proof.Checkpoint{Origin: c.source.Name(), Size: size, Root: c.published.Root()}
	note, err := proof.SignCheckpoint(head, c.source)
	if err != nil {
		return head, err
	}
	cut := size
	if c.rand.IntN(3) == 0 {
		cut -= min(size, uint64(c.rand.IntN(200)))
	}
	return c.store.ExtendFrom(ctx, c.source.Name(), note, func(from uint64) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for i := from; i < cut; i++ {
				if !yield(sourceLine(i), nil) {
					return
				}
			}
			if cut < size {
				yield(nil, errCut)
			}
		}
	})
}

func sourceLine(i uint64) []byte {
	line, err := listed(fmt.Sprintf("s:%d", i), fmt.Sprint(i%50)).Line()
	if err != nil {
		panic(err)
	}
	return line
}

// acknowledged collects what children have said, over all rounds.
type acknowledged map[string]map[uint64]merkle.Hash

func (a acknowledged) add(t *testing.T, line string) {
	t.Helper()
	f := strings.Fields(line)
	if len(f) != 3 || len(f[2]) != 64 {
		return // the last line of a killed process may be cut
	}
	size, err := strconv.ParseUint(f[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	root, err := hex.DecodeString(f[2])
	if err != nil {
		t.Fatal(err)
	}
	a.head(t, f[0], size, merkle.Hash(root))
}

func (a acknowledged) head(t *testing.T, origin string, size uint64, root merkle.Hash) {
	t.Helper()
	if a[origin] == nil {
		a[origin] = make(map[uint64]merkle.Hash)
	}
	if old, ok := a[origin][size]; ok && old != root {
		t.Fatalf("%s: two heads of size %d: %x and %x", origin, size, old, root)
	}
	a[origin][size] = root
}

// check opens the store as the crash left it and holds it against everything
// that was ever acknowledged or shown.
func (a acknowledged) check(t *testing.T, dir string) {
	t.Helper()
	s, err := Open(filepath.Join(dir, "corpora.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	checkStore(t, s)
	infos, err := s.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		a.head(t, info.Origin, info.Size, info.Root) // shown: from now on it has to stay
		recs, err := s.Records(context.Background(), info.Origin, 0, info.Size)
		if err != nil {
			t.Fatal(err)
		}
		var b merkle.Builder
		roots := []merkle.Hash{b.Root()}
		for _, r := range recs {
			line, err := r.Line()
			if err != nil {
				t.Fatal(err)
			}
			b.Append(merkle.LeafHash(line))
			roots = append(roots, b.Root())
		}
		for size, root := range a[info.Origin] {
			if size > info.Size {
				t.Fatalf("%s: a head of size %d was acknowledged, %d are left", info.Origin, size, info.Size)
			}
			if roots[size] != root {
				t.Fatalf("%s: a head of size %d was acknowledged that is not one of this log", info.Origin, size)
			}
		}
	}
}

// startChild re-runs the test binary as a child, behind wrapper where given.
func startChild(t *testing.T, dir string, seed, steps int, wrapper ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append(wrapper, self)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s,%d,%d", childEnv, dir, seed, steps))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// Row 34 of the threats: kill -9 anywhere. Nothing acknowledged is lost and no
// size ever has two roots. ARBORIST_SOAK=1000 runs a thousand rounds.
func TestKillLosesNothingAcknowledged(t *testing.T) {
	dir, acked := t.TempDir(), acknowledged{}
	for round := range soak(10) {
		cmd, lines := startChild(t, dir, round, 1<<30)
		// Kill it a random time after a random line: within a transaction, a
		// checkpoint, a commit.
		for n := 1 + rand.IntN(6); n > 0 && lines.Scan(); n-- {
			acked.add(t, lines.Text())
		}
		time.AfterFunc(time.Duration(rand.IntN(8000))*time.Microsecond, func() { cmd.Process.Kill() })
		for lines.Scan() {
			acked.add(t, lines.Text())
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		acked.check(t, dir)
	}
	if len(acked) != 2 {
		t.Errorf("heads of %d corpora were acknowledged", len(acked))
	}
}

// Row 36: an fsync that fails is a commit that failed, never one that turns out
// to be there or not as the power goes.
func TestFailedSyncIsAFailedAppend(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace injects the fault; it is not installed")
	}
	if out, err := exec.Command(strace, "-qq", "-o", os.DevNull, "--seccomp-bpf", "-f", "true").CombinedOutput(); err != nil {
		t.Skipf("strace may not trace here: %v, %s", err, out)
	}
	for round := range soak(1) {
		dir, acked := t.TempDir(), acknowledged{}
		for run, inject := range [][]string{
			{fmt.Sprintf("inject=fsync,fdatasync:error=EIO:when=%d+5", 9+round%7)},
			{fmt.Sprintf("inject=pwrite64:error=EIO:when=%d+151", 60+round%50)},
			{fmt.Sprintf("inject=pwrite64:error=ENOSPC:when=%d+173", 60+round%50)},
		} {
			cmd, lines := startChild(t, dir, 10*round+run, 30,
				strace, "-f", "--seccomp-bpf", "-qq", "-o", filepath.Join(dir, "strace"), "-e", "trace=fsync,fdatasync,pwrite64", "-e", inject[0])
			n := 0
			for ; lines.Scan(); n++ {
				acked.add(t, lines.Text())
			}
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%s: %v", inject, err)
			}
			trace, err := os.ReadFile(filepath.Join(dir, "strace"))
			if err != nil || !strings.Contains(string(trace), "(INJECTED)") {
				t.Fatalf("no fault was injected, %v", err)
			}
			if n == 0 || n == 30 {
				t.Errorf("%s: %d of 30 steps were acknowledged", inject, n)
			}
			acked.check(t, dir)
		}
	}
}

// A disk that fills up leaves the last head in force, and room brings the log
// back to life without a restart.
func TestFullDiskLeavesTheOldHead(t *testing.T) {
	ctx := context.Background()
	s, own := newOwn(t)
	source := newModelOf(t, "source", 2*batchLines)
	appendBoth(t, s, own, numbered(100, 0)...)
	followTo(t, s, source, 100)
	var pages int
	if err := s.write.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(n int) {
		if _, err := s.write.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	for _, room := range []int{0, 1, 3, 10, 40} {
		limit(pages + room)
		if _, err := s.Append(ctx, own.origin(), own.signer, numbered(400, 100)); err == nil {
			t.Fatalf("400 records in %d pages", room)
		}
		own.checkLog(t, s, 100)
	}
	// Room for the first step of an Extend, not for the second.
	limit(pages + 220)
	_, err := s.ExtendFrom(ctx, source.origin(), source.note(source.size()), source.from(source.size()))
	if err == nil || errors.Is(err, ErrMismatch) {
		t.Fatalf("extend on a full disk: %v", err)
	}
	source.checkLog(t, s, 100)
	if l := staged(t, s, source.origin()); l <= 100 {
		t.Errorf("%d records are staged: the test's room was too small for one step", l)
	}
	limit(1 << 30)
	appendBoth(t, s, own, numbered(400, 100)...)
	followTo(t, s, source, source.size())
	own.checkLog(t, s, own.size())
	source.checkLog(t, s, source.size())
}

func staged(t *testing.T, s *Store, origin string) (n uint64) {
	t.Helper()
	if err := s.read.QueryRow("SELECT staged FROM corpus WHERE origin = ?", origin).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The child's log has every kind of record, or the crash tests would prove
// little.
func TestTheCrasherWritesEveryKindOfRecord(t *testing.T) {
	c, err := newCrasher(t.TempDir() + ",1,0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.store.Close()
	for range 40 {
		if _, err := c.step(); err != nil && !errors.Is(err, errCut) && !errors.Is(err, ErrRollback) {
			t.Fatal(err)
		}
	}
	infos, err := c.store.List(context.Background())
	if err != nil || len(infos) != 2 {
		t.Fatal(infos, err)
	}
	recs, err := c.store.Records(context.Background(), c.own.Name(), 0, infos[0].Size)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []proof.Op{proof.OpAdd, proof.OpSupersede, proof.OpWithdraw} {
		if !slices.ContainsFunc(recs, func(r proof.Record) bool { return r.Op == op }) {
			t.Errorf("no %s among %d records", op, len(recs))
		}
	}
	if infos[1].Size == 0 {
		t.Error("the followed corpus is empty")
	}
}
