package proof

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arborist/merkle"
)

// A corpusKeys is a corpus that changes its key: the keys by age.
type corpusKeys []*Signer

func newCorpusKeys(t tester, n int) (keys corpusKeys) {
	for i := range n {
		s, err := NewSigner(testPeer+"/main", [32]byte{byte(i + 1), 'k'})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, s)
	}
	return keys
}

func (k corpusKeys) head(size uint64) Checkpoint {
	c := Checkpoint{Origin: k[0].Name(), Size: size, Root: merkle.Hash{byte(size), 'r'}}
	if size == 0 {
		c.Root = merkle.EmptyRoot()
	}
	return c
}

// chain changes the key at each of the sizes.
func (k corpusKeys) chain(t tester, sizes ...uint64) (chain []Rotation) {
	t.Helper()
	for i, size := range sizes {
		r, err := MakeRotation(k.head(size), k[i], k[i+1])
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, r)
	}
	return chain
}

// signed signs any text as a rotation note, in the order given.
func signed(t tester, text string, signers ...*Signer) []byte {
	t.Helper()
	note, err := SignNote([]byte(text), signers...)
	if err != nil {
		t.Fatal(err)
	}
	return note
}

type rotationRow struct {
	name string
	file []byte
	want error
}

// rotationRows lists files that are rotations files, and files that are none.
func rotationRows(t tester) []rotationRow {
	k := newCorpusKeys(t, 4)
	chain := k.chain(t, 3, 3, 9)
	one, all := chain[0].note, AppendRotations(nil, chain)
	text := string(chain[0].Text())
	other, err := NewSigner(testPeer+"/other", [32]byte{9})
	if err != nil {
		t.Fatal(err)
	}
	respelt := func(old, to string) []byte {
		if !strings.Contains(text, old) {
			t.Fatal("nothing to change: " + old)
		}
		return signed(t, strings.Replace(text, old, to, 1), k[0], k[1])
	}
	two := func(a, b Rotation) []byte { return AppendRotations(nil, []Rotation{a, b}) }
	back, _ := MakeRotation(k.head(9), k[1], k[0])
	fork, _ := MakeRotation(k.head(3), k[0], k[2])
	later := k.chain(t, 7)[0]
	below, _ := MakeRotation(k.head(6), k[1], k[2])
	split, _ := MakeRotation(Checkpoint{Origin: k[0].Name(), Size: 7, Root: merkle.Hash{99}}, k[1], k[2])
	checkpoint, _ := SignCheckpoint(k.head(3), k[0], k[1])
	lines := bytes.SplitAfter(one, []byte("\n"))
	swapped := bytes.Join([][]byte{bytes.Join(lines[:7], nil), lines[8], lines[7]}, nil)
	return []rotationRow{
		{"one rotation", one, nil},
		{"three rotations", all, nil},
		{"at size 0", AppendRotations(nil, k.chain(t, 0)), nil},
		{"twice at size 0", AppendRotations(nil, k.chain(t, 0, 0)), nil},
		{"empty", nil, ErrTruncated},
		{"checkpoint with two lines", checkpoint, ErrTruncated},
		{"signed by the old key alone", signed(t, text, k[0]), ErrTruncated},
		{"signed by the new key alone", signed(t, text, k[1]), ErrTruncated},
		{"signed by a third key", signed(t, text, k[0], k[2]), ErrFormat},
		{"new key first", swapped, ErrFormat},
		{"old key twice", bytes.Join([][]byte{bytes.Join(lines[:7], nil), lines[7], lines[7]}, nil), ErrFormat},
		{"a third line", append(bytes.Clone(one), lines[7]...), ErrTruncated},
		{"size changed", bytes.Replace(one, []byte("size 3"), []byte("size 4"), 1), ErrSignature},
		{"signature of the new key wrong", append(bytes.Join(lines[:8], nil), flipSignature(lines[8])...), ErrSignature},
		{"signature of the old key wrong", bytes.Join([][]byte{bytes.Join(lines[:7], nil), flipSignature(lines[7]), lines[8]}, nil), ErrSignature},
		{"another version", respelt("rotation/1", "rotation/2"), ErrVersion},
		{"another first line", respelt("arborist-key-rotation/1", "arborist-corpus-key/1"), ErrFormat},
		{"leading zero", respelt("size 3", "size 03"), ErrFormat},
		{"negative size", respelt("size 3", "size -3"), ErrFormat},
		{"size of 2^63", respelt("size 3", "size 9223372036854775808"), ErrFormat},
		{"size 0 with a root", respelt("size 3", "size 0"), ErrFormat},
		{"short root", respelt("root ", "root A"), ErrFormat},
		{"old and new swapped in the text", respelt("\nold ", "\nnew "), ErrFormat},
		{"two spaces", respelt("old ", "old  "), ErrFormat},
		{"keys of another corpus", respelt("origin "+testPeer+"/main", "origin "+testPeer+"/other"), ErrOrigin},
		{"new key of another corpus", signed(t, strings.Replace(text, "new "+k[1].Verifier().String(), "new "+other.Verifier().String(), 1), k[0], other), ErrOrigin},
		{"old key is the new key", signed(t, strings.Replace(text, k[1].Verifier().String(), k[0].Verifier().String(), 1), k[0], k[1]), ErrFormat},
		{"key hash wrong", respelt(fmt.Sprintf("%08x", k[1].verifier.id), "00000000"), ErrFormat},
		{"seventh line", signed(t, text+"more\n", k[0], k[1]), ErrFormat},
		{"five lines", signed(t, strings.Join(strings.SplitAfter(text, "\n")[:5], ""), k[0], k[1]), ErrTruncated},
		{"CRLF", bytes.ReplaceAll(one, []byte("\n"), []byte("\r\n")), ErrFormat},
		{"line end after the end", append(bytes.Clone(one), '\n'), ErrTruncated},
		{"cut", one[:len(one)-1], ErrTruncated},
		{"empty line between", bytes.Join([][]byte{one, chain[1].note}, []byte("\n")), ErrFormat},
		{"the second alone missing", two(chain[0], chain[2]), ErrRotation},
		{"newest first", two(chain[1], chain[0]), ErrRotation},
		{"the same twice", two(chain[0], chain[0]), ErrRotation},
		{"two from one key", two(chain[0], fork), ErrRotation},
		{"back to an earlier key", two(chain[0], back), ErrRotation},
		{"sizes fall", two(later, below), ErrRotation},
		{"two roots at one size", two(later, split), ErrRotation},
		{"over the cap", bytes.Repeat(one, 1+MaxRotationFile/len(one)), ErrTooLarge},
	}
}

