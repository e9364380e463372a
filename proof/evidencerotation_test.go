package proof

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

// keyedRow is evidence about a changed key: with the key and the rotations
// that its reader has.
type keyedRow struct {
	evidenceRow
	key   *Verifier
	chain []Rotation
}

// keyedRows lists evidence files, good and bad, in which rotations stand or
// that need them. The corpus changed its key at 60 records, its logs part at 40.
func keyedRows(t tester) (rows []keyedRow) {
	c := newChangedKey(t)
	old, next, chain := c.old.Verifier(), c.next.Verifier(), []Rotation{c.rotation}
	third := testSigner(t, testPeer+"/main")
	last, err := MakeRotation(Checkpoint{Origin: c.old.Name(), Size: 70, Root: c.truth.root(70)}, c.next, third)
	if err != nil {
		t.Fatal(err)
	}
	add := func(name string, want error, key *Verifier, chain []Rotation, e *Evidence) {
		rows = append(rows, keyedRow{evidenceRow{name, rawEvidence(e), want}, key, chain})
	}
	is := func(kind EvidenceKind, e *Evidence) *Evidence { e.Kind = kind; return e }

	// Two rotations of one key.
	rival := c.rotate(t, 70, c.stranger)
	fork := func() *Evidence { return &Evidence{Kind: RotationFork, Older: c.rotation.Note(), Newer: rival.Note()} }
	swapped := &Evidence{Kind: RotationFork, Older: rival.Note(), Newer: c.rotation.Note()}
	add("fork of rotations", nil, old, nil, fork())
	add("fork of rotations, with a new key", nil, next, nil, fork())
	add("fork of rotations, with the rotations", nil, next, chain, fork())
	add("fork of rotations, another key", ErrUnknownKey, third.Verifier(), nil, fork())
	add("fork of rotations, the larger first", ErrFormat, old, nil, swapped)
	add("fork of rotations, one rotation twice", ErrTampered, old, nil, &Evidence{Kind: RotationFork, Older: c.rotation.Note(), Newer: c.rotation.Note()})
	add("fork of rotations of two keys", ErrTampered, old, nil, &Evidence{Kind: RotationFork, Older: c.rotation.Note(), Newer: last.Note()})
	add("fork of rotations, a signature changed", ErrSignature, old, nil, &Evidence{Kind: RotationFork, Older: c.rotation.Note(), Newer: flipSignature(rival.Note())})
	add("fork of rotations with heads", ErrFormat, old, nil, is(RotationFork, c.between(c.lie, c.truth, 50, 60)))

	// A rotation and a head.
	head := func(l testLog, size uint64) *Evidence {
		if size < 60 {
			return &Evidence{Kind: RotationHead, Older: l.note(size), Newer: c.rotation.Note(), Root: c.truth.root(size), Path: c.truth.path(size, 60)}
		}
		return &Evidence{Kind: RotationHead, Older: c.rotation.Note(), Newer: l.note(size), Root: l.root(60), Path: l.path(60, size)}
	}
	late := head(c.lie, 60)
	late.Older, late.Newer = late.Newer, late.Older
	late.Root = c.truth.root(60)
	byStranger := head(c.lie, 50)
	byStranger.Older = otherKey(t, byStranger.Older)
	add("rotation, a head below it of another history", nil, old, nil, head(c.lie, 50))
	add("rotation, a head of its size", nil, old, nil, head(c.lie, 60))
	add("rotation, a head above it of another history", nil, old, nil, head(c.lie, 75))
	add("rotation, a head above it by the new key", nil, next, nil, head(c.laterLie, 75))
	add("rotation, the other one of its keys", nil, next, nil, head(c.lie, 50))
	add("rotation, a later key and the rotations", nil, third.Verifier(), []Rotation{c.rotation, last}, head(c.lie, 50))
	add("rotation, a later key alone", ErrUnknownKey, third.Verifier(), nil, head(c.lie, 50))
	add("rotation, a head of its own history", ErrTampered, old, nil, head(c.truth, 50))
	add("rotation, a later head of its own history", ErrTampered, next, nil, head(c.later, 75))
	add("rotation, a head that neither key signed", ErrUnknownKey, old, nil, byStranger)
	add("rotation, the head of its size first", ErrFormat, old, nil, late)
	add("rotation and rotation", ErrFormat, old, nil, is(RotationHead, fork()))
	add("two heads as a rotation and a head", ErrFormat, old, nil, is(RotationHead, c.between(c.lie, c.truth, 50, 60)))
	noRoot := head(c.lie, 50)
	noRoot.Root = [32]byte{}
	add("rotation without a root", ErrFormat, old, nil, noRoot)
	cut := head(c.lie, 50)
	cut.Path = cut.Path[1:]
	add("rotation, path without its first hash", ErrTampered, old, nil, cut)
	badly := head(c.lie, 50)
	badly.Newer = flipSignature(badly.Newer)
	add("rotation, a signature of it changed", ErrSignature, old, nil, badly)

	// A head that a replaced key has signed alone.
	lone := func(e *Evidence) *Evidence { return is(ReplacedKey, e) }
	after := func() *Evidence {
		return lone(&Evidence{Older: c.truth.note(65), Newer: c.later.note(70), Path: c.later.path(65, 70)})
	}
	add("replaced key, before its end", nil, next, chain, lone(c.between(c.lie, c.later, 50, 70)))
	add("replaced key, after its end", nil, next, chain, lone(c.between(c.lie, c.later, 65, 70)))
	add("replaced key, a longer log", nil, next, chain, lone(c.between(c.later, c.lie, 70, 80)))
	add("replaced key, equal sizes", nil, old, chain, lone(c.between(c.lie, c.later, 70, 70)))
	add("replaced key, of two rotations", nil, old, []Rotation{c.rotation, last}, lone(c.between(c.lie, c.later, 65, 70)))
	add("replaced key, after its end, of one history", nil, next, chain, after())
	noPath := after()
	noPath.Path = nil
	add("replaced key, after its end, no path", nil, next, chain, noPath)
	add("replaced key without the rotations", ErrUnknownKey, next, nil, lone(c.between(c.lie, c.later, 65, 70)))
	add("replaced key, one key twice", ErrTampered, next, chain, lone(c.between(c.laterLie, c.later, 65, 70)))
	add("replaced key, of one history but with a root", ErrTampered, next, chain, lone(c.between(c.truth, c.later, 65, 70)))
	add("replaced key, before its end, no root", ErrTampered, next, chain,
		lone(&Evidence{Older: c.truth.note(50), Newer: c.later.note(70), Path: c.later.path(50, 70)}))
	add("replaced key, equal sizes, no root", ErrFormat, next, chain, lone(&Evidence{Older: c.truth.note(70), Newer: c.later.note(70)}))
	add("replaced key, a key outside the chain", ErrRotation, third.Verifier(), chain, lone(c.between(c.lie, c.later, 65, 70)))
	return rows
}

