package proof

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"arborist/merkle"
)

// A testLog is a log whose key signs any head of it. Logs of one key with
// another tag share the records before the fork.
type testLog struct {
	t      tester
	signer *Signer
	tree   *merkle.Tree
}

func newTestLog(t tester, s *Signer, size, fork int, tag string) testLog {
	leaves := make([]merkle.Hash, size)
	for i := range leaves {
		name := tag
		if i < fork {
			name = "common"
		}
		leaves[i] = merkle.LeafHash(fmt.Appendf(nil, "%s record %d", name, i))
	}
	return testLog{t, s, merkle.NewTree(leaves)}
}

func (l testLog) root(size uint64) merkle.Hash {
	root, err := merkle.RootAt(l.tree, size)
	if err != nil {
		l.t.Fatal(err)
	}
	return root
}

func (l testLog) note(size uint64) []byte {
	note, err := SignCheckpoint(Checkpoint{Origin: l.signer.Name(), Size: size, Root: l.root(size)}, l.signer)
	if err != nil {
		l.t.Fatal(err)
	}
	return note
}

func (l testLog) path(old, size uint64) []merkle.Hash {
	path, err := merkle.Consistency(l.tree, old, size)
	if err != nil {
		l.t.Fatal(err)
	}
	return path
}

// equivocation is what a reader of l at size keeps when it meets a head of
// another log of the same key that has at most as many records.
func (l testLog) equivocation(other testLog, old, size uint64) *Evidence {
	return &Evidence{Kind: Equivocation, Older: other.note(old), Newer: l.note(size), Root: l.root(old), Path: l.path(old, size)}
}

func (l testLog) rollback(old, size uint64) *Evidence {
	return &Evidence{Kind: Rollback, Older: l.note(old), Newer: l.note(size), Path: l.path(old, size)}
}

type evidenceRow struct {
	name string
	file []byte
	want error // nil: verifies
}

// evidenceRows lists evidence files, good and bad, of the corpus testPeer/main.
func evidenceRows(t tester) (rows []evidenceRow) {
	s := testSigner(t, testPeer+"/main")
	truth, lie := newTestLog(t, s, 80, 30, "one"), newTestLog(t, s, 80, 30, "two")
	stranger := newTestLog(t, testSigner(t, testPeer+"/other"), 80, 80, "")
	add := func(name string, want error, e *Evidence, change func(*Evidence)) {
		if change != nil {
			change(e)
		}
		rows = append(rows, evidenceRow{name, rawEvidence(e), want})
	}
	fork := func() *Evidence { return truth.equivocation(lie, 50, 70) }
	add("two heads of one size", nil, truth.equivocation(lie, 70, 70), nil)
	add("a shorter head of another history", nil, fork(), nil)
	add("sizes that are powers of two", nil, truth.equivocation(lie, 32, 64), nil)
	add("no record in common", nil, newTestLog(t, s, 9, 0, "a").equivocation(newTestLog(t, s, 9, 0, "b"), 1, 9), nil)
	add("lines of unknown witnesses", nil, fork(), func(e *Evidence) {
		e.Older = append(e.Older, "\u2014 witness.example AAAAAAECAwQ=\n"...)
		e.Newer = append(e.Newer, "\u2014 w AAAAAAECAwQ=\n\u2014 w AAAAAAECAwQ=\n"...)
	})
	add("rollback", nil, truth.rollback(50, 70), nil)
	add("rollback without a path", nil, truth.rollback(50, 70), func(e *Evidence) { e.Path = nil })
	add("rollback without a path, of another history", nil, truth.rollback(50, 70), func(e *Evidence) { e.Older, e.Path = lie.note(50), nil })
	add("rollback to the empty log", nil, &Evidence{Kind: Rollback, Older: newTestLog(t, s, 0, 0, "").note(0), Newer: truth.note(70)}, nil)

	add("heads before the fork", ErrTampered, truth.equivocation(lie, 20, 70), nil)
	add("the same head twice", ErrTampered, truth.equivocation(truth, 70, 70), nil)
	add("an older head of the same history", ErrTampered, fork(), func(e *Evidence) { e.Older = truth.note(50) })
	add("another size of the older head", ErrTampered, fork(), func(e *Evidence) { e.Older = lie.note(49) })
	add("both heads of the fork", ErrTampered, fork(), func(e *Evidence) { e.Newer = lie.note(70) })
	add("root changed", ErrTampered, fork(), func(e *Evidence) { e.Root[5] ^= 1 })
	add("root changed, one size", ErrTampered, truth.equivocation(lie, 70, 70), func(e *Evidence) { e.Root[5] ^= 1 })
	add("path changed", ErrTampered, fork(), func(e *Evidence) { e.Path[1][0] ^= 1 })
	add("path without its last hash", ErrTampered, fork(), func(e *Evidence) { e.Path = e.Path[:len(e.Path)-1] })
	add("path with a hash more", ErrTampered, fork(), func(e *Evidence) { e.Path = append(e.Path, merkle.Hash{1}) })
	add("no path", ErrTampered, fork(), func(e *Evidence) { e.Path = nil })
	add("a path where the sizes are equal", ErrTampered, truth.equivocation(lie, 70, 70), func(e *Evidence) { e.Path = []merkle.Hash{{1}} })
	add("path of 65 hashes", ErrFormat, fork(), func(e *Evidence) { e.Path = make([]merkle.Hash, 65) })
	add("notes swapped", ErrFormat, fork(), func(e *Evidence) { e.Older, e.Newer = e.Newer, e.Older })
	add("notes of two corpora", ErrTampered, fork(), func(e *Evidence) { e.Older = stranger.note(50) })
	add("notes of another corpus", ErrUnknownKey, fork(), func(e *Evidence) { e.Older, e.Newer = stranger.note(50), stranger.note(70) })
	add("older note signed by another key", ErrUnknownKey, fork(), func(e *Evidence) { e.Older = otherKey(t, lie.note(50)) })
	add("newer note signed by another key", ErrUnknownKey, fork(), func(e *Evidence) { e.Newer = otherKey(t, truth.note(70)) })
	add("size of the newer note changed", ErrSignature, fork(), func(e *Evidence) { e.Newer = bytes.Replace(e.Newer, []byte("\n70\n"), []byte("\n71\n"), 1) })
	add("older note not signed", ErrFormat, fork(), func(e *Evidence) { e.Older = e.Older[:bytes.Index(e.Older, []byte("\u2014"))] })
	add("equivocation of the empty log", ErrFormat, fork(), func(e *Evidence) { e.Older = newTestLog(t, s, 0, 0, "").note(0) })
	add("root of zeros", ErrFormat, fork(), func(e *Evidence) { e.Root = merkle.Hash{} })
	add("rollback of another history", ErrTampered, truth.rollback(50, 70), func(e *Evidence) { e.Older = lie.note(50) })
	add("rollback between equal sizes", ErrFormat, truth.rollback(50, 70), func(e *Evidence) { e.Older, e.Path = truth.note(70), nil })
	add("rollback to the empty log with a path", ErrFormat, truth.rollback(50, 70), func(e *Evidence) { e.Older = newTestLog(t, s, 0, 0, "").note(0) })
	add("unknown kind", ErrFormat, fork(), func(e *Evidence) { e.Kind = "theft" })
	return append(rows, evidenceSpellings(string(rawEvidence(fork())))...)
}

