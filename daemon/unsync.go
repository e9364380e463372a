package daemon

import (
	"context"
	"errors"

	"arborist/daemon/api"
	"arborist/peer"
	"arborist/shard"
)

// Unsync implements [api.Network].
func (n *Node) Unsync(ctx context.Context, req api.UnsyncRequest, fn api.ProgressFunc) (res api.UnsyncResult, err error) {
	if req.DryRun && !req.Purge {
		return res, api.NewError(api.CodeUsage, errors.New("unsync: a dry run says what a purge would drop"), "arborist peer unsync CORPUS --purge --dry-run")
	}
	p, err := n.network()
	if err != nil {
		return res, err
	}
	if err := n.writable(); err != nil {
		return res, err
	}
	if req.Purge {
		if res.Purged, err = n.roomToPurge(); err != nil {
			return res, err // before anything changes
		}
		if fn != nil {
			fn(api.Progress{Stage: "purge", Bytes: res.Purged.NeedBytes})
		}
	}
	if req.DryRun {
		return n.purge(ctx, p, req, res, fn)
	}
	res.Corpus, res.Documents, err = p.Unsync(ctx, req.Corpus)
	if errors.Is(err, peer.ErrOwn) {
		return res, n.notOthers(ctx, req.Corpus, err)
	}
	if err == nil {
		_, err = n.FollowCorpus(ctx, api.FollowRequest{Origin: res.Corpus, Off: true})
	}
	if err != nil || !req.Purge {
		return res, explain(err)
	}
	return n.purge(ctx, p, req, res, fn)
}

func (n *Node) notOthers(ctx context.Context, name string, err error) error {
	if origin := n.followedAs(ctx, name); origin != "" {
		return api.NewError(api.CodeUsage, err, "the one that is followed: arborist peer unsync "+origin)
	}
	return api.NewError(api.CodeUsage, err, "one follows the corpora of others alone; listings of one's own end with: arborist corpus withdraw NAME URI")
}

// roomToPurge refuses where there is less space than writing the shards anew takes.
func (n *Node) roomToPurge() (*api.PurgeResult, error) {
	need := n.shared.PurgeRoom()
	free, err := n.freeFor(need, "purge")
	if err != nil {
		return nil, err
	}
	return &api.PurgeResult{NeedBytes: need, FreeBytes: free}, nil
}

// purge drops what came with the corpus alone, or finds out what that is.
func (n *Node) purge(ctx context.Context, p *peer.Peer, req api.UnsyncRequest, res api.UnsyncResult, fn api.ProgressFunc) (api.UnsyncResult, error) {
	origin, did, err := p.Purge(ctx, req.Corpus, req.DryRun, func(done, total int) {
		if fn != nil {
			fn(api.Progress{Stage: "purge", Done: int64(done), Total: int64(total)})
		}
	})
	res.Corpus = origin
	r := res.Purged
	r.Documents, r.Chunks, r.Bytes, r.Kept = did.Documents, did.Chunks, did.Bytes, did.Kept
	r.Before, r.After, r.DryRun = did.Before, did.After, req.DryRun
	switch {
	case errors.Is(err, peer.ErrOwn):
		return res, n.notOthers(ctx, req.Corpus, err)
	case errors.Is(err, shard.ErrCorrupt):
		return res, api.NewError(api.CodeInvalid, err, "a damaged file is left as it was; mend it first: arborist check --repair, then run the same again")
	}
	return res, explain(err)
}
