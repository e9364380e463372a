package proof

import (
	"crypto/ed25519"
	"fmt"
	"strings"
)

// A Cosigner checks the cosignatures of one witness: an Ed25519 key of type 4
// with its name (C2SP tlog-cosignature). The zero Cosigner is of no use. It is
// immutable and safe for concurrent use.
type Cosigner struct {
	name string
	id   uint32
	key  [ed25519.PublicKeySize]byte
}

// ParseCosigner parses the verifier key of a witness, "name+hash+base64", and
// accepts only the spelling that [Cosigner.String] gives. The key of a corpus
// is refused, as [ParseVerifier] refuses that of a witness. It fails with
// [ErrFormat].
func ParseCosigner(vkey string) (*Cosigner, error) {
	if strings.HasPrefix(vkey, privateKeyPrefix) {
		return nil, fmt.Errorf("parse witness key: %w: it is a private key, which nobody but the witness should have", ErrFormat)
	}
	name, id, key, err := parseKey(algCosign, vkey)
	if err != nil {
		return nil, fmt.Errorf("parse witness key: %w: %w", ErrFormat, err)
	}
	c := &Cosigner{name: name, id: keyID(algCosign, name, key), key: key}
	if c.id != id {
		return nil, fmt.Errorf("parse witness key: %w: its hash is %08x, name and key give %08x", ErrFormat, id, c.id)
	}
	return c, nil
}

// Name returns the name of the witness. That of an Arborist node is its peer
// ID, which is no origin, so it never is the name of a corpus's key.
func (c *Cosigner) Name() string { return c.name }

// String returns the verifier key in its text form.
func (c *Cosigner) String() string { return c.name + "+" + formatKey(algCosign, c.id, c.key) }

// A CosignSigner cosigns checkpoints with the key of one witness. It is
// immutable and safe for concurrent use. Formatting it never shows the secret;
// only [CosignSigner.PrivateKey] does.
type CosignSigner struct {
	cosigner Cosigner
	key      ed25519.PrivateKey
}

// NewCosignSigner makes the signer of a witness with this name and 32 secret
// bytes (an RFC 8032 seed). The seed must be of no other use: an Ed25519
// cosignature does not commit to the witness's name. It fails with [ErrFormat]
// where the name cannot be a key name.
func NewCosignSigner(name string, seed [32]byte) (*CosignSigner, error) {
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("make witness signer: %w: %w", ErrFormat, err)
	}
	key := ed25519.NewKeyFromSeed(seed[:])
	public := [ed25519.PublicKeySize]byte(key.Public().(ed25519.PublicKey))
	return &CosignSigner{
		cosigner: Cosigner{name: name, id: keyID(algCosign, name, public), key: public},
		key:      key,
	}, nil
}

// ParseCosignSigner parses what [CosignSigner.PrivateKey] gives and nothing
// else. Errors wrap [ErrFormat] and never show the input.
func ParseCosignSigner(skey string) (*CosignSigner, error) {
	rest, ok := strings.CutPrefix(skey, privateKeyPrefix)
	if !ok {
		return nil, fmt.Errorf("parse private witness key: %w: it does not start with %q", ErrFormat, privateKeyPrefix)
	}
	name, id, seed, err := parseKey(algCosign, rest)
	if err != nil {
		return nil, fmt.Errorf("parse private witness key: %w: not the private key of a witness (type 4)", ErrFormat)
	}
	s, err := NewCosignSigner(name, seed)
	if err != nil {
		return nil, err
	}
	if s.cosigner.id != id {
		return nil, fmt.Errorf("parse private witness key: %w: its hash is not the hash of name and key", ErrFormat)
	}
	return s, nil
}

// PrivateKey returns the secret key in its text form,
// "PRIVATE+KEY+name+hash+base64". Whoever has it can cosign as the witness.
func (s *CosignSigner) PrivateKey() string {
	return privateKeyPrefix + s.cosigner.name + "+" + formatKey(algCosign, s.cosigner.id, [32]byte(s.key.Seed()))
}

// Cosigner returns the verifier of the signer's cosignatures.
func (s *CosignSigner) Cosigner() *Cosigner { c := s.cosigner; return &c }

// Name returns the name of the witness.
func (s *CosignSigner) Name() string { return s.cosigner.name }

// String names the signer without its secret.
func (s *CosignSigner) String() string { return "cosigner of " + s.cosigner.name }

// GoString names the signer without its secret.
func (s *CosignSigner) GoString() string { return s.String() }
