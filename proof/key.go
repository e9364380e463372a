package proof

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// algEd25519 is the signature type of C2SP signed-note that corpora sign
	// with, algCosign that of C2SP tlog-cosignature that witnesses use.
	algEd25519 = 0x01
	algCosign  = 0x04
	// MaxName is the longest key name and origin, in bytes; C2SP cosignatures
	// have no room for more.
	MaxName = 255

	privateKeyPrefix = "PRIVATE+KEY+"
)

// strict64 refuses base64 whose unused bits are not zero. It still skips line
// ends, so its users check the length or encode again.
var strict64 = base64.StdEncoding.Strict()

// A Verifier checks the signatures of one key: a C2SP signed-note Ed25519 key
// with its name. It is immutable and safe for concurrent use.
type Verifier struct {
	name string
	id   uint32
	key  [ed25519.PublicKeySize]byte
}

// ParseVerifier parses a verifier key ("name+hash+base64", C2SP signed-note)
// and accepts only the spelling that [Verifier.String] gives. It fails with
// [ErrFormat].
func ParseVerifier(vkey string) (*Verifier, error) {
	if strings.HasPrefix(vkey, privateKeyPrefix) {
		return nil, fmt.Errorf("parse verifier key: %w: it is a private key, which nobody but the publisher should have", ErrFormat)
	}
	name, id, key, err := parseKey(algEd25519, vkey)
	if err != nil {
		return nil, fmt.Errorf("parse verifier key: %w: %w", ErrFormat, err)
	}
	v := &Verifier{name: name, id: keyID(algEd25519, name, key), key: key}
	if v.id != id {
		return nil, fmt.Errorf("parse verifier key: %w: its hash is %08x, name and key give %08x", ErrFormat, id, v.id)
	}
	return v, nil
}

// Name returns the key's name. A corpus key is named after the corpus: its
// name is the origin, "PEER/NAME".
func (v *Verifier) Name() string { return v.name }

// String returns the verifier key in its text form.
func (v *Verifier) String() string { return v.name + "+" + formatKey(algEd25519, v.id, v.key) }

// verify reports whether sig is the key's signature of text.
func (v *Verifier) verify(text, sig []byte) bool {
	return len(sig) == ed25519.SignatureSize && ed25519.Verify(v.key[:], text, sig)
}

// A Signer signs with one Ed25519 key. It is immutable and safe for concurrent
// use. Formatting it never shows the secret; only [Signer.PrivateKey] does.
type Signer struct {
	verifier Verifier
	key      ed25519.PrivateKey
}

// NewSigner makes the signer with this name and 32 secret bytes (an RFC 8032
// seed). It fails with [ErrFormat] where the name cannot be a key name.
func NewSigner(name string, seed [32]byte) (*Signer, error) {
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("make signer: %w: %w", ErrFormat, err)
	}
	key := ed25519.NewKeyFromSeed(seed[:])
	public := [ed25519.PublicKeySize]byte(key.Public().(ed25519.PublicKey))
	return &Signer{
		verifier: Verifier{name: name, id: keyID(algEd25519, name, public), key: public},
		key:      key,
	}, nil
}

// ParseSigner parses what [Signer.PrivateKey] gives, the private key form of
// golang.org/x/mod/sumdb/note, and nothing else. Errors wrap [ErrFormat] and
// never show the input.
func ParseSigner(skey string) (*Signer, error) {
	rest, ok := strings.CutPrefix(skey, privateKeyPrefix)
	if !ok {
		return nil, fmt.Errorf("parse private key: %w: it does not start with %q", ErrFormat, privateKeyPrefix)
	}
	name, id, seed, err := parseKey(algEd25519, rest)
	if err != nil {
		return nil, fmt.Errorf("parse private key: %w", ErrFormat)
	}
	s, err := NewSigner(name, seed)
	if err != nil {
		return nil, err
	}
	if s.verifier.id != id {
		return nil, fmt.Errorf("parse private key: %w: its hash is not the hash of name and key", ErrFormat)
	}
	return s, nil
}

