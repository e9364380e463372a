package proof

import (
	"errors"
	"fmt"
	"slices"
)

// open opens both notes under the key or, with rotations, any key of their
// chain: under one key where one has signed both, the newest first.
func (e *Evidence) open(v *Verifier, rotations []Rotation) (f Finding, err error) {
	keys, _, err := chainKeys(v, rotations)
	if err != nil {
		return f, err
	}
	f = Finding{Kind: e.Kind, Root: e.Root}
	for _, key := range slices.Backward(keys) {
		f.Older, f.Newer, err = e.check(func(note []byte) (Checkpoint, error) { return OpenCheckpoint(note, key) })
		if !errors.Is(err, ErrUnknownKey) {
			f.Origin, f.OlderKey, f.NewerKey = f.Newer.Origin, key, key
			return f, err
		}
	}
	if len(rotations) == 0 {
		return f, err
	}
	var signed []*Verifier // of the notes in the order in which check reads them
	f.Older, f.Newer, err = e.check(func(note []byte) (Checkpoint, error) {
		c, i, err := openInTime(note, keys, rotations)
		if err == nil {
			signed = append(signed, keys[i])
		}
		return c, err
	})
	if err != nil {
		return f, err
	}
	f.Origin, f.OlderKey, f.NewerKey = f.Newer.Origin, signed[0], signed[1]
	return f, nil
}

// openInTime opens a note under the newest key of a chain that has signed it,
// up to the size at which that key was replaced. Its root there is not
// compared with the rotation's, as for a proof: that they differ can be what is
// shown.
func openInTime(note []byte, keys []*Verifier, chain []Rotation) (c Checkpoint, i int, err error) {
	for i, key := range slices.Backward(keys) {
		c, err = OpenCheckpoint(note, key)
		if errors.Is(err, ErrUnknownKey) {
			continue
		}
		if err == nil && i < len(chain) && c.Size > chain[i].Head.Size {
			err = fmt.Errorf("%w: the key %08x was replaced when the log had %d records and signs %d here, beside a note of another key",
				ErrRotation, key.id, chain[i].Head.Size, c.Size)
		}
		return c, i, err
	}
	return c, 0, err
}

// fork reads two rotations away from one key, with their signatures.
func (e *Evidence) fork() (f Finding, err error) {
	older, err := ParseRotation(e.Older)
	if err != nil {
		return f, fmt.Errorf("older rotation: %w", err)
	}
	newer, err := ParseRotation(e.Newer)
	switch {
	case err != nil:
		return f, fmt.Errorf("newer rotation: %w", err)
	case older.Head.Origin != newer.Head.Origin:
		return f, fmt.Errorf("%w: one rotation is of %q, the other of %q", ErrTampered, older.Head.Origin, newer.Head.Origin)
	case *older.Old != *newer.Old:
		return f, fmt.Errorf("%w: the rotations lead away from two keys, %08x and %08x", ErrTampered, older.Old.id, newer.Old.id)
	case string(older.Text()) == string(newer.Text()):
		return f, fmt.Errorf("%w: the two rotations are one", ErrTampered)
	case older.Head.Size > newer.Head.Size:
		return f, fmt.Errorf("%w: the older rotation is at %d records, the newer one at %d", ErrFormat, older.Head.Size, newer.Head.Size)
	case !e.Root.IsZero() || len(e.Path) > 0:
		return f, fmt.Errorf("%w: a fork of rotations with a root or a path", ErrFormat)
	}
	return Finding{
		Kind: RotationFork, Origin: newer.Head.Origin, Older: older.Head, Newer: newer.Head,
		OlderKey: older.New, NewerKey: newer.New, Replaced: older.Old,
	}, nil
}

// verifyFork verifies two rotations of one key. The reader knows that key, one
// of the two that it was handed over to, or another key of its chain.
func (e *Evidence) verifyFork(v *Verifier, rotations []Rotation) (Finding, error) {
	f, err := e.fork()
	if err != nil {
		return Finding{}, fmt.Errorf("verify evidence: %w", err)
	}
	keys, _, err := chainKeys(v, rotations)
	if err != nil {
		return Finding{}, fmt.Errorf("verify evidence: %w", err)
	}
	known := func(key *Verifier) bool {
		return slices.ContainsFunc(keys, func(k *Verifier) bool { return *k == *key })
	}
	if !known(f.Replaced) && !known(f.OlderKey) && !known(f.NewerKey) {
		return Finding{}, fmt.Errorf("verify evidence: %w: the rotations are of the key %08x of %s", ErrUnknownKey, f.Replaced.id, f.Origin)
	}
	return f, nil
}

// Statement says in one English sentence what was shown, and what was not. It is
// safe to show.
func (f Finding) Statement() string {
	switch {
	case f.Kind == RotationHead:
		return f.rotationStatement()
	case f.Kind == ReplacedKey:
		return f.replacedStatement()
	case f.Kind == RotationFork:
		return fmt.Sprintf("the holder of the key %08x of %s signed two rotations of it: to the key %08x at %d records and to the key %08x at %d; "+
			"whether the publisher stood behind both is not shown", f.Replaced.keyID(), f.Origin, f.OlderKey.keyID(), f.Older.Size, f.NewerKey.keyID(), f.Newer.Size)
	case f.Kind == Rollback:
		history := "whether they are heads of one history is not shown"
		if f.Consistent {
			history = "the older is of the same history as the newer, so they accuse nobody"
		}
		return fmt.Sprintf("%s signed a head of %d records and one of %d records, and %s; "+
			"that somebody served the older one when the newer was known is the word of whoever made this file, nothing in it proves that",
			f.signers("the key"), f.Older.Size, f.Newer.Size, history)
	case f.Older.Size == f.Newer.Size:
		return fmt.Sprintf("%s signed two histories: two heads of %d records with the roots %s and %s",
			f.signers("the holder of the key"), f.Older.Size, appendHash(nil, f.Older.Root), appendHash(nil, f.Newer.Root))
	default:
		return fmt.Sprintf("%s signed two histories: a head of %d records with the root %s, and one of %d records whose log had the root %s at %d",
			f.signers("the holder of the key"), f.Older.Size, appendHash(nil, f.Older.Root), f.Newer.Size, appendHash(nil, f.Root), f.Older.Size)
	}
}

// signers names who has signed the heads.
func (f Finding) signers(one string) string {
	if f.OlderKey == nil || *f.OlderKey == *f.NewerKey {
		return one + " of " + f.Origin
	}
	return fmt.Sprintf("the holders of the keys %08x and %08x of %s, of which one took the other's place,", f.OlderKey.id, f.NewerKey.id, f.Origin)
}

func (v *Verifier) keyID() uint32 {
	if v == nil {
		return 0
	}
	return v.id
}
