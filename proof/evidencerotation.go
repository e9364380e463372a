package proof

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// isRotation reports whether a note is to be read as a rotation: its first
// line, which is the origin of a checkpoint, says so.
func isRotation(note []byte) bool { return bytes.HasPrefix(note, []byte(rotationVersion+"\n")) }

// reader returns what reads the two statements: in a [RotationHead] a rotation
// stands for the head at which the key was changed, otherwise open reads both.
func (e *Evidence) reader(open func(note []byte) (Checkpoint, error)) func(note []byte) (Checkpoint, error) {
	if e.Kind != RotationHead {
		return open
	}
	return func(note []byte) (Checkpoint, error) {
		if isRotation(note) {
			r, err := ParseRotation(note)
			return r.Head, err
		}
		return open(note)
	}
}

// checkRotation checks that one of the two is a rotation, and the first where
// both are about one size: so that there is one spelling.
func (e *Evidence) checkRotation(older, newer Checkpoint) error {
	first, second := isRotation(e.Older), isRotation(e.Newer)
	switch {
	case first == second:
		return fmt.Errorf("%w: want a rotation and a head", ErrFormat)
	case second && older.Size == newer.Size:
		return fmt.Errorf("%w: of a rotation and a head of %d records the rotation stands first", ErrFormat, older.Size)
	}
	return nil
}

// openRotation opens a rotation and a head that one of its two keys has signed:
// the new one, where both have. The reader knows one of the two, or another key
// of their chain.
func (e *Evidence) openRotation(v *Verifier, rotations []Rotation) (f Finding, err error) {
	text := e.Older
	if !isRotation(text) {
		text = e.Newer
	}
	r, err := ParseRotation(text)
	if err != nil {
		return f, fmt.Errorf("rotation: %w", err)
	}
	keys, _, err := chainKeys(v, rotations)
	if err != nil {
		return f, err
	}
	if !slices.ContainsFunc(keys, func(k *Verifier) bool { return *k == *r.Old || *k == *r.New }) {
		return f, fmt.Errorf("%w: the rotation is from the key %08x of %s", ErrUnknownKey, r.Old.id, r.Head.Origin)
	}
	f = Finding{Kind: e.Kind, Root: e.Root, Origin: r.Head.Origin, Replaced: r.Old, ReplacedAt: r.Head.Size}
	for _, key := range []*Verifier{r.New, r.Old} {
		f.Older, f.Newer, err = e.check(e.reader(func(note []byte) (Checkpoint, error) { return OpenCheckpoint(note, key) }))
		if !errors.Is(err, ErrUnknownKey) {
			f.OlderKey, f.NewerKey = key, key
			break
		}
	}
	return f, err
}

// openReplaced opens two notes of two keys of a chain, each under the newest
// that has signed it, and demands that the evidence says something of the one
// that was replaced: that it signed another history, or after its time.
func (e *Evidence) openReplaced(v *Verifier, rotations []Rotation) (f Finding, err error) {
	keys, _, err := chainKeys(v, rotations)
	if err != nil {
		return f, err
	}
	f = Finding{Kind: e.Kind, Root: e.Root}
	var signed []int // index in keys, of the notes in the order in which check reads them
	f.Older, f.Newer, err = e.check(func(note []byte) (c Checkpoint, err error) {
		for i, key := range slices.Backward(keys) {
			if c, err = OpenCheckpoint(note, key); !errors.Is(err, ErrUnknownKey) {
				signed = append(signed, i)
				break
			}
		}
		return c, err
	})
	if err != nil {
		return f, err
	}
	older, newer := signed[0], signed[1]
	if older == newer {
		return f, fmt.Errorf("%w: one key, %08x, has signed both heads", ErrTampered, keys[older].id)
	}
	i, head := older, f.Older
	if newer < older {
		i, head = newer, f.Newer
	}
	f.Origin, f.OlderKey, f.NewerKey = f.Newer.Origin, keys[older], keys[newer]
	f.Replaced, f.ReplacedAt = keys[i], rotations[i].Head.Size
	if !e.contradicts() && head.Size <= f.ReplacedAt {
		return f, fmt.Errorf("%w: the key %08x was replaced when the log had %d records, after this head of %d", ErrTampered, keys[i].id, f.ReplacedAt, head.Size)
	}
	return f, nil
}

// rotationStatement is [Finding.Statement] of a [RotationHead].
func (f Finding) rotationStatement() string {
	return fmt.Sprintf("the holder of the key %08x of %s signed two histories: one in the rotation away from the key %08x when the log had %d records, "+
		"and one in a head; the one says %d records with the root %s, the other %d records whose log had the root %s at %d",
		f.OlderKey.keyID(), f.Origin, f.Replaced.keyID(), f.ReplacedAt, f.Older.Size, appendHash(nil, f.Older.Root), f.Newer.Size, appendHash(nil, f.Root), f.Older.Size)
}

// replacedStatement is [Finding.Statement] of a [ReplacedKey].
func (f Finding) replacedStatement() string {
	key, by, other := f.Older, f.NewerKey, f.Newer
	if f.NewerKey != nil && *f.NewerKey == *f.Replaced {
		key, by, other = f.Newer, f.OlderKey, f.Older
	}
	who := fmt.Sprintf("the key %08x of %s was replaced when its log had %d records", f.Replaced.keyID(), f.Origin, f.ReplacedAt)
	if !f.Root.IsZero() {
		return fmt.Sprintf("%s, and its holder signed another history than the key %08x: a head of %d records, where that key signed one of %d; "+
			"it shows nothing against the holder of the key %08x, and not that the publisher is the holder of the replaced one",
			who, by.keyID(), key.Size, other.Size, by.keyID())
	}
	history := "whether it is of the history that the key %08x signed is not shown"
	if f.Consistent {
		history = "it is of the history that the key %08x signed"
	}
	return fmt.Sprintf("%s, and a head of %d records has its line and not that of a later key; "+history+"; "+
		"lines can be taken off by anybody, so this accuses nobody", who, key.Size, by.keyID())
}