// flipSignature changes one bit of the signature in a line.
func flipSignature(line []byte) []byte {
	b := bytes.Clone(line)
	if at := len(b) - 20; b[at] == 'A' {
		b[at] = 'B'
	} else {
		b[at] = 'A'
	}
	return b
}

func TestRotationsHaveOneSpellingAndMakeOneChain(t *testing.T) {
	for _, row := range rotationRows(t) {
		chain, err := ParseRotations(row.file)
		if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
		if err == nil && !bytes.Equal(AppendRotations(nil, chain), row.file) {
			t.Errorf("%s: written again it is another file", row.name)
		}
	}
	many := newCorpusKeys(t, MaxRotations+2)
	sizes := make([]uint64, MaxRotations+1)
	if _, err := ParseRotations(AppendRotations(nil, many.chain(t, sizes[:MaxRotations]...))); err != nil {
		t.Errorf("%d rotations: %v", MaxRotations, err)
	}
	if _, err := ParseRotations(AppendRotations(nil, many.chain(t, sizes...))); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d rotations: %v", MaxRotations+1, err)
	}
}

// A line of a second key under the corpus's name is no change of key: anybody
// can add one to an honest note.
func TestASecondSignatureLineBindsNothing(t *testing.T) {
	k := newCorpusKeys(t, 2)
	thief := k[1]
	honest, err := SignCheckpoint(k.head(5), k[0])
	if err != nil {
		t.Fatal(err)
	}
	his := signed(t, string(k.head(5).Text()), thief)
	spoilt := append(bytes.Clone(honest), his[len(k.head(5).Text())+1:]...)
	for _, s := range k {
		if _, err := OpenCheckpoint(spoilt, s.Verifier()); err != nil {
			t.Errorf("the note does not open with both keys, which is the point: %v", err)
		}
	}
	for name, file := range map[string][]byte{"the note": spoilt, "a rotation that he signs for both": signed(t, string(k.chain(t, 5)[0].Text()), thief)} {
		if _, err := ParseRotations(file); err == nil {
			t.Errorf("%s passes for a rotation", name)
		}
	}
}

