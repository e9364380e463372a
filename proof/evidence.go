package proof

import (
	"fmt"

	"arborist/merkle"
)

// MaxEvidence is the longest evidence file, in bytes: two notes and a path.
const MaxEvidence = 2*MaxNote + 4<<10

// An EvidenceKind says what two notes are kept for.
type EvidenceKind string

const (
	// Equivocation: the two heads contradict each other. That is proven against
	// whoever holds the corpus's key, by the notes alone.
	Equivocation EvidenceKind = "equivocation"
	// Rollback: the older head was served when the newer one was known. The
	// notes do not show that: see [Finding.Statement].
	Rollback EvidenceKind = "rollback"
	// RotationFork: two rotations lead away from one key of the corpus. That is
	// proven against whoever holds that key.
	RotationFork EvidenceKind = "rotation-fork"
	// RotationHead: a rotation and a head contradict each other, and one of the
	// rotation's keys has signed both. That is proven against whoever holds that key.
	RotationHead EvidenceKind = "rotation"
	// ReplacedKey: a key that the corpus has replaced has signed a head alone.
	// With a root it is of another history than a head of a later key: that is
	// proven against whoever holds the replaced key, and against nobody else.
	ReplacedKey EvidenceKind = "replaced-key"
)

// Evidence is two signed heads of one corpus that should not both have been
// shown to the same reader. It is a claim until [Evidence.Verify] has accepted
// it.
type Evidence struct {
	Kind EvidenceKind
	// Older and Newer are signed checkpoints, verbatim. Older has at most as
	// many records as Newer, and fewer in a rollback. In a fork of rotations they
	// are signed rotations ([Rotation.Note]), with neither Root nor Path; in a
	// [RotationHead] one of them is, the older where the sizes are equal.
	Older, Newer []byte
	// Root is, where the two contradict each other, the root that the log of
	// Newer has at the size of Older; it is not Older's. In a rollback it is zero,
	// and so it is where a replaced key has signed after its time and no more is
	// known.
	Root merkle.Hash
	// Path is the consistency proof from the size of Older to Newer: from Root
	// where there is one, empty where the sizes are equal; otherwise from Older's
	// own root, empty where whoever kept the notes had none.
	Path []merkle.Hash
}

// A Finding is what verified evidence shows.
type Finding struct {
	Kind         EvidenceKind
	Origin       string
	Older, Newer Checkpoint
	Root         merkle.Hash // of the log of Newer at the size of Older, where they contradict each other
	Consistent   bool        // the log of Older is shown to be a prefix of that of Newer
	// OlderKey and NewerKey have signed the heads; in a fork of rotations the
	// rotations lead to them, away from Replaced. Nil in a claim.
	OlderKey, NewerKey *Verifier
	Replaced           *Verifier // of rotations and replaced keys: the key that was replaced
	ReplacedAt         uint64    // the size of the log at which it was; 0 in a fork of rotations
}

// Verify checks the evidence with the corpus's key and says what it shows. It
// fails where the notes do not show what the evidence is kept for.
//
// With the corpus's rotations the key given is any of their chain, and so are
// those that have signed. One key that has signed both notes is accused for
// itself, whenever it was replaced. Where they are two, the replaced one counts
// up to the size at which it was: whoever gets hold of a key after that can
// sign anything with it.
//
// Errors wrap [ErrFormat], [ErrTooLarge], [ErrTampered], [ErrUnknownKey],
// [ErrSignature], [ErrOrigin] or [ErrRotation].
func (e *Evidence) Verify(v *Verifier, rotations ...Rotation) (Finding, error) {
	open := e.open
	switch e.Kind {
	case RotationFork:
		return e.verifyFork(v, rotations)
	case RotationHead:
		open = e.openRotation
	case ReplacedKey:
		open = e.openReplaced
	}
	f, err := open(v, rotations)
	if err != nil {
		return Finding{}, fmt.Errorf("verify evidence: %w", err)
	}
	older, newer := f.Older, f.Newer
	from := e.Root
	if !e.contradicts() {
		from = older.Root
		f.Consistent = len(e.Path) > 0 || older.Size == 0
		if len(e.Path) == 0 {
			return f, nil
		}
	} else if e.Root == older.Root {
		return Finding{}, fmt.Errorf("verify evidence: %w: the two heads agree at size %d", ErrTampered, older.Size)
	}
	if err := merkle.VerifyConsistency(older.Size, newer.Size, from, newer.Root, e.Path); err != nil {
		return Finding{}, fmt.Errorf("verify evidence: %w: path from size %d to %d: %w", ErrTampered, older.Size, newer.Size, err)
	}
	return f, nil
}