// PrivateKey returns the secret key in its text form,
// "PRIVATE+KEY+name+hash+base64". Whoever has it can sign for the corpus.
func (s *Signer) PrivateKey() string {
	return privateKeyPrefix + s.verifier.name + "+" + formatKey(algEd25519, s.verifier.id, [32]byte(s.key.Seed()))
}

// Verifier returns the verifier of the signer's signatures.
func (s *Signer) Verifier() *Verifier { v := s.verifier; return &v }

// Name returns the key's name.
func (s *Signer) Name() string { return s.verifier.name }

// String names the signer without its secret.
func (s *Signer) String() string { return "signer of " + s.verifier.name }

// GoString names the signer without its secret.
func (s *Signer) GoString() string { return s.String() }

// keyID returns the key hash of C2SP signed-note for a signature type.
func keyID(alg byte, name string, key [32]byte) uint32 {
	h := sha256.New()
	h.Write([]byte(name))
	h.Write([]byte{'\n', alg})
	h.Write(key[:])
	return binary.BigEndian.Uint32(h.Sum(nil))
}

func formatKey(alg byte, id uint32, key [32]byte) string {
	return fmt.Sprintf("%08x+%s", id, base64.StdEncoding.EncodeToString(append([]byte{alg}, key[:]...)))
}

// parseKey splits "name+hash+base64(alg ‖ 32 bytes)". It does not compare the
// hash with the key: in a private key the bytes are the seed.
func parseKey(alg byte, s string) (name string, id uint32, key [32]byte, err error) {
	if len(s) > MaxName+100 {
		return "", 0, key, ErrTooLarge
	}
	name, rest, _ := strings.Cut(s, "+")
	hash, data, ok := strings.Cut(rest, "+")
	if !ok {
		return "", 0, key, fmt.Errorf("want name+hash+key")
	}
	if err := checkName(name); err != nil {
		return "", 0, key, err
	}
	h, err := hex.DecodeString(hash)
	if err != nil || len(h) != 4 {
		return "", 0, key, fmt.Errorf("the hash is not 8 hexadecimal digits")
	}
	id = binary.BigEndian.Uint32(h)
	b, err := strict64.DecodeString(data)
	if err != nil {
		return "", 0, key, fmt.Errorf("the key is not base64")
	}
	if err := checkType(alg, b); err != nil {
		return "", 0, key, err
	}
	copy(key[:], b[1:])
	// Upper-case hexadecimal and line ends inside base64 decode too.
	if formatKey(alg, id, key) != hash+"+"+data {
		return "", 0, key, fmt.Errorf("second spelling of a key")
	}
	return name, id, key, nil
}

// checkType checks the type byte and length of a key. The two kinds of key
// look alike, so that one taken for the other is told apart by name.
func checkType(alg byte, key []byte) error {
	switch {
	case len(key) == 1+ed25519.PublicKeySize && key[0] == alg:
		return nil
	case len(key) > 0 && alg == algEd25519 && key[0] == algCosign:
		return fmt.Errorf("it is the key of a witness (type 4), want that of a corpus (type 1)")
	case len(key) > 0 && alg == algCosign && key[0] == algEd25519:
		return fmt.Errorf("it is the key of a corpus (type 1), want that of a witness (type 4)")
	case alg == algCosign:
		return fmt.Errorf("not an Ed25519 cosigner key of type 4 and 32 bytes")
	default:
		return fmt.Errorf("not an Ed25519 note key of type 1 and 32 bytes")
	}
}

// checkName checks a key name or origin: what C2SP signed-note allows, and
// besides neither control nor format characters, so that a name is safe to
// show and cannot look like another by invisible characters.
func checkName(name string) error {
	if name == "" || len(name) > MaxName {
		return fmt.Errorf("a key name has 1 to %d bytes", MaxName)
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("key name %q is not UTF-8", name)
	}
	for _, r := range name {
		if r == '+' || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return fmt.Errorf("key name %q holds a space, a plus or a character that does not print", name)
		}
	}
	return nil
}
