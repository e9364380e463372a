package proof

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"
)

// cosignatureSize is the length of a cosignature behind its key ID: a time of
// eight bytes and an Ed25519 signature.
const cosignatureSize = 8 + ed25519.SignatureSize

// A Cosignature is a witness's word that a checkpoint was, at that time, the
// head with the most records that it had seen of the log, and that it continued
// every head that the witness had seen before (C2SP tlog-cosignature).
type Cosignature struct {
	Name string    // of the witness's key
	At   time.Time // by the witness's clock, whole seconds, UTC
}

// Time returns At in RFC 3339. The format of cosignatures has room for times
// that RFC 3339 has no spelling of: these are "@" and the seconds since 1970.
func (c Cosignature) Time() string {
	if s := c.At.Unix(); s < 0 || s > maxRFC3339 {
		return "@" + strconv.FormatInt(s, 10)
	}
	return c.At.UTC().Format(time.RFC3339)
}

// maxRFC3339 is the last second of the year 9999.
const maxRFC3339 = 253402300799

// Cosign returns the note, which must hold a checkpoint, with one line more:
// the witness's cosignature with the time at, in whole seconds. An earlier line
// of the same key is replaced. It checks the form alone: whether the head is
// the publisher's and continues all earlier ones is the witness's duty. It
// fails with [ErrFormat], [ErrTooLarge] or [ErrTruncated].
func (s *CosignSigner) Cosign(note []byte, at time.Time) ([]byte, error) {
	if _, err := ReadCheckpoint(note); err != nil {
		return nil, fmt.Errorf("cosign: %w", err)
	}
	text, sigs, err := splitNote(note)
	if err != nil {
		return nil, fmt.Errorf("cosign: %w", err)
	}
	seconds := at.Unix()
	if seconds < 0 {
		return nil, fmt.Errorf("cosign: %w: the time %s is before 1970", ErrFormat, at.UTC())
	}
	sig := binary.BigEndian.AppendUint64(make([]byte, 0, cosignatureSize), uint64(seconds))
	sig = append(sig, ed25519.Sign(s.key, cosignedMessage(text, uint64(seconds)))...)
	kept := sigs[:0]
	for _, o := range sigs {
		if o.name != s.cosigner.name || o.id != s.cosigner.id {
			kept = append(kept, o)
		}
	}
	return joinNote(text, append(kept, signature{name: s.cosigner.name, id: s.cosigner.id, sig: sig}))
}

// cosignedMessage returns what an Ed25519 cosignature signs.
func cosignedMessage(text []byte, seconds uint64) []byte {
	b := make([]byte, 0, len(text)+50)
	b = append(b, "cosignature/v1\ntime "...)
	b = strconv.AppendUint(b, seconds, 10)
	b = append(b, '\n')
	return append(b, text...)
}

// owns reports whether a signature line names the witness's key. Others of its
// name, such as a later ML-DSA-44 key, are other keys.
func (c *Cosigner) owns(s signature) bool { return s.name == c.name && s.id == c.id }

// verify returns the cosignature in one line of the witness.
func (c *Cosigner) verify(text []byte, s signature) (Cosignature, error) {
	if len(s.sig) != cosignatureSize {
		return Cosignature{}, fmt.Errorf("%w: the line of %s has %d bytes behind its key hash, a cosignature has %d",
			ErrSignature, c.name, len(s.sig), cosignatureSize)
	}
	seconds := binary.BigEndian.Uint64(s.sig)
	if seconds > math.MaxInt64 {
		return Cosignature{}, fmt.Errorf("%w: the cosignature of %s has the time %d, at most 2^63-1", ErrSignature, c.name, seconds)
	}
	if !ed25519.Verify(c.key[:], cosignedMessage(text, seconds), s.sig[8:]) {
		return Cosignature{}, fmt.Errorf("%w: the line of %s does not cosign this text", ErrSignature, c.name)
	}
	return Cosignature{Name: c.name, At: time.Unix(int64(seconds), 0).UTC()}, nil
}

// Cosignatures returns the cosignatures of a note that are by the known
// witnesses, in the order of known. Each public key counts once, under the
// first of its names that has signed: an Ed25519 cosignature does not commit to
// the name, so one holder could sign under many.
//
// Lines of other keys are ignored, those of other kinds (ML-DSA-44, type 6)
// among them. It verifies no key of a log: see [OpenCheckpoint] for that. It
// fails with [ErrSignature] where the line of a known witness is wrong, with
// [ErrFormat] where a witness has two, and like [ReadCheckpoint].
func Cosignatures(note []byte, known []*Cosigner) ([]Cosignature, error) {
	text, sigs, err := splitNote(note)
	if err != nil {
		return nil, fmt.Errorf("read cosignatures: %w", err)
	}
	if _, err := ParseCheckpoint(text); err != nil {
		return nil, fmt.Errorf("read cosignatures: %w", err)
	}
	found, _, err := cosignatures(text, sigs, known)
	if err != nil {
		return nil, fmt.Errorf("read cosignatures: %w", err)
	}
	return found, nil
}

// cosignatures also counts the lines that belong to none of the known.
func cosignatures(text []byte, sigs []signature, known []*Cosigner) (found []Cosignature, others int, err error) {
	counted := make(map[[ed25519.PublicKeySize]byte]bool)
	seen := make(map[Cosigner]bool)
	lines := 0
	for _, c := range known {
		if seen[*c] {
			continue
		}
		seen[*c] = true
		var mine *Cosignature
		for _, s := range sigs {
			if !c.owns(s) {
				continue
			}
			if mine != nil {
				return nil, 0, fmt.Errorf("%w: two signature lines of the witness %s", ErrFormat, c.name)
			}
			lines++
			one, err := c.verify(text, s)
			if err != nil {
				return nil, 0, err
			}
			mine = &one
		}
		if mine != nil && !counted[c.key] {
			counted[c.key] = true
			found = append(found, *mine)
		}
	}
	return found, len(sigs) - lines, nil
}

// joinNote puts a note together; splitNote takes it apart into the same.
func joinNote(text []byte, sigs []signature) ([]byte, error) {
	if len(sigs) > MaxSignatures {
		return nil, fmt.Errorf("note: %w: over %d signatures", ErrTooLarge, MaxSignatures)
	}
	var b bytes.Buffer
	b.Write(text)
	b.WriteByte('\n')
	for _, s := range sigs {
		b.Write(s.line())
	}
	if b.Len() > MaxNote {
		return nil, fmt.Errorf("note: %w: %d bytes, at most %d", ErrTooLarge, b.Len(), MaxNote)
	}
	return b.Bytes(), nil
}
