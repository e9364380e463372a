package proof

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxNote is the longest signed note, in bytes: room for 16 post-quantum
	// cosignatures of 5 kB, which C2SP asks for, and more.
	MaxNote = 256 << 10
	// MaxSignatures is the highest number of signature lines of a note.
	MaxSignatures = 100

	// sigPrefix starts each signature line: an em dash and a space.
	sigPrefix = "— "
)

// A signature is one signature line of a note, taken apart.
type signature struct {
	name string
	id   uint32
	sig  []byte
}

// SignNote returns the signed note of text: the text, an empty line and one
// signature line of each signer, in their order (C2SP signed-note). Text must
// end in a newline and hold no other control character, and there must be at
// least one signer and none twice; it fails with [ErrFormat] otherwise.
func SignNote(text []byte, signers ...*Signer) ([]byte, error) {
	if err := checkNoteText(text); err != nil {
		return nil, fmt.Errorf("sign note: %w", err)
	}
	if len(signers) == 0 || len(signers) > MaxSignatures {
		return nil, fmt.Errorf("sign note: %w: %d signers, want 1 to %d", ErrFormat, len(signers), MaxSignatures)
	}
	sigs := make([]signature, 0, len(signers))
	for i, s := range signers {
		if slices.ContainsFunc(signers[:i], func(t *Signer) bool { return t.verifier == s.verifier }) {
			return nil, fmt.Errorf("sign note: %w: the key %08x of %s signs twice", ErrFormat, s.verifier.id, s.Name())
		}
		sigs = append(sigs, signature{name: s.Name(), id: s.verifier.id, sig: ed25519.Sign(s.key, text)})
	}
	return joinNote(text, sigs)
}

// line returns the signature line, with its line end.
func (s signature) line() []byte {
	sig := binary.BigEndian.AppendUint32(nil, s.id)
	b := []byte(sigPrefix + s.name + " ")
	b = base64.StdEncoding.AppendEncode(b, append(sig, s.sig...))
	return append(b, '\n')
}

// openNote returns the text of a note that v has signed. Lines of other keys
// have to be well formed and are otherwise ignored, as C2SP demands.
func openNote(note []byte, v *Verifier) ([]byte, error) {
	text, sigs, err := splitNote(note)
	if err != nil {
		return nil, err
	}
	found, unknown := false, ErrUnknownKey
	for _, s := range sigs {
		if s.name != v.name || s.id != v.id {
			if s.name == v.name {
				unknown = ErrOtherKey
			}
			continue
		}
		if found {
			return nil, fmt.Errorf("%w: two signature lines of the key %s", ErrFormat, v.name)
		}
		found = true
		if !v.verify(text, s.sig) {
			return nil, fmt.Errorf("%w: the line of %s does not sign this text", ErrSignature, v.name)
		}
	}
	if !found {
		return nil, fmt.Errorf("%w: no line of %s with key hash %08x; it is signed by %s", unknown, v.name, v.id, signers(sigs))
	}
	return text, nil
}

// HasOtherKey reports whether a note has a signature line of the name of known keys
// that is by none of them: as one has whose key was changed since. The line is not
// verified, and can be anybody's.
func HasOtherKey(note []byte, known ...*Verifier) bool {
	_, sigs, err := splitNote(note)
	return err == nil && slices.ContainsFunc(sigs, func(s signature) bool {
		named := false
		for _, v := range known {
			if named = named || s.name == v.name; s.name == v.name && s.id == v.id {
				return false
			}
		}
		return named
	})
}

// signers names the first few keys of a note for an error message.
func signers(sigs []signature) string {
	const most = 3
	var b strings.Builder
	for i, s := range sigs {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(sigs)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%.300q (%08x)", s.name, s.id)
	}
	return b.String()
}

// splitNote takes a note apart without checking any signature.
func splitNote(note []byte) (text []byte, sigs []signature, err error) {
	if len(note) > MaxNote {
		return nil, nil, fmt.Errorf("note: %w: %d bytes, at most %d", ErrTooLarge, len(note), MaxNote)
	}
	// The text ends at the last empty line.
	i := bytes.LastIndex(note, []byte("\n\n"))
	if i < 0 {
		return nil, nil, fmt.Errorf("note: %w: no empty line before signatures", ErrFormat)
	}
	text, rest := note[:i+1], note[i+2:]
	if err := checkNoteText(text); err != nil {
		return nil, nil, err
	}
	if len(rest) == 0 {
		return nil, nil, fmt.Errorf("note: %w: no signature", ErrTruncated)
	}
	for len(rest) > 0 {
		line, after, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return nil, nil, fmt.Errorf("note: %w in a signature line", ErrTruncated)
		}
		rest = after
		if len(sigs) == MaxSignatures {
			return nil, nil, fmt.Errorf("note: %w: over %d signatures", ErrTooLarge, MaxSignatures)
		}
		s, err := parseSignature(line)
		if err != nil {
			return nil, nil, fmt.Errorf("note: %w: signature line %d: %w", ErrFormat, len(sigs)+1, err)
		}
		sigs = append(sigs, s)
	}
	return text, sigs, nil
}

func parseSignature(line []byte) (signature, error) {
	rest, ok := strings.CutPrefix(string(line), sigPrefix)
	if !ok {
		return signature{}, fmt.Errorf("it does not start with an em dash and a space")
	}
	name, data, ok := strings.Cut(rest, " ")
	if !ok || !isForeignName(name) {
		return signature{}, fmt.Errorf("want a key name and a signature")
	}
	b, err := strict64.DecodeString(data)
	if err != nil || len(b) < 5 || base64.StdEncoding.EncodeToString(b) != data {
		return signature{}, fmt.Errorf("its signature is not base64 of 5 bytes or more in the one spelling")
	}
	return signature{name: name, id: binary.BigEndian.Uint32(b), sig: b[4:]}, nil
}

// isForeignName reports whether name may name a key by C2SP rules, which are
// wider than ours: a line of somebody else's key must not spoil a note.
func isForeignName(name string) bool {
	return name != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return r < ' ' || r == '+' || unicode.IsSpace(r)
	})
}

// checkNoteText checks what every note's text must be.
func checkNoteText(text []byte) error {
	switch {
	case len(text) > MaxNote:
		return fmt.Errorf("note: %w: %d bytes of text", ErrTooLarge, len(text))
	case len(text) < 2 || text[len(text)-1] != '\n':
		return fmt.Errorf("note: %w: its text does not end in a newline", ErrFormat)
	case !utf8.Valid(text):
		return fmt.Errorf("note: %w: it is not UTF-8", ErrFormat)
	}
	for i, c := range text {
		if c < ' ' && c != '\n' {
			return fmt.Errorf("note: %w: control character %#02x at byte %d", ErrFormat, c, i)
		}
	}
	return nil
}
