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
// [ErrTooLarge], [ErrUnknownKey], [ErrSignature], [ErrOrigin] or
// [ErrNotLogged].
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
	var signers []*Verifier // of the logs; nil where not checked
	parts, err := b.check(func(note []byte) (Checkpoint, error) {
		head, signer, err := k.openAny(note, e.Keys)
		signers = append(signers, signer)
		claims.Corpora = append(claims.Corpora, CorpusClaim{Origin: head.Origin, Size: head.Size, SignatureChecked: signer != nil})
		return head, err
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
		lines := parts.lines[number : number+len(l.Documents)]
		if err := l.verify(parts.heads[i], lines); err != nil {
			return claims, err
		}
		for j := range l.Documents {
			claim := Claim{ID: parts.headers[number].id, Logged: true}
			if corpus.SignatureChecked {
				entry := Inclusion{Index: l.Documents[j].Index}
				if err := claim.vouch(parts.heads[i], entry, *l.Documents[j].Record); err != nil {
					return claims, err
				}
				if err := k.witnessed(l.Note, &Expect{Key: signers[i]}, 0, &claim); err != nil {
					return claims, err
				}
			}
			corpus.Hits += len(l.Documents[j].Passages)
			if err := l.Documents[j].verify(number, claim, at); err != nil {
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

// openAny opens a note with the keys that are named after its origin: one of
// them must have signed, and no line of any may be wrong. It returns the first
// that has signed. Where no key has that name it gives the checkpoint as it
// stands, and no signer.
func (k *Checker) openAny(note []byte, keys []*Verifier) (c Checkpoint, signer *Verifier, err error) {
	if c, err = ReadCheckpoint(note); err != nil {
		return c, nil, err
	}
	var unknown error
	for _, key := range keys {
		if key.name != c.Origin {
			continue
		}
		switch _, err := k.open(note, key); {
		case err == nil && signer == nil:
			signer = key
		case err == nil: // one is enough
		case errors.Is(err, ErrUnknownKey):
			unknown = err
		default:
			return c, nil, err
		}
	}
	if signer != nil {
		unknown = nil
	}
	return c, signer, unknown
}