// evidenceSpellings lists other ways to write the same valid evidence.
func evidenceSpellings(valid string) (rows []evidenceRow) {
	root, _, _ := strings.Cut(valid[strings.Index(valid, "root ")+5:], "\n")
	for _, s := range []spelling{
		{"CRLF", "\n", "\r\n"},
		{"byte order mark", "arborist", "\ufeffarborist"},
		{"space at a line's end", "kind equivocation", "kind equivocation "},
		{"capital letters", "kind equivocation", "kind Equivocation"},
		{"no kind", "kind equivocation\n", ""},
		{"no root", "root " + root + "\n", ""},
		{"root and kind swapped", "kind equivocation\nroot " + root, "root " + root + "\nkind equivocation"},
		{"unused bits of base64", root, setUnusedBits(root)},
		{"rollback with a root", "kind equivocation", "kind rollback"},
		{"two empty lines before the notes", "\n\n" + testPeer, "\n\n\n" + testPeer},
		{"no empty line before the notes", "\n\n" + testPeer, "\n" + testPeer},
		{"text between the notes", "\n\n" + testPeer + "/main\n70", "\nx\n" + testPeer + "/main\n70"},
		{"leading zero", "\n50\n", "\n050\n"},
	} {
		rows = append(rows, evidenceRow{s.name, []byte(strings.Replace(valid, s.old, s.new, 1)), ErrFormat})
	}
	return append(rows,
		evidenceRow{"newline after the end", []byte(valid + "\n"), ErrFormat},
		evidenceRow{"a third note", []byte(valid + valid[strings.Index(valid, "\n\n"):]), ErrFormat},
		evidenceRow{"cut", []byte(valid[:len(valid)-1]), ErrTruncated},
		evidenceRow{"cut in the path", []byte(valid[:len(root)+70]), ErrTruncated},
		evidenceRow{"newer version", []byte(strings.Replace(valid, "evidence/1", "evidence/2", 1)), ErrVersion},
		evidenceRow{"a proof file", []byte("arborist-proof/1\nchunk 0\n\n"), ErrFormat},
		evidenceRow{"empty", nil, ErrTruncated})
}