func TestEvidenceAboutAChangedKeyShowsWhatItSays(t *testing.T) {
	for _, row := range keyedRows(t) {
		e, err := ParseEvidence(row.file)
		var f Finding
		if err == nil {
			f, err = e.Verify(row.key, row.chain...)
		}
		if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
		if err != nil {
			continue
		}
		if again, err := e.MarshalText(); err != nil || !bytes.Equal(again, row.file) {
			t.Errorf("%s: second spelling, %v", row.name, err)
		}
		if f.Replaced == nil || !bytes.Contains([]byte(f.Statement()), fmt.Appendf(nil, "%08x", f.Replaced.id)) {
			t.Errorf("%s: %+v: %s", row.name, f, f.Statement())
		}
		if c, err := e.Claim(); err != nil || c.Kind != f.Kind || c.Older != f.Older || c.Newer != f.Newer {
			t.Errorf("%s: claims %+v, %v; shows %+v", row.name, c, err, f)
		}
		// Any bit that changes the meaning changes the verdict: only the name or
		// key ID of a line that counts for nothing may go.
		for i := range row.file {
			b := bytes.Clone(row.file)
			b[i] ^= 1
			if e, err := ParseEvidence(b); err == nil {
				if g, err := e.Verify(row.key, row.chain...); err == nil && g.Statement() != f.Statement() {
					t.Errorf("%s: with byte %d changed it says %s", row.name, i, g.Statement())
				}
			}
		}
	}
}