// Claim returns what the evidence claims, with its form checked but NO
// SIGNATURE and no hash: use it to find out whose key to ask for, never to
// believe it.
func (e *Evidence) Claim() (Finding, error) {
	if e.Kind == RotationFork {
		f, err := e.fork()
		if err != nil {
			return Finding{}, fmt.Errorf("read evidence: %w", err)
		}
		return Finding{Kind: f.Kind, Origin: f.Origin, Older: f.Older, Newer: f.Newer}, nil
	}
	older, newer, err := e.check(e.reader(ReadCheckpoint))
	if err != nil {
		return Finding{}, fmt.Errorf("read evidence: %w", err)
	}
	return Finding{Kind: e.Kind, Origin: newer.Origin, Older: older, Newer: newer, Root: e.Root}, nil
}

// check checks everything but the hashes. How the notes are read is the
// caller's: with or without their signatures.
func (e *Evidence) check(read func(note []byte) (Checkpoint, error)) (older, newer Checkpoint, err error) {
	if older, err = read(e.Older); err != nil {
		return older, newer, fmt.Errorf("older note: %w", err)
	}
	if newer, err = read(e.Newer); err != nil {
		return older, newer, fmt.Errorf("newer note: %w", err)
	}
	switch {
	case older.Origin != newer.Origin:
		return older, newer, fmt.Errorf("%w: one note is of %q, the other of %q", ErrTampered, older.Origin, newer.Origin)
	case older.Size > newer.Size:
		return older, newer, fmt.Errorf("%w: the older note has %d records, the newer one %d", ErrFormat, older.Size, newer.Size)
	case len(e.Path) > maxConsistency:
		return older, newer, fmt.Errorf("%w: the path has over %d hashes", ErrFormat, maxConsistency)
	case e.Kind == RotationHead:
		if err := e.checkRotation(older, newer); err != nil {
			return older, newer, err
		}
	}
	switch {
	case e.Kind != Equivocation && e.Kind != Rollback && e.Kind != RotationHead && e.Kind != ReplacedKey:
		return older, newer, fmt.Errorf("%w: evidence of kind %.40q", ErrFormat, e.Kind)
	case e.contradicts():
		if older.Size == 0 || e.Root.IsZero() {
			return older, newer, fmt.Errorf("%w: evidence of the kind %s at size %d with root %x", ErrFormat, e.Kind, older.Size, e.Root)
		}
	case older.Size == newer.Size || !e.Root.IsZero() || older.Size == 0 && len(e.Path) > 0:
		return older, newer, fmt.Errorf("%w: evidence of the kind %s from size %d to %d with root %x and %d hashes", ErrFormat, e.Kind, newer.Size, older.Size, e.Root, len(e.Path))
	}
	return older, newer, nil
}

// contradicts reports whether the evidence is of two heads that cannot both be
// of one history.
func (e *Evidence) contradicts() bool {
	return e.Kind == Equivocation || e.Kind == RotationHead || e.Kind == ReplacedKey && !e.Root.IsZero()
}

// maxConsistency is the length of the longest consistency proof of a tree
// below 2^63 leaves (RFC 9162 2.1.4: one hash more than an inclusion path).
const maxConsistency = merkle.MaxPath + 1
