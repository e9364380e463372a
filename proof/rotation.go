package proof

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	rotationVersion = "arborist-key-rotation/1"
	// rotationLines is the number of lines of one rotation: six that are
	// signed, an empty one, and one signature line of each key.
	rotationLines = 9
	// MaxRotations is the highest number of rotations of one corpus.
	MaxRotations = 64
	// MaxRotationFile is the longest rotations file, in bytes.
	MaxRotationFile = 64 << 10
)

// A Rotation is a corpus's change of its key: the old key and the new one both
// sign which key follows which, and the head of the log at that time. Both are
// named in the signed text, because a second signature line on a checkpoint
// binds nothing: anybody can add a line of his own key under the same name.
type Rotation struct {
	Old, New *Verifier // named after the corpus
	// Head of the log when the key was changed. Heads that the old key alone
	// has signed count up to there.
	Head Checkpoint

	note []byte // signed, verbatim
}

// MakeRotation signs the change from the old key to the next at a head of
// their corpus. Size 0 is allowed: a corpus can change its key before its
// first record. It fails with [ErrFormat] or [ErrOrigin].
func MakeRotation(head Checkpoint, old, next *Signer) (Rotation, error) {
	if old.Name() != head.Origin || next.Name() != head.Origin {
		return Rotation{}, fmt.Errorf("make rotation: %w: origin %q, the keys are for %q and %q", ErrOrigin, head.Origin, old.Name(), next.Name())
	}
	r := Rotation{Old: old.Verifier(), New: next.Verifier(), Head: head}
	note, err := SignNote(r.Text(), old, next)
	if err != nil {
		return Rotation{}, fmt.Errorf("make rotation: %w", err)
	}
	return ParseRotation(note)
}

// Text returns the rotation's only spelling without its signatures: six lines,
// each ended by a newline. It is what is signed.
func (r Rotation) Text() []byte {
	var b bytes.Buffer
	b.WriteString(rotationVersion + "\norigin " + r.Head.Origin)
	b.WriteString("\nold " + r.Old.String() + "\nnew " + r.New.String())
	b.WriteString("\nsize " + strconv.FormatUint(r.Head.Size, 10) + "\nroot ")
	b.Write(appendHash(nil, r.Head.Root))
	b.WriteByte('\n')
	return b.Bytes()
}

// Note returns the signed note of the rotation, verbatim.
func (r Rotation) Note() []byte { return bytes.Clone(r.note) }

// ParseRotation parses one signed rotation and verifies both signatures. It
// shows that the holders of the two keys agreed, not that either is the
// corpus's: the reader knows one of them from elsewhere. Errors wrap
// [ErrFormat], [ErrTooLarge], [ErrOrigin] or [ErrSignature].
func ParseRotation(note []byte) (Rotation, error) {
	r, err := parseRotation(note)
	if err != nil {
		return Rotation{}, fmt.Errorf("parse rotation: %w", err)
	}
	return r, nil
}

func parseRotation(note []byte) (r Rotation, err error) {
	text, sigs, err := splitNote(note)
	if err != nil {
		return r, err
	}
	if r, err = parseRotationText(text); err != nil {
		return r, err
	}
	if len(sigs) != 2 {
		return r, fmt.Errorf("%w: %d signature lines, want one of the old and one of the new key", ErrFormat, len(sigs))
	}
	for i, v := range []*Verifier{r.Old, r.New} {
		switch s := sigs[i]; {
		case s.name != v.name || s.id != v.id:
			return r, fmt.Errorf("%w: signature line %d is not of %s (%08x); the old key signs first, then the new one", ErrFormat, i+1, v.name, v.id)
		case !v.verify(text, s.sig):
			return r, fmt.Errorf("%w: line %d does not sign this text", ErrSignature, i+1)
		}
	}
	r.note = bytes.Clone(note)
	return r, nil
}

