package daemon

import (
	"context"
	"encoding/base64"
	"fmt"

	"arborist/daemon/api"
	"arborist/shard/corpus"
)

// MaxListings is the largest page of [Node.CorpusAt].
const MaxListings = corpus.MaxRecords

// CorpusAt implements [api.Corpora].
func (n *Node) CorpusAt(ctx context.Context, req api.CorpusAtRequest) (res api.CorpusAtResult, err error) {
	if req.Limit < 1 || req.Limit > MaxListings || req.Offset < 0 {
		return res, api.NewError(api.CodeUsage, fmt.Errorf("show corpus %.200q at %d: limit %d, offset %d", req.Corpus, req.Size, req.Limit, req.Offset),
			fmt.Sprintf("--limit takes 1 to %d, --offset 0 or more", MaxListings))
	}
	info, err := n.lookupCorpus(ctx, req.Corpus)
	if err != nil {
		return res, err
	}
	if req.Size > info.Size {
		return res, api.NewError(api.CodeUsage, fmt.Errorf("show corpus %.200q at %d: its log has %d records", req.Corpus, req.Size, info.Size),
			fmt.Sprintf("--at takes 0 to %d", info.Size))
	}
	past, err := n.shared.Corpora().At(ctx, info.Origin, req.Size, req.Limit, req.Offset)
	if err != nil {
		return res, explain(err)
	}
	res = api.CorpusAtResult{
		Name: info.Name, Origin: info.Origin, Size: past.Size, Root: base64.StdEncoding.EncodeToString(past.Root[:]),
		Documents: past.Documents, Listings: past.Listings, Listed: []api.Listing{},
	}
	for _, e := range past.Page {
		r := e.Record
		res.Listed = append(res.Listed, api.Listing{Index: e.Index, URI: r.URI, Root: r.Header.Root, ID: r.ID, Title: r.Title})
	}
	return res, nil
}
