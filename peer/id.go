package peer

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"

	"github.com/libp2p/go-libp2p/core/crypto"
	libpeer "github.com/libp2p/go-libp2p/core/peer"

	"arborist/shard/corpus"
)

// maxCorpusName is the longest name of a corpus, in characters; see
// [corpus.ValidName].
const maxCorpusName = 64

// A CorpusID names one corpus anywhere: who publishes it, and its name there.
// Its text form, "PUBLISHER/NAME", is the origin of the corpus's log. The
// publisher's public key is inside the peer ID, so an ID certifies itself.
type CorpusID struct {
	publisher libpeer.ID
	name      string
}

// ParseCorpusID parses an origin, and nothing but its usual spelling.
func ParseCorpusID(origin string) (CorpusID, error) {
	if len(origin) > maxPeerID+1+maxCorpusName {
		return CorpusID{}, fmt.Errorf("parse origin: %d characters are too many", len(origin))
	}
	publisher, name, ok := strings.Cut(origin, "/")
	if !ok {
		return CorpusID{}, fmt.Errorf("parse origin %q: want PEER/NAME", origin)
	}
	id, err := parsePeerID(publisher)
	if err != nil {
		return CorpusID{}, fmt.Errorf("parse origin: %w", err)
	}
	if !corpus.ValidName(name) {
		return CorpusID{}, fmt.Errorf("parse origin %q: a corpus name has 1 to %d letters, digits, '-', '_' and '.', the first a letter or digit", origin, maxCorpusName)
	}
	return CorpusID{publisher: id, name: name}, nil
}

// Publisher returns the publisher's peer ID.
func (c CorpusID) Publisher() string { return c.publisher.String() }

// Name returns the corpus's name at its publisher.
func (c CorpusID) Name() string { return c.name }

// String returns the origin.
func (c CorpusID) String() string { return c.publisher.String() + "/" + c.name }

// publicKey takes the Ed25519 key out of a peer ID. A peer ID that is only the
// hash of a key certifies nothing offline and is refused.
func publicKey(id libpeer.ID) (ed25519.PublicKey, error) {
	pub, err := id.ExtractPublicKey()
	if err != nil {
		return nil, fmt.Errorf("peer ID %s holds no Ed25519 key: %w", id, err)
	}
	key, ok := pub.(*crypto.Ed25519PublicKey)
	if !ok {
		return nil, fmt.Errorf("peer ID %s holds a %s key, want Ed25519", id, pub.Type())
	}
	raw, err := key.Raw()
	if err != nil {
		return nil, fmt.Errorf("read the key of peer ID %s: %w", id, err)
	}
	if len(raw) != ed25519.PublicKeySize {
		return nil, errors.New("peer ID holds a key of another length")
	}
	return raw, nil
}
