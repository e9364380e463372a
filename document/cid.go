package document

import (
	"encoding/base32"
	"errors"
	"fmt"

	"arborist/merkle"
)

// ErrCID is wrapped by every error of a content identifier's text form.
var ErrCID = errors.New("document: not a content identifier of this system")

// cidPrefix starts each of our CIDs in binary: CIDv1, codec raw, sha2-256,
// 32 bytes (https://github.com/multiformats/cid). The block that such a CID
// names is what was hashed: 0x00‖chunk, 0x01‖left‖right, or a header's text.
var cidPrefix = [4]byte{0x01, 0x55, 0x12, 0x20}

// cidLength is the length of the text form: "b" and 36 bytes in base32.
const cidLength = 59

var cidEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// appendCID appends the text form to a text.
func appendCID(text []byte, h merkle.Hash) []byte {
	var b [len(cidPrefix) + merkle.HashSize]byte
	copy(b[:], cidPrefix[:])
	copy(b[len(cidPrefix):], h[:])
	return cidEncoding.AppendEncode(append(text, 'b'), b[:])
}

func formatCID(h merkle.Hash) string {
	var text [cidLength]byte
	return string(appendCID(text[:0], h))
}

// parseCID accepts exactly the text that formatCID gives for a hash that is
// not zero: another version, codec, hash function, length, case or base is
// refused, and so is any second spelling of the same bytes.
func parseCID(s string) (h merkle.Hash, err error) {
	if len(s) != cidLength || s[0] != 'b' {
		return h, fmt.Errorf("%w: %.70q: want %d characters that start with \"bafkrei\"", ErrCID, s, cidLength)
	}
	var b [len(cidPrefix) + merkle.HashSize]byte
	var bits uint32 // not in b yet
	held, n := 0, 0
	for _, c := range []byte(s[1:]) {
		var v byte
		switch {
		case c >= 'a' && c <= 'z':
			v = c - 'a'
		case c >= '2' && c <= '7':
			v = c - '2' + 26
		default:
			return h, fmt.Errorf("%w: %q: not lower-case base32", ErrCID, s)
		}
		bits, held = bits<<5|uint32(v), held+5
		if held >= 8 {
			held -= 8
			b[n] = byte(bits >> held)
			n++
		}
	}
	if [len(cidPrefix)]byte(b[:]) != cidPrefix {
		return h, fmt.Errorf("%w: %q: want CIDv1, raw, sha2-256", ErrCID, s)
	}
	copy(h[:], b[len(cidPrefix):])
	switch {
	case bits<<(32-held) != 0: // what is left of the last character stands for nothing
		return merkle.Hash{}, fmt.Errorf("%w: %q: second spelling of %s", ErrCID, s, formatCID(h))
	case h.IsZero():
		return h, fmt.Errorf("%w: %q: the hash is zero", ErrCID, s)
	}
	return h, nil
}

// A Root is the Merkle root of a document's chunks: the name of its content.
// Its text form is a CIDv1 (raw, sha2-256, base32).
type Root merkle.Hash

// ParseRoot parses the text form of a root, and nothing but that form.
func ParseRoot(s string) (Root, error) {
	h, err := parseCID(s)
	if err != nil {
		return Root{}, fmt.Errorf("parse root: %w", err)
	}
	return Root(h), nil
}

// AppendText implements [encoding.TextAppender].
func (r Root) AppendText(b []byte) ([]byte, error) { return appendCID(b, merkle.Hash(r)), nil }

// String returns the root's CID.
func (r Root) String() string { return formatCID(merkle.Hash(r)) }

// Hash returns the root as a node hash.
func (r Root) Hash() merkle.Hash { return merkle.Hash(r) }

// MarshalText implements [encoding.TextMarshaler].
func (r Root) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *Root) UnmarshalText(b []byte) (err error) {
	*r, err = ParseRoot(string(b))
	return err
}

// An ID is the SHA-256 of a document's header. It names content, chunk count
// and format together. Its text form is a CIDv1 (raw, sha2-256, base32).
type ID merkle.Hash

// ParseID parses the text form of an ID, and nothing but that form.
func ParseID(s string) (ID, error) {
	h, err := parseCID(s)
	if err != nil {
		return ID{}, fmt.Errorf("parse document ID: %w", err)
	}
	return ID(h), nil
}

// AppendText implements [encoding.TextAppender].
func (id ID) AppendText(b []byte) ([]byte, error) { return appendCID(b, merkle.Hash(id)), nil }

// String returns the ID's CID.
func (id ID) String() string { return formatCID(merkle.Hash(id)) }

// MarshalText implements [encoding.TextMarshaler].
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (id *ID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseID(string(b))
	return err
}
