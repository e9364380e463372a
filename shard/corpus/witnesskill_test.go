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
	"strconv"
	"strings"
	"testing"
	"time"

	"arborist/merkle"
	"arborist/proof"
)

// forkAt is where the two histories part that a publisher tells the witness.
const forkAt = 24

// storyLine is record i of one of the two histories.
func storyLine(lie bool, i uint64) []byte {
	if lie && i >= forkAt {
		return sourceLine(i + 10_000)
	}
	return sourceLine(i)
}

func storyRoot(lie bool, size uint64) merkle.Hash {
	var b merkle.Builder
	for i := range size {
		b.Append(merkle.LeafHash(storyLine(lie, i)))
	}
	return b.Root()
}

// witnessChild is a witness that a publisher tells two histories, now the one
// and now the other: "folder,group,steps,witness". It says the note of each head
// that it has accepted: whoever reads that has its cosignature.
func witnessChild(fields []string) error {
	ctx := context.Background()
	s, err := Open(filepath.Join(fields[0], "corpora.db"))
	if err != nil {
		return err
	}
	w, err := proof.NewCosignSigner("w", [32]byte{1})
	if err != nil {
		return err
	}
	s.SetWitnesses(nil, w)
	for k := 0; ; k++ {
		source, err := proof.NewSigner(fmt.Sprintf("%s/c%s-%d", testPeer, fields[1], k), [32]byte{1})
		if err != nil {
			return err
		}
		if _, err := s.Follow(ctx, source.Verifier()); err != nil {
			return err
		}
		err = s.Witness(ctx, source.Name(), true)
		for err == nil {
			err = witnessStep(ctx, s, source)
		}
		if !errors.Is(err, ErrFrozen) && !errors.Is(err, ErrRollback) {
			return err
		}
	}
}

func witnessStep(ctx context.Context, s *Store, source *proof.Signer) error {
	info, err := s.Lookup(ctx, source.Name())
	if err != nil {
		return err
	}
	lie, size := rand.IntN(2) == 0, info.Size+1+uint64(rand.IntN(9))
	note, err := proof.SignCheckpoint(proof.Checkpoint{Origin: source.Name(), Size: size, Root: storyRoot(lie, size)}, source)
	if err != nil {
		return err
	}
	_, err = s.ExtendFrom(ctx, source.Name(), note, func(from uint64) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for i := from; i < size && yield(storyLine(lie, i), nil); i++ {
			}
		}
	})
	if errors.Is(err, ErrMismatch) {
		return nil // the other history than the one it has
	}
	if err != nil {
		return err
	}
	served, err := s.Note(ctx, source.Name())
	if err == nil {
		fmt.Printf("%x\n", served)
	}
	return err
}

// A cosignedLog is what a witness is known to have cosigned of a corpus.
type cosignedLog map[string]map[uint64]merkle.Hash

// add notes what a note shows. A note without the cosignature shows nothing.
func (c cosignedLog) add(t *testing.T, note []byte, w *proof.Cosigner) (size uint64) {
	t.Helper()
	head, err := proof.ReadCheckpoint(note)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := proof.Cosignatures(note, []*proof.Cosigner{w})
	if err != nil {
		t.Fatal(err)
	}
	if len(signed) == 0 {
		return 0
	}
	if c[head.Origin] == nil {
		c[head.Origin] = make(map[uint64]merkle.Hash)
	}
	c[head.Origin][head.Size] = head.Root
	for _, lie := range []bool{false, true} {
		fits := true
		for size, root := range c[head.Origin] {
			fits = fits && storyRoot(lie, size) == root
		}
		if fits {
			return head.Size
		}
	}
	t.Fatalf("%s: the witness has cosigned heads that are not of one history: %x", head.Origin, c[head.Origin])
	return 0
}

// Kill -9 anywhere in a witness: it never cosigns two heads that contradict each
// other, and what it has shown is there afterwards or a later head with its
// cosignature.
func TestAKilledWitnessVouchesForOneHistory(t *testing.T) {
	dir, all := t.TempDir(), cosignedLog{}
	w, err := proof.NewCosignSigner("w", [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]uint64)
	take := func(line string) {
		note, err := hex.DecodeString(line)
		if err != nil || !strings.HasSuffix(string(note), "\n") {
			return // the last line of a killed process may be cut
		}
		head, err := proof.ReadCheckpoint(note)
		if err != nil {
			return
		}
		size := all.add(t, note, w.Cosigner())
		if size != head.Size {
			t.Fatalf("%s: an accepted head of %d records is not cosigned", head.Origin, head.Size)
		}
		shown[head.Origin] = max(shown[head.Origin], size)
	}
	for round := range soak(12) {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), childEnv+"="+dir+","+strconv.Itoa(round/3)+",0,witness")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 1 + rand.IntN(12); n > 0 && lines.Scan(); n-- {
			take(lines.Text())
		}
		time.AfterFunc(time.Duration(rand.IntN(8000))*time.Microsecond, func() { cmd.Process.Kill() })
		for lines.Scan() {
			take(lines.Text())
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		checkWitness(t, dir, w, all, shown)
	}
	if len(all) < 2 {
		t.Errorf("heads of %d corpora were cosigned", len(all))
	}
}

// checkWitness opens the store as the crash left it.
func checkWitness(t *testing.T, dir string, w *proof.CosignSigner, all cosignedLog, shown map[string]uint64) {
	t.Helper()
	s, err := Open(filepath.Join(dir, "corpora.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.SetWitnesses(nil, w)
	checkStore(t, s)
	infos, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if info.Size < shown[info.Origin] {
			t.Fatalf("%s: a cosigned head of %d records was shown, %d are left", info.Origin, shown[info.Origin], info.Size)
		}
		if info.Size == 0 {
			continue
		}
		note, err := s.Note(t.Context(), info.Origin)
		if err != nil {
			t.Fatal(err)
		}
		if size := all.add(t, note, w.Cosigner()); size != info.Size && info.Witness {
			t.Fatalf("%s: the stored head of %d records has lost its cosignature", info.Origin, info.Size)
		}
		shown[info.Origin] = max(shown[info.Origin], info.Size)
	}
}
