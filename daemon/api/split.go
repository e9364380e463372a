package api

import "context"

// SplitRequest asks to double the number of shard files.
type SplitRequest struct {
	DryRun bool `json:"dry_run,omitempty"` // only say what it takes
}

// SplitResult says what that did.
type SplitResult struct {
	Before    int   `json:"before"` // files
	Shards    int   `json:"shards"` // files afterwards
	Documents int64 `json:"documents"`
	NeedBytes int64 `json:"need_bytes"` // that it could take for a while
	FreeBytes int64 `json:"free_bytes"` // that were free when it began
	WaitedMS  int64 `json:"waited_ms"`  // in which adding waited
	StoppedMS int64 `json:"stopped_ms"` // of that, in which queries waited too
	TookMS    int64 `json:"took_ms"`
	DryRun    bool  `json:"dry_run"`
}

// SplitShards implements [Keeper].
func (c *Client) SplitShards(ctx context.Context, req SplitRequest, fn ProgressFunc) (SplitResult, error) {
	return follow[SplitResult](ctx, c, pathSplit, req, fn)
}
