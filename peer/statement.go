package peer

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"arborist/proof"
)

// statementVersion is the first line of a key statement. Nothing else that a
// libp2p key signs starts with it, so no other signature can be passed off as
// a statement.
const statementVersion = "arborist-corpus-key/1"

// maxVerifierKey is more than any verifier key of a corpus takes.
const maxVerifierKey = 256

// A key statement is how a publisher certifies the key of a corpus: four
// lines, the last one an Ed25519 signature, by the key inside the origin's
// peer ID, over the three before it. Because the origin alone is enough to
// verify it, anybody may hand it on.
//
//	arborist-corpus-key/1
//	origin 12D3KooW…/main
//	key 12D3KooW…/main+c74f20a3+AYEv…
//	signature base64
func (i identity) statement(v *proof.Verifier) ([]byte, error) {
	corpus, err := ParseCorpusID(v.Name())
	if err != nil {
		return nil, fmt.Errorf("make key statement: %w", err)
	}
	if corpus.publisher != i.id {
		return nil, fmt.Errorf("make key statement for %s: this node is %s", corpus, i.id)
	}
	body := statementBody(corpus, v.String())
	return fmt.Appendf(body, "signature %s\n", base64.StdEncoding.EncodeToString(ed25519.Sign(i.key, body))), nil
}

func statementBody(c CorpusID, vkey string) []byte {
	return fmt.Appendf(nil, "%s\norigin %s\nkey %s\n", statementVersion, c, vkey)
}

// openStatement verifies that text is the only spelling of a statement that
// the publisher of corpus signed, and returns the key that it certifies. A
// signature that does not fit wraps [ErrKey], another form [ErrMalformed].
func openStatement(text []byte, corpus CorpusID) (*proof.Verifier, error) {
	lines := strings.Split(string(text), "\n")
	if len(text) > maxStatement || len(lines) != 5 || lines[4] != "" || lines[0] != statementVersion {
		return nil, fmt.Errorf("%w: want four lines that start with %q", ErrMalformed, statementVersion)
	}
	vkey, ok := strings.CutPrefix(lines[2], "key ")
	if !ok || len(vkey) > maxVerifierKey {
		return nil, fmt.Errorf("%w: line 3 is not a verifier key", ErrMalformed)
	}
	body := statementBody(corpus, vkey)
	last, ok := bytes.CutPrefix(text, body)
	if !ok {
		return nil, fmt.Errorf("%w: it is a statement for another corpus (%.200q)", ErrKey, lines[1])
	}
	sig, err := parseSignature(string(last))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	pub, err := publicKey(corpus.publisher)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	if !ed25519.Verify(pub, body, sig) {
		return nil, fmt.Errorf("%w: the statement is not signed by %s", ErrKey, corpus.publisher)
	}
	// Only now: a signed statement with a key of another form is the
	// publisher's own fault, an unsigned one says nothing.
	v, err := proof.ParseVerifier(vkey)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if v.Name() != corpus.String() {
		return nil, fmt.Errorf("%w: the key is named %q, want %q", ErrKey, v.Name(), corpus)
	}
	if v.String() != vkey {
		return nil, fmt.Errorf("%w: the verifier key is not in its only spelling", ErrMalformed)
	}
	return v, nil
}

func parseSignature(line string) ([]byte, error) {
	text, ok := strings.CutPrefix(line, "signature ")
	if !ok {
		return nil, errors.New("line 4 is not a signature")
	}
	text = strings.TrimSuffix(text, "\n")
	sig, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(sig) != ed25519.SignatureSize || base64.StdEncoding.EncodeToString(sig) != text {
		return nil, fmt.Errorf("the signature is not %d bytes in base64", ed25519.SignatureSize)
	}
	return sig, nil
}