func parseRotationText(text []byte) (r Rotation, err error) {
	lines := strings.Split(string(text), "\n")
	if lines[0] != rotationVersion {
		if n, ok := strings.CutPrefix(lines[0], "arborist-key-rotation/"); ok && isNumber([]byte(n)) {
			return r, fmt.Errorf("%w: %.40q, this program knows %q", ErrVersion, lines[0], rotationVersion)
		}
		return r, fmt.Errorf("%w: its first line is not %q", ErrFormat, rotationVersion)
	}
	if len(lines) != 7 {
		return r, fmt.Errorf("%w: want six lines: version, origin, old, new, size and root", ErrFormat)
	}
	var values [5]string
	for i, key := range []string{"origin ", "old ", "new ", "size ", "root "} {
		v, ok := strings.CutPrefix(lines[1+i], key)
		if !ok {
			return r, fmt.Errorf("%w: line %d does not start with %q", ErrFormat, i+2, key)
		}
		values[i] = v
	}
	if r.Head, err = parseCheckpoint([]byte(values[0] + "\n" + values[3] + "\n" + values[4] + "\n")); err != nil {
		return r, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if r.Old, err = ParseVerifier(values[1]); err != nil {
		return r, fmt.Errorf("old key: %w", err)
	}
	if r.New, err = ParseVerifier(values[2]); err != nil {
		return r, fmt.Errorf("new key: %w", err)
	}
	switch {
	case r.Old.name != r.Head.Origin || r.New.name != r.Head.Origin:
		return r, fmt.Errorf("%w: origin %q, the keys are for %q and %q", ErrOrigin, r.Head.Origin, r.Old.name, r.New.name)
	case r.Old.id == r.New.id:
		// Two keys of one ID could not be told apart in a note.
		return r, fmt.Errorf("%w: old and new key have the same key hash %08x", ErrFormat, r.Old.id)
	case !bytes.Equal(r.Text(), text):
		return r, fmt.Errorf("%w: second spelling", ErrFormat)
	}
	return r, nil
}

// ParseRotations parses a rotations file: the rotations of one corpus one after
// another, oldest first. Each starts from the key that the one before led to,
// at the same size or a later one, and no key comes twice. Errors are those of
// [ParseRotation], and [ErrRotation] where the rotations make no chain.
func ParseRotations(file []byte) ([]Rotation, error) {
	chain, err := parseRotations(file)
	if err != nil {
		return nil, fmt.Errorf("parse rotations: %w", err)
	}
	return chain, nil
}

// IsRotations reports whether bytes begin as a rotations file does, of this
// version or another.
func IsRotations(file []byte) bool {
	return bytes.HasPrefix(file, []byte(rotationVersion[:len(rotationVersion)-1]))
}

func parseRotations(file []byte) (chain []Rotation, err error) {
	if len(file) > MaxRotationFile {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(file), MaxRotationFile)
	}
	if len(file) == 0 {
		return nil, fmt.Errorf("%w: the file is empty", ErrTruncated)
	}
	for len(file) > 0 {
		if len(chain) == MaxRotations {
			return nil, fmt.Errorf("%w: over %d rotations", ErrTooLarge, MaxRotations)
		}
		end := 0
		for range rotationLines {
			n := bytes.IndexByte(file[end:], '\n')
			if n < 0 {
				return nil, fmt.Errorf("rotation %d: %w", len(chain)+1, ErrTruncated)
			}
			end += n + 1
		}
		r, err := parseRotation(file[:end])
		if err != nil {
			return nil, fmt.Errorf("rotation %d: %w", len(chain)+1, err)
		}
		chain, file = append(chain, r), file[end:]
	}
	return chain, CheckRotations(chain)
}

