package peer

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"

	"arborist/document"
)

// A Light asks sources for single documents and proofs, and leaves no trace: its
// identity is made for it and kept nowhere, it has no store, listens nowhere, and
// writes no file. So no key is pinned in it: what it returns is verified against
// the key that the publisher, whose ID is in the origin, has certified.
type Light struct{ peer *Peer }

// OpenLight returns a client in the open network, or in the private one whose key
// file is named: see [LoadNetworkKey].
func OpenLight(networkKeyFile string) (*Light, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make an identity: %w", err)
	}
	id, err := newIdentity(key)
	if err != nil {
		return nil, err
	}
	p, err := newDialler(Config{NetworkKeyFile: networkKeyFile}, id)
	if err != nil {
		return nil, err
	}
	return &Light{p}, nil
}

// Get is [Peer.Get]. From must be a full multiaddr, an http(s) URL or a folder.
func (l *Light) Get(ctx context.Context, from, corpus string, root document.Root) (*document.Document, string, error) {
	return l.peer.Get(ctx, from, corpus, root)
}

// Prove is [Peer.Prove], with from as in [Light.Get].
func (l *Light) Prove(ctx context.Context, from, corpus string, root document.Root, chunk uint64) (RemoteProof, error) {
	return l.peer.Prove(ctx, from, corpus, root, chunk)
}

// Close ends every call in progress and every connection.
func (l *Light) Close() error { return l.peer.Close() }
