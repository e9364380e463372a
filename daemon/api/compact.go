package api

import "context"

// CompactRequest asks to make the files of a home as small as they can be.
type CompactRequest struct{}

// CompactResult says what that brought.
type CompactResult struct {
	Files     []CompactedFile `json:"files"`
	Before    int64           `json:"before"`     // bytes of all files together
	After     int64           `json:"after"`      // the same, afterwards
	NeedBytes int64           `json:"need_bytes"` // that it could take for a while
	FreeBytes int64           `json:"free_bytes"` // that were free when it began
}

// A CompactedFile is one of the files.
type CompactedFile struct {
	File   string `json:"file"` // path
	Before int64  `json:"before"`
	After  int64  `json:"after"`
	Error  string `json:"error,omitempty"` // why it was left as it was
}

// Compact implements [Keeper].
func (c *Client) Compact(ctx context.Context, req CompactRequest, fn ProgressFunc) (CompactResult, error) {
	return follow[CompactResult](ctx, c, pathCompact, req, fn)
}
