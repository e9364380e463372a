package daemon

import (
	"context"
	"errors"

	"arborist/daemon/api"
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
	if err != nil {
		return api.FetchResult{}, explain(err)
	}
	return api.FetchResult{Root: req.Root, Corpus: found.Claim.Origin, Chunk: req.Chunk, Text: found.Proof.Text}, nil
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
