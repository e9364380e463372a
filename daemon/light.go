package daemon

import (
	"context"
	"errors"
	"fmt"

	"arborist/daemon/api"
	"arborist/peer"
)

// Fetch implements [api.LightReader].
func (n *Node) Fetch(ctx context.Context, req api.FetchRequest) (api.FetchResult, error) {
	p, err := n.network()
	if err != nil {
		return api.FetchResult{}, err
	}
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
func cutOf(ctx context.Context, p *peer.Peer, req api.FetchRequest) (api.FetchResult, error) {
	doc, origin, err := p.Get(ctx, req.From, req.Corpus, req.Root)
	if err != nil {
		return api.FetchResult{}, explain(err)
	}
	if *req.Chunk >= uint64(doc.Chunks()) {
		return api.FetchResult{}, api.NewError(api.CodeNotFound, fmt.Errorf("get chunk %d of %s: it has %d", *req.Chunk, req.Root, doc.Chunks()), "the first chunk is 0")
	}
	return api.FetchResult{Root: req.Root, Corpus: origin, Chunk: req.Chunk, Text: doc.Chunk(int(*req.Chunk))}, nil
}

// ProveRemote implements [api.LightReader].
func (n *Node) ProveRemote(ctx context.Context, req api.FetchRequest) (res api.RemoteProofResult, err error) {
	if req.Chunk == nil {
		return res, api.NewError(api.CodeUsage, errors.New("prove: no chunk given"), "arborist peer prove SOURCE ROOT CHUNK")
	}
	p, err := n.network()
	if err != nil {
		return res, err
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
