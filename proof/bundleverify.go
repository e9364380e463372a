package proof

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"arborist/merkle"
)

// ExpectBundle is what the verifier of a bundle knows from elsewhere. The zero
// ExpectBundle checks the bundle against itself alone.
type ExpectBundle struct {
	// Keys of corpora, of which each must have a log to check: the one whose
	// origin is the key's name. Of several keys of one name, one must have signed
	// it. Logs without a key are reported as not checked.
	Keys []*Verifier
	// Rotations of the key of one corpus, of which a key is given: as in
	// [Expect], any key of their chain may have signed its log.
	Rotations []Rotation
	// Witnesses that must have cosigned each log that has a key, and how many
	// of them: as in [Expect].
	Witnesses []*Cosigner
	Quorum    int
}

// Check is [Expect.Check] for what is expected of each log.
func (e ExpectBundle) Check() error {
	rotated := len(e.Rotations) == 0
	if len(e.Keys) == 0 && rotated {
		return Expect{Witnesses: e.Witnesses, Quorum: e.Quorum}.Check()
	}
	for _, key := range e.Keys {
		log := e.of(key)
		rotated = rotated || len(log.Rotations) > 0
		if err := log.Check(); err != nil {
			return err
		}
	}
	if !rotated {
		return fmt.Errorf("%w: rotations of %s are given and no key of it", ErrExpect, e.Rotations[0].Old.name)
	}
	return nil
}

// of returns what is expected of a log that a key shall have signed.
func (e ExpectBundle) of(key *Verifier) Expect {
	log := Expect{Key: key, Witnesses: e.Witnesses, Quorum: e.Quorum}
	if len(e.Rotations) > 0 && e.Rotations[0].Old.name == key.name {
		log.Rotations = e.Rotations
	}
	return log
}

// BundleClaims is what a verified bundle shows.
type BundleClaims struct {
	Hits    []Claim // in rank order, each as [Verify] gives it for the single proof
	Corpora []CorpusClaim
}

// A CorpusClaim says of one log of a bundle whether its signature was checked.
// Where it was not, Origin and Size are what the file says of itself.
type CorpusClaim struct {
	Origin           string // "PEER/NAME"
	Size             uint64 // records in the log when it was signed
	Hits             int    // passages of documents that it lists
	SignatureChecked bool
}

// VerifyBundle checks a bundle as [Verify] checks a proof: every passage by its
// bytes, all places of a document by its header, all records by their log's
// checkpoint, and checkpoints by the keys. It accepts a bundle exactly where
// all of its single proofs ([Bundle.Proofs]) verify.
//
// Errors wrap one of this package's: [ErrTampered], [ErrFormat],
// [ErrTooLarge], [ErrUnknownKey], [ErrRotation], [ErrSignature], [ErrOrigin],
// [ErrNotLogged], [ErrWitness] or, where e itself is at fault, [ErrExpect].
func VerifyBundle(b *Bundle, e ExpectBundle) (BundleClaims, error) {
	return new(Checker).VerifyBundle(b, e)
}

// VerifyBundle is [VerifyBundle] with the Checker's memory.
func (k *Checker) VerifyBundle(b *Bundle, e ExpectBundle) (BundleClaims, error) {
	c, err := k.verifyBundle(b, e)
	if err != nil {
		return BundleClaims{}, fmt.Errorf("verify bundle: %w", err)
	}
	return c, nil
}

func (k *Checker) verifyBundle(b *Bundle, e ExpectBundle) (claims BundleClaims, err error) {
	if err := e.Check(); err != nil {
		return claims, err
	}
	var logs []openedLog
	parts, err := b.check(func(note []byte) (Checkpoint, error) {
		l, err := k.openAny(note, e)
		logs = append(logs, l)
		claims.Corpora = append(claims.Corpora, CorpusClaim{Origin: l.head.Origin, Size: l.head.Size, SignatureChecked: l.signed != nil})
		return l.head, err
	})
	if err == nil {
		err = e.used(parts.heads)
	}
	if err != nil {
		return claims, err
	}
	at := map[Place]Claim{}
	number := 0
	for i := range b.Logs {
		l, corpus := &b.Logs[i], &claims.Corpora[i]
		if err := l.verify(parts.heads[i], parts.lines[number:number+len(l.Documents)]); err != nil {
			return claims, err
		}
		shared, err := k.claimOf(l.Note, logs[i])
		if err != nil {
			return claims, err
		}
		for j := range l.Documents {
			d, claim := &l.Documents[j], shared
			claim.ID = parts.headers[number].id
			if logs[i].signed != nil {
				if err := claim.vouch(parts.heads[i], Inclusion{Index: d.Index}, *d.Record); err != nil {
					return claims, err
				}
			}
			corpus.Hits += len(d.Passages)
			if err := d.verify(number, claim, at); err != nil {
				return claims, err
			}
			number++
		}
	}
	for i := range b.Documents {
		if err := b.Documents[i].verify(number, Claim{ID: parts.headers[number].id}, at); err != nil {
			return claims, err
		}
		number++
	}
	for _, h := range b.Hits {
		claims.Hits = append(claims.Hits, at[h])
	}
	return claims, nil
}

