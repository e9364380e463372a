package proof

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// KeepSignatures returns the note with the lines that the keys of the log have
// signed and those of known witnesses, verified, and without any other line:
// what a store keeps and hands on of a note, to which anybody can add lines.
//
// The lines stand in one order: those of the log's keys as they stood, then
// those of witnesses by name and key hash, each key once, of several lines the
// latest. So the same set of lines gives the same bytes. A line that names a
// witness and is not right is left out and no error: it says nothing about who
// signed the rest. It fails like [OpenCheckpoint] where no key of the log has
// signed, and where one of them has signed wrongly.
func KeepSignatures(note []byte, keys []*Verifier, known []*Cosigner) ([]byte, error) {
	return MergeSignatures(note, nil, keys, known)
}

// MergeSignatures is [KeepSignatures] for two notes of one checkpoint: what
// comes out has the lines of the log's keys from note, and the cosignatures of
// both, of one witness the later. It fails with [ErrTampered] where the notes
// are of different checkpoints. Other may be nil.
func MergeSignatures(note, other []byte, keys []*Verifier, known []*Cosigner) ([]byte, error) {
	text, sigs, err := splitNote(note)
	if err != nil {
		return nil, fmt.Errorf("keep signatures: %w", err)
	}
	if _, err := ParseCheckpoint(text); err != nil {
		return nil, fmt.Errorf("keep signatures: %w", err)
	}
	kept, err := ofLog(text, sigs, keys)
	if err != nil {
		return nil, fmt.Errorf("keep signatures: %w", err)
	}
	if other != nil {
		theirs, more, err := splitNote(other)
		if err != nil {
			return nil, fmt.Errorf("merge signatures: %w", err)
		}
		if !bytes.Equal(text, theirs) {
			return nil, fmt.Errorf("merge signatures: %w: the notes are of different checkpoints", ErrTampered)
		}
		sigs = append(sigs, more...)
	}
	return joinNote(text, append(kept, ofWitnesses(text, sigs, known)...))
}

// ofLog returns the lines of the log's own keys.
func ofLog(text []byte, sigs []signature, keys []*Verifier) (kept []signature, err error) {
	used := make(map[Verifier]bool)
	for _, s := range sigs {
		for _, v := range keys {
			if s.name != v.name || s.id != v.id {
				continue
			}
			if used[*v] {
				return nil, fmt.Errorf("%w: two signature lines of the key %s", ErrFormat, v.name)
			}
			if !v.verify(text, s.sig) {
				return nil, fmt.Errorf("%w: the line of %s does not sign this text", ErrSignature, v.name)
			}
			used[*v] = true
			kept = append(kept, s)
			break
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("%w: it is signed by %s", ErrUnknownKey, signers(sigs))
	}
	return kept, nil
}

// ofWitnesses returns the right lines of the known witnesses, sorted, the
// latest of each.
func ofWitnesses(text []byte, sigs []signature, known []*Cosigner) (kept []signature) {
	latest := make(map[Cosigner]signature)
	for _, c := range known {
		for _, s := range sigs {
			if !c.owns(s) {
				continue
			}
			if _, err := c.verify(text, s); err != nil {
				continue
			}
			if old, ok := latest[*c]; !ok || cosignedAt(s) > cosignedAt(old) {
				latest[*c] = s
			}
		}
	}
	for _, s := range latest {
		kept = append(kept, s)
	}
	slices.SortFunc(kept, func(a, b signature) int {
		if d := strings.Compare(a.name, b.name); d != 0 {
			return d
		}
		return cmp.Compare(a.id, b.id)
	})
	return kept
}

// cosignedAt returns the time in a verified cosignature, in seconds.
func cosignedAt(s signature) uint64 { return binary.BigEndian.Uint64(s.sig) }
