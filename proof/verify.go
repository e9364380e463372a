package proof

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"sync"

	"arborist/document"
	"arborist/merkle"
)

// Expect is what the verifier knows from elsewhere. The zero Expect checks the
// proof against itself alone.
type Expect struct {
	// Key of the corpus. With it the proof must have a corpus part that this
	// key has signed; without it nothing is said about any corpus.
	Key *Verifier
	// Rotations of the corpus's key ([ParseRotations]), among them Key: then a
	// head counts that any key of the chain has signed while it was the
	// corpus's. Without them only Key does.
	Rotations []Rotation
	// Root that the document must have. A root fixes the content, but neither
	// the number of chunks nor their position: see ID.
	Root *document.Root
	// ID that the document must have. It fixes the header too, and with it the
	// number of chunks and the position.
	ID *document.ID
	// Text of the passage, where it is given apart from the proof.
	Text []byte
	// Witnesses that must have cosigned the checkpoint, at least Quorum of
	// them or, where that is 0, all. Each public key counts once, whatever
	// names it is given under. They are of use with Key alone: a witness
	// vouches that the log is one and grows, not that its publisher signed.
	Witnesses []*Cosigner
	Quorum    int
}

// Verify checks a proof: the passage by its bytes, its place by the document's
// header, the header by the record, the record by the log's checkpoint and
// that by its signature. It says what is then true. Nothing else in this
// package makes a [Claim].
//
// Errors wrap one of this package's: [ErrTampered], [ErrFormat],
// [ErrNoPassage], [ErrUnknownKey], [ErrRotation], [ErrSignature], [ErrOrigin],
// [ErrDocument], [ErrNotLogged], [ErrWitness] or, where e itself is at fault,
// [ErrExpect].
func Verify(p *Proof, e Expect) (Claim, error) {
	return new(Checker).Verify(p, e)
}

// A Checker verifies many proofs and remembers the checkpoints whose signature
// it has checked, so that proofs of one checkpoint cost one signature check,
// and one for each witness.
// The zero Checker is ready for use. It is safe for concurrent use.
type Checker struct {
	mu     sync.Mutex
	opened map[openedNote]Checkpoint
	// witnesses holds, like opened, what has been verified.
	witnesses map[witnessedNote]witnessing
}

// openedNote names a note together with the key that it was opened with.
type openedNote struct {
	key  Verifier
	note string
}

// maxOpened bounds the memory of a [Checker]: this many notes are remembered.
const maxOpened = 256

// Verify is [Verify] with the Checker's memory.
func (k *Checker) Verify(p *Proof, e Expect) (Claim, error) {
	c, err := k.verify(p, e)
	if err != nil {
		return Claim{}, fmt.Errorf("verify proof: %w", err)
	}
	return c, nil
}

func (k *Checker) verify(p *Proof, e Expect) (Claim, error) {
	given, err := e.checkWitnesses()
	if err != nil {
		return Claim{}, err
	}
	read := ReadCheckpoint
	var use keyUse
	if e.Key != nil {
		if p.Log == nil {
			return Claim{}, fmt.Errorf("%w, so the key of %s has nothing to check", ErrNotLogged, e.Key.name)
		}
		read = func(note []byte) (c Checkpoint, err error) {
			c, use, err = openChain(note, e.Key, e.Rotations, k.open)
			return c, err
		}
	}
	parts, err := p.check(read)
	if err != nil {
		return Claim{}, err
	}
	text, err := p.passage(e.Text)
	if err != nil {
		return Claim{}, err
	}
	leaf := merkle.LeafHash(text)
	if err := merkle.VerifyInclusion(leaf, p.Chunk.Index, p.Header.Chunks, p.Chunk.Path, p.Header.Root.Hash()); err != nil {
		return Claim{}, fmt.Errorf("%w: the passage does not stand at chunk %d of %d of document %s", ErrTampered, p.Chunk.Index, p.Header.Chunks, p.Header.Root)
	}
	claim := Claim{
		Root: p.Header.Root, ID: parts.header.id,
		Chunk: p.Chunk.Index, Chunks: p.Header.Chunks,
		TextSHA256: sha256.Sum256(text),
		Logged:     p.Log != nil,
	}
	if p.Log != nil {
		if err := p.Log.verify(parts, e.Key != nil, &claim); err != nil {
			return Claim{}, err
		}
		claim.KeyReplaced, claim.KeyReplacedAt, claim.KeySuccessor = use.replaced, use.at, use.successor
	}
	if e.Key != nil {
		if err := k.witnessed(p.Log.Note, &e, given, &claim); err != nil {
			return Claim{}, err
		}
	}
	if e.Root != nil {
		if *e.Root != claim.Root {
			return Claim{}, fmt.Errorf("%w: it is of root %s, expected is %s", ErrDocument, claim.Root, *e.Root)
		}
		claim.RootChecked = true
	}
	if e.ID != nil {
		if *e.ID != claim.ID {
			return Claim{}, fmt.Errorf("%w: it is of document ID %s, expected is %s", ErrDocument, claim.ID, *e.ID)
		}
		claim.RootChecked, claim.IDChecked = true, true
	}
	return claim, nil
}

// passage returns the bytes to verify: those in the proof or those given apart.
func (p *Proof) passage(apart []byte) ([]byte, error) {
	switch {
	case p.Text == nil && apart == nil:
		return nil, ErrNoPassage
	case p.Text == nil:
		return apart, checkPassage(apart, p.Header)
	case apart != nil && !bytes.Equal(apart, p.Text):
		return nil, fmt.Errorf("%w: the passage in the proof is not the passage given apart", ErrTampered)
	}
	return p.Text, nil
}

// verify checks that record and checkpoint belong together. Where nobody has
// checked the signature it puts nothing of them into the claim.
func (l *LogPart) verify(c parts, signed bool, claim *Claim) error {
	head := c.checkpoint
	if err := merkle.VerifyInclusion(merkle.LeafHash(c.line), l.Entry.Index, head.Size, l.Entry.Path, head.Root); err != nil {
		return fmt.Errorf("%w: the record does not stand at %d of %d in the log of %s", ErrTampered, l.Entry.Index, head.Size, head.Origin)
	}
	if !signed {
		_, _, err := SplitOrigin(head.Origin)
		return err
	}
	return claim.vouch(head, l.Entry, l.Record)
}

// vouch puts into a claim what a corpus says with its signature.
func (c *Claim) vouch(head Checkpoint, entry Inclusion, r Record) error {
	publisher, name, err := SplitOrigin(head.Origin)
	if err != nil {
		return err
	}
	c.SignatureChecked = true
	c.Publisher, c.Corpus, c.Origin = publisher, name, head.Origin
	c.LogSize, c.LogIndex, c.Record = head.Size, entry.Index, r
	return nil
}

// open opens a note, from memory where it was opened with this key before.
func (k *Checker) open(note []byte, key *Verifier) (Checkpoint, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c, ok := k.opened[openedNote{*key, string(note)}]; ok {
		return c, nil
	}
	c, err := OpenCheckpoint(note, key)
	if err != nil {
		return Checkpoint{}, err
	}
	if k.opened == nil || len(k.opened) >= maxOpened {
		k.opened = make(map[openedNote]Checkpoint)
	}
	k.opened[openedNote{*key, string(note)}] = c
	return c, nil
}