// claimOf returns what the note of a log says of all that the log lists: which
// key has signed and who has cosigned.
func (k *Checker) claimOf(note []byte, l openedLog) (Claim, error) {
	claim := Claim{Logged: true}
	if l.signed == nil {
		return claim, nil
	}
	claim.KeyReplaced, claim.KeyReplacedAt, claim.KeySuccessor = l.use.replaced, l.use.at, l.use.successor
	given, err := l.signed.checkWitnesses()
	if err != nil {
		return claim, err
	}
	return claim, k.witnessed(note, l.signed, given, &claim)
}

// used checks that each key has a log to check. Otherwise a changed origin would
// turn the check of its log off.
func (e ExpectBundle) used(heads []Checkpoint) error {
	for _, key := range e.Keys {
		switch {
		case len(heads) == 0:
			return fmt.Errorf("%w, so the key of %s has nothing to check", ErrNotLogged, key.name)
		case !slices.ContainsFunc(heads, func(head Checkpoint) bool { return head.Origin == key.name }):
			return fmt.Errorf("%w: no log of %s is in it; its first is of %q", ErrUnknownKey, key.name, heads[0].Origin)
		}
	}
	return nil
}

// verify checks that the records with these lines stand in the log.
func (l *BundleLog) verify(head Checkpoint, lines [][]byte) error {
	if err := merkle.VerifyMulti(recordLeaves(lines), l.indices(), head.Size, l.Path, head.Root); err != nil {
		return fmt.Errorf("%w: the records do not stand at %d of %d in the log of %s", ErrTampered, l.indices(), head.Size, head.Origin)
	}
	_, _, err := SplitOrigin(head.Origin)
	return err
}

func recordLeaves(lines [][]byte) []merkle.Hash {
	leaves := make([]merkle.Hash, len(lines))
	for i, line := range lines {
		leaves[i] = merkle.LeafHash(line)
	}
	return leaves
}

// verify checks that the passages stand in the document. It completes the claim
// that is made of the document and puts it down for each passage.
func (d *BundleDocument) verify(number int, claim Claim, at map[Place]Claim) error {
	if err := merkle.VerifyMulti(d.leaves(), d.indices(), d.Header.Chunks, d.Path, d.Header.Root.Hash()); err != nil {
		return fmt.Errorf("%w: the passages do not stand at chunks %d of %d of document %s", ErrTampered, d.indices(), d.Header.Chunks, d.Header.Root)
	}
	claim.Root, claim.Chunks = d.Header.Root, d.Header.Chunks
	for _, p := range d.Passages {
		claim.Chunk, claim.TextSHA256 = p.Chunk, sha256.Sum256(p.Text)
		at[Place{uint64(number), p.Chunk}] = claim
	}
	return nil
}

func (d *BundleDocument) leaves() []merkle.Hash {
	leaves := make([]merkle.Hash, len(d.Passages))
	for i, p := range d.Passages {
		leaves[i] = merkle.LeafHash(p.Text)
	}
	return leaves
}

// An openedLog is what opening the note of a log gives.
type openedLog struct {
	head   Checkpoint
	signed *Expect // what its key had to meet; nil where no key was given
	use    keyUse
}

// openAny opens a note with the keys that are named after its origin: one of
// them, or of the chain that it is in, must have signed, and no line of any may
// be wrong. The first that has signed counts. Where no key has that name it
// gives the checkpoint as it stands.
func (k *Checker) openAny(note []byte, e ExpectBundle) (l openedLog, err error) {
	if l.head, err = ReadCheckpoint(note); err != nil {
		return l, err
	}
	var unknown error
	for _, key := range e.Keys {
		if key.name != l.head.Origin {
			continue
		}
		log := e.of(key)
		switch _, use, err := openChain(note, key, log.Rotations, k.open); {
		case err == nil && l.signed == nil:
			l.signed, l.use = &log, use
		case err == nil: // one is enough
		case errors.Is(err, ErrUnknownKey):
			unknown = err
		default:
			return l, err
		}
	}
	if l.signed != nil {
		unknown = nil
	}
	return l, unknown
}
