package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"arborist/daemon/api"
	"arborist/shard"
)

// SplitShards implements [api.Keeper].
func (n *Node) SplitShards(ctx context.Context, req api.SplitRequest, fn api.ProgressFunc) (res api.SplitResult, err error) {
	start := time.Now()
	if fn == nil {
		fn = func(api.Progress) {}
	}
	if err := n.writable(); err != nil {
		return res, err
	}
	res.Before = n.shared.Shards()
	res.Shards, res.DryRun = 2*res.Before, req.DryRun
	if res.Shards > shard.MaxShards {
		return res, api.NewError(api.CodeFailed, fmt.Errorf("split %s: %w", n.home, shard.ErrMostShards), "nothing has to be done: more files bring nothing")
	}
	// The new set needs a reserve for more files too.
	res.NeedBytes = n.shared.SplitRoom() + reserveSize(res.Shards)
	if res.FreeBytes, err = n.freeFor(res.NeedBytes, "split"); err != nil || req.DryRun {
		return res, err
	}
	fn(api.Progress{Stage: "copy", Bytes: res.NeedBytes})
	done, err := n.shared.Split(ctx, func(p shard.SplitProgress) {
		fn(api.Progress{Stage: p.Stage, Done: p.Done, Total: p.Total, Bytes: p.Bytes})
	})
	if errors.Is(err, shard.ErrCorrupt) {
		return res, api.NewError(api.CodeInvalid, err, "nothing was changed; mend it first: arborist check --repair")
	}
	if err != nil {
		return res, explain(err)
	}
	res.Documents = done.Documents
	res.WaitedMS, res.StoppedMS = done.Waited.Milliseconds(), done.Stopped.Milliseconds()
	res.TookMS = time.Since(start).Milliseconds()
	return res, nil
}