// CheckRotations checks that rotations make one chain. It fails with
// [ErrRotation].
func CheckRotations(chain []Rotation) error {
	if len(chain) > MaxRotations {
		return fmt.Errorf("%w: over %d rotations", ErrRotation, MaxRotations)
	}
	used := make(map[uint32]bool, len(chain)+1)
	for i, r := range chain {
		if i == 0 {
			used[r.Old.id] = true
		} else {
			before := chain[i-1]
			switch {
			case *r.Old != *before.New:
				return fmt.Errorf("%w: rotation %d is from the key %08x, the one before led to %08x", ErrRotation, i+1, r.Old.id, before.New.id)
			case r.Head.Size < before.Head.Size:
				return fmt.Errorf("%w: rotation %d is at size %d, the one before at %d", ErrRotation, i+1, r.Head.Size, before.Head.Size)
			case r.Head.Size == before.Head.Size && r.Head.Root != before.Head.Root:
				return fmt.Errorf("%w: rotations %d and %d have two roots at size %d", ErrRotation, i, i+1, r.Head.Size)
			}
		}
		if used[r.New.id] {
			return fmt.Errorf("%w: rotation %d leads back to the key %08x", ErrRotation, i+1, r.New.id)
		}
		used[r.New.id] = true
	}
	return nil
}

// AppendRotations returns the rotations file of a chain.
func AppendRotations(b []byte, chain []Rotation) []byte {
	for _, r := range chain {
		b = append(b, r.note...)
	}
	return b
}

// A keyUse says which key of a chain signed, compared with the key given.
type keyUse struct {
	replaced  bool
	at        uint64 // size of the rotation that retired the key, where replaced
	successor bool   // it is a later key than the one given
}

// chainKeys returns the keys of a chain, oldest first, and which of them is the
// one given; without rotations that one alone.
func chainKeys(key *Verifier, chain []Rotation) (keys []*Verifier, given int, err error) {
	if len(chain) == 0 {
		return []*Verifier{key}, 0, nil
	}
	if err := CheckRotations(chain); err != nil {
		return nil, 0, err
	}
	keys = []*Verifier{chain[0].Old}
	for _, r := range chain {
		keys = append(keys, r.New)
	}
	given = slices.IndexFunc(keys, func(v *Verifier) bool { return *v == *key })
	if given < 0 {
		return nil, 0, fmt.Errorf("%w: none of its %d keys is the one given, %s (%08x)", ErrRotation, len(keys), key.name, key.id)
	}
	return keys, given, nil
}

// openChain opens a note under a key or, with the corpus's rotations, under any
// key of their chain: the newest that has signed counts. A key that was
// replaced counts for the log as it was then and for nothing after.
func openChain(note []byte, key *Verifier, chain []Rotation, open func([]byte, *Verifier) (Checkpoint, error)) (c Checkpoint, use keyUse, err error) {
	if len(chain) == 0 {
		c, err = open(note, key)
		return c, use, err
	}
	keys, given, err := chainKeys(key, chain)
	if err != nil {
		return c, use, err
	}
	for i := len(chain); i >= 0; i-- {
		c, err = open(note, keys[i])
		if errors.Is(err, ErrUnknownKey) {
			continue
		}
		if err != nil {
			return c, use, err
		}
		use.successor = i > given
		if i == len(chain) {
			return c, use, nil
		}
		use.replaced, use.at = true, chain[i].Head.Size
		return c, use, checkRetired(c, chain[i])
	}
	return c, use, err
}

// checkRetired checks a head that was signed by the old key of a rotation and
// by no later one.
func checkRetired(c Checkpoint, r Rotation) error {
	switch {
	case c.Size > r.Head.Size:
		return fmt.Errorf("%w: the key %08x was replaced when the log had %d records and signs %d here", ErrRotation, r.Old.id, r.Head.Size, c.Size)
	case c.Size == r.Head.Size && c.Root != r.Head.Root:
		return fmt.Errorf("%w: at size %d, where the key %08x was replaced, the log has another root", ErrRotation, c.Size, r.Old.id)
	}
	return nil
}
