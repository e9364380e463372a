package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"arborist/daemon/api"
	"arborist/document"
	"arborist/peer"
)

// A lightPeer asks sources for single things: [peer.Peer] or [peer.Light].
type lightPeer interface {
	Get(ctx context.Context, from, corpus string, root document.Root) (*document.Document, string, error)
	Prove(ctx context.Context, from, corpus string, root document.Root, chunk uint64) (peer.RemoteProof, error)
}

// Fetch implements [api.LightReader].
func (n *Node) Fetch(ctx context.Context, req api.FetchRequest) (api.FetchResult, error) {
	p, err := n.network()
	if err != nil {
		return api.FetchResult{}, err
	}
	return fetchFrom(ctx, p, req)
}

// ProveRemote implements [api.LightReader].
func (n *Node) ProveRemote(ctx context.Context, req api.FetchRequest) (api.RemoteProofResult, error) {
	p, err := n.network()
	if err != nil {
		return api.RemoteProofResult{}, err
	}
	return proveRemote(ctx, p, req)
}

// A Light is an [api.LightReader] without a home: see [peer.Light].
type Light struct{ peer *peer.Light }

var _ api.LightReader = (*Light)(nil)

// OpenLight opens one, in the private network whose key file is named or, with "",
// in the open one.
func OpenLight(networkKeyFile string) (*Light, error) {
	p, err := peer.OpenLight(networkKeyFile)
	if err != nil {
		return nil, explain(err)
	}
	return &Light{p}, nil
}

// Fetch implements [api.LightReader].
func (l *Light) Fetch(ctx context.Context, req api.FetchRequest) (api.FetchResult, error) {
	if err := needsSource(req); err != nil {
		return api.FetchResult{}, err
	}
	return fetchFrom(ctx, l.peer, req)
}

// ProveRemote implements [api.LightReader].
func (l *Light) ProveRemote(ctx context.Context, req api.FetchRequest) (api.RemoteProofResult, error) {
	if err := needsSource(req); err != nil {
		return api.RemoteProofResult{}, err
	}
	return proveRemote(ctx, l.peer, req)
}

// Close ends what it does.
func (l *Light) Close() error { return l.peer.Close() }

func needsSource(req api.FetchRequest) error {
	if strings.ContainsAny(req.From, "/:") {
		return nil
	}
	return api.NewError(api.CodeUsage, errors.New("no SOURCE with an address is named, and without a home nobody is connected"), "name one: its full multiaddr or an http(s) URL, as arborist peer id prints them there")
}

func fetchFrom(ctx context.Context, p lightPeer, req api.FetchRequest) (api.FetchResult, error) {
	if req.Chunk == nil {
		doc, origin, err := p.Get(ctx, req.From, req.Corpus, req.Root)
		if err != nil {
			return api.FetchResult{}, explain(err)
		}
		return api.FetchResult{Root: req.Root, Corpus: origin, Text: doc.Text()}, nil
	}
	found, err := p.Prove(ctx, req.From, req.Corpus, req.Root, *req.Chunk)
	if errors.Is(err, peer.ErrMissing) && req.From != "" {
		return cutOf(ctx, p, req)
	}
	if err != nil {
		return api.FetchResult{}, explain(err)
	}
	return api.FetchResult{Root: req.Root, Corpus: found.Claim.Origin, Chunk: req.Chunk, Text: found.Proof.Text}, nil
}

// cutOf cuts a chunk out of its document, which a source without proofs, such as a
// published tree, may have.
func cutOf(ctx context.Context, p lightPeer, req api.FetchRequest) (api.FetchResult, error) {
	doc, origin, err := p.Get(ctx, req.From, req.Corpus, req.Root)
	if err != nil {
		return api.FetchResult{}, explain(err)
	}
	if *req.Chunk >= uint64(doc.Chunks()) {
		return api.FetchResult{}, api.NewError(api.CodeNotFound, fmt.Errorf("get chunk %d of %s: it has %d", *req.Chunk, req.Root, doc.Chunks()), "the first chunk is 0")
	}
	return api.FetchResult{Root: req.Root, Corpus: origin, Chunk: req.Chunk, Text: doc.Chunk(int(*req.Chunk))}, nil
}

func proveRemote(ctx context.Context, p lightPeer, req api.FetchRequest) (res api.RemoteProofResult, err error) {
	if req.Chunk == nil {
		return res, api.NewError(api.CodeUsage, errors.New("prove: no chunk given"), "arborist peer prove SOURCE ROOT CHUNK")
	}
	found, err := p.Prove(ctx, req.From, req.Corpus, req.Root, *req.Chunk)
	if err != nil {
		return res, explain(err)
	}
	text, err := found.Proof.MarshalText()
	if err != nil {
		return res, err
	}
	if res.JSON, err = found.Proof.MarshalJSON(); err != nil {
		return res, err
	}
	res.Text, res.Corpus, res.Key = string(text), found.Claim.Origin, found.Key
	return res, nil
}
