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
)

// Evidence is two signed heads of one corpus that should not both have been
// shown to the same reader. It is a claim until [Evidence.Verify] has accepted
// it.
type Evidence struct {
	Kind EvidenceKind
	// Older and Newer are signed checkpoints, verbatim. Older has at most as
	// many records as Newer, and fewer in a rollback.
	Older, Newer []byte
	// Root is, in an equivocation, the root that the log of Newer has at the
	// size of Older; it is not Older's. In a rollback it is zero.
	Root merkle.Hash
	// Path is the consistency proof from the size of Older to Newer: from Root in
	// an equivocation, empty where the sizes are equal; from Older's own root in
	// a rollback, empty where whoever kept the notes had none.
	Path []merkle.Hash
}

// A Finding is what verified evidence shows.
type Finding struct {
	Kind         EvidenceKind
	Origin       string
	Older, Newer Checkpoint
	Root         merkle.Hash // of the log of Newer at the size of Older, in an equivocation
	Consistent   bool        // a rollback: the log of Older is shown to be a prefix of that of Newer
}

// Verify checks the evidence with the corpus's key and says what it shows. It
// fails where the notes do not show what the evidence is kept for. Errors wrap
// [ErrFormat], [ErrTooLarge], [ErrTampered], [ErrUnknownKey], [ErrSignature] or
// [ErrOrigin].
func (e *Evidence) Verify(v *Verifier) (Finding, error) {
	older, newer, err := e.check(func(note []byte) (Checkpoint, error) { return OpenCheckpoint(note, v) })
	if err != nil {
		return Finding{}, fmt.Errorf("verify evidence: %w", err)
	}
	f := Finding{Kind: e.Kind, Origin: newer.Origin, Older: older, Newer: newer, Root: e.Root}
	from := e.Root
	if e.Kind == Rollback {
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
	older, newer, err := e.check(ReadCheckpoint)
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
	}
	switch e.Kind {
	case Equivocation:
		if older.Size == 0 || e.Root.IsZero() {
			return older, newer, fmt.Errorf("%w: an equivocation at size %d with root %x", ErrFormat, older.Size, e.Root)
		}
	case Rollback:
		if older.Size == newer.Size || !e.Root.IsZero() || older.Size == 0 && len(e.Path) > 0 {
			return older, newer, fmt.Errorf("%w: a rollback from size %d to %d with root %x and %d hashes", ErrFormat, newer.Size, older.Size, e.Root, len(e.Path))
		}
	default:
		return older, newer, fmt.Errorf("%w: evidence of kind %.40q", ErrFormat, e.Kind)
	}
	return older, newer, nil
}

// maxConsistency is the length of the longest consistency proof of a tree
// below 2^63 leaves (RFC 9162 2.1.4: one hash more than an inclusion path).
const maxConsistency = merkle.MaxPath + 1

// Statement says in one English sentence what was shown, and of a rollback what
// was not. It is safe to show.
func (f Finding) Statement() string {
	switch {
	case f.Kind == Rollback:
		history := "whether they are heads of one history is not shown"
		if f.Consistent {
			history = "the older is of the same history as the newer, so they accuse nobody"
		}
		return fmt.Sprintf("the key of %s signed a head of %d records and one of %d records, and %s; "+
			"that somebody served the older one when the newer was known is the word of whoever made this file, nothing in it proves that",
			f.Origin, f.Older.Size, f.Newer.Size, history)
	case f.Older.Size == f.Newer.Size:
		return fmt.Sprintf("the holder of the key of %s signed two histories: two heads of %d records with the roots %s and %s",
			f.Origin, f.Older.Size, appendHash(nil, f.Older.Root), appendHash(nil, f.Newer.Root))
	default:
		return fmt.Sprintf("the holder of the key of %s signed two histories: a head of %d records with the root %s, and one of %d records whose log had the root %s at %d",
			f.Origin, f.Older.Size, appendHash(nil, f.Older.Root), f.Newer.Size, appendHash(nil, f.Root), f.Older.Size)
	}
}