func TestRotationIsSignedByKeysOfOneCorpus(t *testing.T) {
	k := newCorpusKeys(t, 2)
	other := testSigner(t, "peer/other")
	for name, row := range map[string]struct {
		head      Checkpoint
		old, next *Signer
		want      error
	}{
		"another old key":  {k.head(3), other, k[1], ErrOrigin},
		"another new key":  {k.head(3), k[0], other, ErrOrigin},
		"the same key":     {k.head(3), k[0], k[0], ErrFormat},
		"no root":          {Checkpoint{Origin: k[0].Name(), Size: 3}, k[0], k[1], ErrFormat},
		"root of an empty": {Checkpoint{Origin: k[0].Name(), Root: merkle.Hash{1}}, k[0], k[1], ErrFormat},
	} {
		if r, err := MakeRotation(row.head, row.old, row.next); !errors.Is(err, row.want) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// golden is what an old and a new proof say under each key that a reader may
// have, with and without the rotations. The log is rotated at 4 and at 8.
func golden(t *testing.T) []byte {
	d := newTestDocument(numbered(3))
	k := newCorpusKeys(t, 3)
	stranger, err := NewSigner(k[0].Name(), [32]byte{77})
	if err != nil {
		t.Fatal(err)
	}
	chain := d.rotatedAt(t, k, 4, 8)
	rows := []struct {
		name string
		p    *Proof
	}{
		{"old key, size 3", d.logged(t, k[0], 1, 0, 3)},
		{"old key, size 4 = the rotation's", d.logged(t, k[0], 1, 0, 4)},
		{"old key, size 4, other root", d.logged(t, k[0], 1, 1, 4)},
		{"old key, size 5", d.logged(t, k[0], 1, 0, 5)},
		{"old and middle key, size 5", d.logged(t, k[0], 1, 0, 5).signedBy(t, k[0], k[1])},
		{"middle key, size 3", d.logged(t, k[1], 1, 0, 3)},
		{"middle key, size 8", d.logged(t, k[1], 1, 0, 8)},
		{"middle key, size 9", d.logged(t, k[1], 1, 0, 9)},
		{"new key, size 3", d.logged(t, k[2], 1, 0, 3)},
		{"new key, size 9", d.logged(t, k[2], 1, 0, 9)},
		{"a stranger's key, size 3", d.logged(t, stranger, 1, 0, 3)},
	}
	var b bytes.Buffer
	for _, row := range rows {
		for _, e := range []struct {
			name string
			e    Expect
		}{
			{"old key", Expect{Key: k[0].Verifier()}},
			{"new key", Expect{Key: k[2].Verifier()}},
			{"old key, rotations", Expect{Key: k[0].Verifier(), Rotations: chain}},
			{"middle key, rotations", Expect{Key: k[1].Verifier(), Rotations: chain}},
			{"new key, rotations", Expect{Key: k[2].Verifier(), Rotations: chain}},
			{"stranger's key, rotations", Expect{Key: stranger.Verifier(), Rotations: chain}},
		} {
			c, err := Verify(row.p, e.e)
			said := "refused: " + reasonOf(err)
			if err == nil {
				_, said, _ = strings.Cut(c.Statement(), "when its log had ")
			}
			fmt.Fprintf(&b, "%-32s | %-25s | %s\n", row.name, e.name, said)
		}
	}
	return b.Bytes()
}

// rotatedAt changes the keys at heads of the log that logged makes of place 0.
func (d *testDocument) rotatedAt(t tester, k corpusKeys, sizes ...uint64) (chain []Rotation) {
	for i, size := range sizes {
		head, err := OpenCheckpoint(d.logged(t, k[0], 0, 0, int(size)).Log.Note, k[0].Verifier())
		if err != nil {
			t.Fatal(err)
		}
		r, err := MakeRotation(head, k[i], k[i+1])
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, r)
	}
	return chain
}

// signedBy returns the proof with its checkpoint signed by other keys.
func (p *Proof) signedBy(t tester, signers ...*Signer) *Proof {
	c, err := ReadCheckpoint(p.Log.Note)
	if err != nil {
		t.Fatal(err)
	}
	q, part := *p, *p.Log
	if part.Note, err = SignCheckpoint(c, signers...); err != nil {
		t.Fatal(err)
	}
	q.Log = &part
	return &q
}

func TestOldProofsSayWhichKeySignedThem(t *testing.T) {
	file := filepath.Join("testdata", "rotation.golden")
	got := golden(t)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// FuzzParseRotations: whatever parses has this one spelling and is a chain
// whose every link both keys have signed.
func FuzzParseRotations(f *testing.F) {
	for _, row := range rotationRows(f) {
		if len(row.file) < 4096 {
			f.Add(row.file)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		chain, err := ParseRotations(file)
		if err != nil {
			return
		}
		if !bytes.Equal(AppendRotations(nil, chain), file) || CheckRotations(chain) != nil {
			t.Fatalf("second spelling of %q", file)
		}
		for _, r := range chain {
			for _, v := range []*Verifier{r.Old, r.New} {
				if _, err := openNote(r.Note(), v); err != nil {
					t.Fatalf("%s has not signed: %v", v, err)
				}
			}
		}
	})
}

func rotationResult(chain []Rotation) map[string]any {
	all := []any{}
	for _, r := range chain {
		all = append(all, map[string]any{"old": r.Old.String(), "new": r.New.String(), "head": checkpointResult(r.Head)})
	}
	return map[string]any{"rotations": all}
}

func rotationVectors(t *testing.T) (all []vector) {
	for _, row := range rotationRows(t) {
		if row.name == "over the cap" {
			continue
		}
		all = append(all, newVector("rotations", row.name, row.file))
	}
	return all
}
