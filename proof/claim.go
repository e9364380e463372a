package proof

import (
	"fmt"

	"arborist/document"
)

// A Claim is what a verified proof shows. It says "was in at size N", N being
// the record that listed the document and those before it: what later records
// did, among them others that the same head signs, one proof cannot show.
type Claim struct {
	Root       document.Root // of the document that the passage is a chunk of
	ID         document.ID   // hash of the header that gives Chunks
	Chunk      uint64        // index of the passage, from 0
	Chunks     uint64        // chunks of the document
	TextSHA256 [32]byte      // SHA-256 of the passage's bytes

	Logged bool // the proof has a corpus part; it counts only with SignatureChecked

	// SignatureChecked: the corpus's key was given and has signed. All fields
	// below are zero without it.
	SignatureChecked bool
	Publisher        string // peer ID
	Corpus           string // name of the corpus
	Origin           string // "PEER/NAME"
	LogSize          uint64 // records in the log when it was signed
	LogIndex         uint64 // index of Record in the log, from 0
	Record           Record // what the publisher said of the document

	// With [Expect.Rotations]: KeyReplaced where the corpus has replaced the key
	// that signed, when its log had KeyReplacedAt records, and KeySuccessor where
	// that key is a later one than the key given.
	KeyReplaced   bool
	KeyReplacedAt uint64
	KeySuccessor  bool

	// Cosignatures holds those of the witnesses given, which have been
	// verified; Witnesses says how many different ones were given, and
	// OtherSignatures how many lines of the checkpoint are by keys not given.
	Cosignatures    []Cosignature
	Witnesses       int
	OtherSignatures int

	RootChecked bool // the root, or the ID, is the one that was expected
	IDChecked   bool // the ID is the one that was expected
}

// Statement says in one English sentence what has been shown and, where
// something was not checked, which flag would check it. It holds no text of
// the document or of the record and is safe to show.
func (c Claim) Statement() string {
	place := fmt.Sprintf("chunk %d of %d (counted from 0)", c.Chunk, c.Chunks)
	switch {
	case c.SignatureChecked:
		return fmt.Sprintf("%s of document %s was in corpus %s of %s when its log had %s%s",
			place, c.Root, c.Corpus, c.Publisher, c.size(), c.cosigned()+c.keys())
	case c.IDChecked:
		return fmt.Sprintf("the passage is %s of document %s, as its ID %s fixes%s", place, c.Root, c.ID, c.open())
	case c.RootChecked:
		return fmt.Sprintf("the passage is in document %s; its place, %s, is what the header with ID %s says%s",
			c.Root, place, c.ID, c.open())
	default:
		return fmt.Sprintf("the passage is %s of document %s by the proof's own account; pass --root to compare the document with one that you know%s",
			place, c.Root, c.open())
	}
}

// size says with how many records of its log the corpus listed the document:
// Record may have been the last to say so.
func (c Claim) size() string {
	if listed := c.LogIndex + 1; listed < c.LogSize {
		return fmt.Sprintf("%d of the %d records that are signed", listed, c.LogSize)
	}
	return fmt.Sprintf("%d records", c.LogSize)
}

// cosigned says how many witnesses have cosigned, where any were given.
func (c Claim) cosigned() string {
	if c.Witnesses == 0 {
		return ""
	}
	return fmt.Sprintf(", cosigned by %d of %d witnesses", len(c.Cosignatures), c.Witnesses)
}

// open says what is left unchecked of the corpus.
func (c Claim) open() string {
	if c.Logged {
		return "; the signature of its corpus was not checked: pass --key with the corpus's verifier key"
	}
	return "; no corpus vouches for it"
}

// keys says which key signed where it is not simply the one given.
func (c Claim) keys() string {
	s := ""
	if c.KeySuccessor {
		s = "; signed with a later key of the corpus than the one given, which the rotations lead to"
	}
	if c.KeyReplaced {
		s += fmt.Sprintf("; signed with a key that the corpus replaced when its log had %d records", c.KeyReplacedAt)
	}
	return s
}
