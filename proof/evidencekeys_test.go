package proof

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"arborist/merkle"
)

// A changedKey is a corpus that changed its key at 60 records, with two logs
// that part at 40: what the publisher signed, and a lie.
type changedKey struct {
	old, next, stranger *Signer
	rotation            Rotation
	truth, lie          testLog // signed by old
	later, laterLie     testLog // signed by next
}

func newChangedKey(t tester) (c changedKey) {
	signer := func(seed byte) *Signer {
		s, err := NewSigner(testPeer+"/main", [32]byte{seed, 77})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	c.old, c.next, c.stranger = signer(1), signer(2), signer(3)
	c.truth, c.lie = newTestLog(t, c.old, 80, 40, "truth"), newTestLog(t, c.old, 80, 40, "lie")
	c.later, c.laterLie = newTestLog(t, c.next, 80, 40, "truth"), newTestLog(t, c.next, 80, 40, "lie")
	c.rotation = c.rotate(t, 60, c.next)
	return c
}

func (c changedKey) rotate(t tester, size uint64, to *Signer) Rotation {
	r, err := MakeRotation(Checkpoint{Origin: c.old.Name(), Size: size, Root: c.truth.root(size)}, c.old, to)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (c changedKey) between(older, newer testLog, from, to uint64) *Evidence {
	return &Evidence{Kind: Equivocation, Older: older.note(from), Newer: newer.note(to), Root: newer.root(from), Path: newer.path(from, to)}
}

func TestEvidenceOfTwoKeysNeedsTheRotationThatJoinsThem(t *testing.T) {
	c := newChangedKey(t)
	old, next, chain := c.old.Verifier(), c.next.Verifier(), []Rotation{c.rotation}
	both, err := SignCheckpoint(Checkpoint{Origin: old.Name(), Size: 70, Root: c.lie.root(70)}, c.old, c.next)
	if err != nil {
		t.Fatal(err)
	}
	signedByBoth := c.between(c.truth, c.lie, 60, 70)
	signedByBoth.Newer = both
	for _, row := range []struct {
		name  string
		e     *Evidence
		key   *Verifier
		chain []Rotation
		want  error
	}{
		{"old head of another history, new head", c.between(c.lie, c.later, 50, 70), next, chain, nil},
		{"the same, with the replaced key", c.between(c.lie, c.later, 50, 70), old, chain, nil},
		{"old head where the key was replaced", c.between(c.lie, c.later, 60, 70), next, chain, nil},
		{"equal sizes", c.between(c.lie, c.later, 60, 60), next, chain, nil},
		{"new head below the old one", c.between(c.laterLie, c.truth, 50, 60), next, chain, nil},
		{"a head that both have signed", signedByBoth, next, chain, nil},
		{"without rotations", c.between(c.lie, c.later, 50, 70), next, nil, ErrUnknownKey},
		{"without rotations, replaced key", c.between(c.lie, c.later, 50, 70), old, nil, ErrUnknownKey},
		{"the replaced key signs after its time", c.between(c.lie, c.later, 61, 70), next, chain, ErrRotation},
		{"the replaced key signs a longer log", c.between(c.later, c.lie, 70, 80), next, chain, ErrRotation},
		{"of one history", c.between(c.truth, c.later, 50, 70), next, chain, ErrTampered},
		{"a key that is not of the chain", c.between(c.lie, c.later, 50, 70), c.stranger.Verifier(), chain, ErrRotation},
		{"rotations of another key", c.between(c.lie, c.later, 50, 70), old, []Rotation{c.rotate(t, 60, c.stranger)}, ErrUnknownKey},
		{"rotations that make no chain", c.between(c.lie, c.later, 50, 70), old, []Rotation{c.rotation, c.rotation}, ErrRotation},
		// Written before the key was replaced: it accuses the holder of that key,
		// however long the logs that he signed.
		{"one key, before its end", c.between(c.lie, c.truth, 45, 55), old, nil, nil},
		{"one key, before its end, with the rotations", c.between(c.lie, c.truth, 45, 55), old, chain, nil},
		{"one key, before its end, with the new key", c.between(c.lie, c.truth, 45, 55), next, chain, nil},
		{"one key, beyond its end, with the new key", c.between(c.lie, c.truth, 50, 80), next, chain, nil},
		{"a rollback over the change", &Evidence{Kind: Rollback, Older: c.truth.note(50), Newer: c.later.note(70), Path: c.later.path(50, 70)}, next, chain, nil},
		{"a rollback over the change, without rotations", &Evidence{Kind: Rollback, Older: c.truth.note(50), Newer: c.later.note(70)}, next, nil, ErrUnknownKey},
	} {
		f, err := row.e.Verify(row.key, row.chain...)
		if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
		if err != nil {
			continue
		}
		twoKeys := *f.OlderKey != *f.NewerKey
		if names := strings.Contains(f.Statement(), fmt.Sprintf("%08x", old.id)); twoKeys != names {
			t.Errorf("%s: two keys %v, says %q", row.name, twoKeys, f.Statement())
		}
		text, err := row.e.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := verifyEvidence(text, row.key); (err == nil) != (len(row.chain) == 0 || !twoKeys && *f.OlderKey == *row.key) {
			t.Errorf("%s: without the rotations %v", row.name, err)
		}
	}
}

func TestTwoRotationsOfOneKeyAreEvidence(t *testing.T) {
	c := newChangedKey(t)
	old, next := c.old.Verifier(), c.next.Verifier()
	rival := c.rotate(t, 70, c.stranger)
	fork := &Evidence{Kind: RotationFork, Older: c.rotation.Note(), Newer: rival.Note()}
	for name, row := range map[string]struct {
		key   *Verifier
		chain []Rotation
		want  error
	}{
		"the replaced key": {old, nil, nil}, "the new key": {next, nil, nil}, "the other new key": {c.stranger.Verifier(), nil, nil},
		"with its rotations":   {next, []Rotation{c.rotation}, nil},
		"another key":          {testSigner(t, testPeer+"/other").Verifier(), nil, ErrUnknownKey},
		"not of the rotations": {c.laterKey(t), []Rotation{c.rotation}, ErrRotation},
	} {
		f, err := fork.Verify(row.key, row.chain...)
		if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
		if err == nil && (*f.Replaced != *old || !strings.Contains(f.Statement(), "signed two rotations") || f.Older.Size != 60 || f.Newer.Size != 70) {
			t.Errorf("%s: %+v: %s", name, f, f.Statement())
		}
	}
	text, err := fork.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	want := "arborist-evidence/1\nkind rotation-fork\n\n" + string(c.rotation.Note()) + "\n" + string(rival.Note())
	if string(text) != want {
		t.Errorf("text\n%s\nwant\n%s", text, want)
	}
	if parsed, err := ParseEvidence(text); err != nil || !bytes.Equal(parsed.Older, fork.Older) || !bytes.Equal(parsed.Newer, fork.Newer) {
		t.Errorf("%+v, %v", parsed, err)
	}
	strange, err := MakeRotation(c.rotation.Head, c.stranger, c.next)
	if err != nil {
		t.Fatal(err)
	}
	hash := string(appendHash(nil, merkle.Hash{1})) + "\n"
	file := func(older, newer []byte) string {
		return "arborist-evidence/1\nkind rotation-fork\n\n" + string(older) + "\n" + string(newer)
	}
	for name, row := range map[string]struct {
		file string
		want error
	}{
		"one rotation twice":         {file(rival.Note(), rival.Note()), ErrTampered},
		"of two keys":                {file(strange.Note(), rival.Note()), ErrTampered},
		"the later one first":        {file(rival.Note(), c.rotation.Note()), ErrFormat},
		"a hash":                     {strings.Replace(want, "fork\n\n", "fork\n"+hash+"\n", 1), ErrFormat},
		"a root":                     {strings.Replace(want, "fork\n\n", "fork\nroot "+hash+"\n", 1), ErrFormat},
		"heads in their place":       {file(c.truth.note(60), c.lie.note(60)), ErrFormat},
		"signature changed":          {strings.Replace(want, "\nsize 70", "\nsize 71", 1), ErrSignature},
		"rotations as equivocation":  {strings.Replace(want, "rotation-fork", "equivocation", 1), ErrFormat},
		"rotations as a rollback":    {strings.Replace(want, "rotation-fork", "rollback", 1), ErrFormat},
		"cut":                        {want[:len(want)-1], ErrTruncated},
		"bytes after it":             {want + "\n", ErrFormat},
		"a third signature line":     {want + want[strings.LastIndex(want, "\u2014"):], ErrFormat},
		"without its last signature": {want[:strings.LastIndex(want, "\u2014")], ErrFormat},
	} {
		if e, err := ParseEvidence([]byte(row.file)); !errors.Is(err, row.want) {
			t.Errorf("%s: read %v, %v; want %v", name, e != nil, err, row.want)
		}
	}
}

func (c changedKey) laterKey(t tester) *Verifier {
	s, err := NewSigner(c.old.Name(), [32]byte{88})
	if err != nil {
		t.Fatal(err)
	}
	return s.Verifier()
}