func otherKey(t tester, note []byte) []byte {
	c, err := ReadCheckpoint(note)
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewSigner(c.Origin, [32]byte{9})
	if err != nil {
		t.Fatal(err)
	}
	if note, err = SignCheckpoint(c, other); err != nil {
		t.Fatal(err)
	}
	return note
}

// rawEvidence writes evidence without asking whether it has a form.
func rawEvidence(e *Evidence) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "arborist-evidence/1\nkind %s\n", e.Kind)
	if e.contradicts() {
		fmt.Fprintf(&b, "root %s\n", appendHash(nil, e.Root))
	}
	for _, h := range e.Path {
		fmt.Fprintf(&b, "%s\n", appendHash(nil, h))
	}
	fmt.Fprintf(&b, "\n%s\n%s", e.Older, e.Newer)
	return b.Bytes()
}

func verifyEvidence(file []byte, v *Verifier, rotations ...Rotation) (Finding, error) {
	e, err := ParseEvidence(file)
	if err != nil {
		return Finding{}, err
	}
	return e.Verify(v, rotations...)
}

func TestEvidenceShowsWhatItClaimsOrNothing(t *testing.T) {
	v := testSigner(t, testPeer+"/main").Verifier()
	for _, row := range evidenceRows(t) {
		f, err := verifyEvidence(row.file, v)
		if !errors.Is(err, row.want) || row.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
		if err != nil {
			if f.Statement() != (Finding{}).Statement() {
				t.Errorf("%s: refused, and says %q", row.name, f.Statement())
			}
			continue
		}
		e, _ := ParseEvidence(row.file)
		if again, err := e.MarshalText(); err != nil || !bytes.Equal(again, row.file) {
			t.Errorf("%s: second spelling, %v:\n%s", row.name, err, again)
		}
		if accuses := strings.Contains(f.Statement(), "signed two histories"); accuses != (e.Kind == Equivocation) {
			t.Errorf("%s: says %q", row.name, f.Statement())
		}
	}
	if _, err := ParseEvidence(make([]byte, MaxEvidence+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("large file: %v", err)
	}
}

// A rollback accuses no one, and says what it leaves open.
func TestStatementOfARollbackClaimsNothingOfWhoServed(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	l := newTestLog(t, s, 80, 80, "")
	for _, row := range []struct {
		path bool
		want string
	}{{true, "of the same history"}, {false, "is not shown"}} {
		e := l.rollback(50, 70)
		if !row.path {
			e.Path = nil
		}
		f, err := e.Verify(s.Verifier())
		if err != nil || f.Consistent != row.path {
			t.Fatalf("%+v, %v", f, err)
		}
		for _, part := range []string{row.want, "50 records", "70 records", "nothing in it proves that"} {
			if !strings.Contains(f.Statement(), part) {
				t.Errorf("no %q in %q", part, f.Statement())
			}
		}
	}
}

// No change of one bit of evidence leaves evidence against the same key.
func TestNoFlippedBitOfEvidenceIsAccepted(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	v := s.Verifier()
	truth, lie := newTestLog(t, s, 9, 3, "one"), newTestLog(t, s, 9, 3, "two")
	for _, e := range []*Evidence{truth.equivocation(lie, 5, 9), truth.equivocation(lie, 9, 9), truth.rollback(5, 9)} {
		file, err := e.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		for i := range len(file) * 8 {
			b := bytes.Clone(file)
			b[i/8] ^= 1 << (i % 8)
			if f, err := verifyEvidence(b, v); err == nil {
				t.Fatalf("bit %d of %s: %+v", i, e.Kind, f)
			}
		}
	}
}

// Two logs of one key are an equivocation exactly from the first record on in
// which they differ, whatever their sizes.
func TestEvidenceIsExactlyWhereHistoriesPart(t *testing.T) {
	s := testSigner(t, testPeer+"/main")
	v := s.Verifier()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Uint64Range(1, 70).Draw(t, "size")
		old := rapid.Uint64Range(1, size).Draw(t, "old")
		fork := rapid.IntRange(0, int(size)).Draw(t, "fork")
		truth, lie := newTestLog(t, s, int(size), fork, "one"), newTestLog(t, s, int(size), fork, "two")
		e := truth.equivocation(lie, old, size)
		file, err := e.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := verifyEvidence(file, v); (err == nil) != (uint64(fork) < old) {
			t.Fatalf("fork after %d, heads at %d and %d: %v", fork, old, size, err)
		}
	})
}
