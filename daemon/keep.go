package daemon

import (
	"context"
	"fmt"

	"arborist/daemon/api"
	"arborist/shard"
)

// Status implements [api.Keeper].
func (n *Node) Status(ctx context.Context) (res api.StatusResult, err error) {
	res = api.StatusResult{
		Home: string(n.home), PeerID: n.id, Shards: n.shared.Shards(), Problems: []string{},
	}
	shared, err := n.shared.Stats(ctx)
	if err != nil {
		return res, explain(err)
	}
	private, err := n.private.File().Stats(ctx)
	if err != nil {
		return res, explain(err)
	}
	res.Shared, res.Crawl = storeStatus(shared), storeStatus(private)
	corpora, err := n.shared.Corpora().List(ctx)
	if err != nil {
		return res, explain(err)
	}
	for _, c := range corpora {
		res.Corpora = append(res.Corpora, corpusInfo(c))
		if c.Frozen {
			res.Problems = append(res.Problems, fmt.Sprintf("corpus %s is frozen: its publisher signed two histories; the evidence is kept", c.Origin))
		}
	}
	id, err := n.PeerID(ctx)
	if err != nil {
		return res, err
	}
	res.Addrs = id.Addrs
	peers, err := n.ListPeers(ctx)
	if err != nil {
		return res, err
	}
	res.Peers = len(peers.Peers)
	res.Healthy = len(res.Problems) == 0
	return res, nil
}

func storeStatus(s shard.Stats) api.StoreStatus {
	return api.StoreStatus{Documents: s.Documents, Chunks: s.Chunks, Bytes: s.Bytes}
}

// Check implements [api.Keeper]: it re-hashes every document and compares
// index, logs and text.
func (n *Node) Check(ctx context.Context) (api.CheckResult, error) {
	res := api.CheckResult{Problems: []string{}}
	report := func(problem string) { res.Problems = append(res.Problems, problem) }
	shared, err := n.shared.Check(ctx, report)
	if err != nil {
		return res, explain(err)
	}
	private, err := n.private.File().Check(ctx, report)
	res.Documents = shared + private
	return res, explain(err)
}
