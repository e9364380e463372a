package daemon

import (
	"context"
	"fmt"

	"arborist/daemon/api"
	"arborist/shard"
)

// Compact implements [api.Keeper]. Attached files are copies that must not
// change; they are left as they are.
func (n *Node) Compact(ctx context.Context, _ api.CompactRequest, fn api.ProgressFunc) (res api.CompactResult, err error) {
	res.Files = []api.CompactedFile{}
	if fn == nil {
		fn = func(api.Progress) {}
	}
	if err := n.writable(); err != nil {
		return res, err
	}
	crawl := n.private.File()
	res.NeedBytes = max(n.shared.CompactRoom(), crawl.CompactRoom())
	if res.FreeBytes, err = n.freeFor(res.NeedBytes, "compact"); err != nil {
		return res, err
	}
	total := int64(n.shared.Shards() + 2)
	fn(api.Progress{Stage: "compact", Total: total, Bytes: res.NeedBytes})
	done := func(c shard.Compacted) {
		f := api.CompactedFile{File: c.Path, Before: c.Before, After: c.After}
		if c.Err != nil {
			f.Error = c.Err.Error()
		}
		res.Files = append(res.Files, f)
		res.Before, res.After = res.Before+c.Before, res.After+c.After
		fn(api.Progress{Stage: "compact", Done: int64(len(res.Files)), Total: total, Item: c.Path})
	}
	if err := n.shared.Compact(ctx, done); err != nil {
		return res, explain(err)
	}
	return res, explain(crawl.Compact(ctx, done))
}

// freeFor returns how many bytes are free for something that needs a lot of
// them for a while, and refuses where that is less, with what has to stay free
// besides.
func (n *Node) freeFor(need int64, what string) (free int64, err error) {
	free, err = freeSpace(n.home.Reserve())
	if err != nil {
		return 0, explain(fmt.Errorf("%s %s: %w", what, n.home, err))
	}
	if want := need + n.reserve.size(); free < want {
		return free, api.NewError(api.CodeFailed,
			fmt.Errorf("%s %s: %w: it takes up to %d MB for a while, %d MB are free", what, n.home, shard.ErrFull, want>>20+1, free>>20),
			"free some space; nothing was changed")
	}
	return free, nil
}
