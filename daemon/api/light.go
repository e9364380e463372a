package api

import (
	"context"

	"arborist/document"
)

// A LightReader asks a source for single things, verifies them and stores
// nothing.
type LightReader interface {
	// Fetch returns a document or one chunk of it.
	Fetch(ctx context.Context, req FetchRequest) (FetchResult, error)
	// ProveRemote returns a verified proof of one chunk.
	ProveRemote(ctx context.Context, req FetchRequest) (RemoteProofResult, error)
}

// FetchRequest names a document, or a chunk of it, at a source: see
// [SyncRequest].
type FetchRequest struct {
	From   string        `json:"from,omitempty"`   // empty: whichever connected peer may have it
	Corpus string        `json:"corpus,omitempty"` // empty: whichever lists it
	Root   document.Root `json:"root"`
	Chunk  *uint64       `json:"chunk,omitempty"` // nil: all of it
}

// FetchResult holds verified text.
type FetchResult struct {
	Root   document.Root `json:"root"`
	Corpus string        `json:"corpus"` // origin; verified where there is a chunk
	Chunk  *uint64       `json:"chunk,omitempty"`
	Text   []byte        `json:"text"`
}

// RemoteProofResult is a proof with the key that checks it.
type RemoteProofResult struct {
	ProveResult
	Corpus string `json:"corpus"` // origin
	Key    string `json:"key"`    // verifier key, certified by the publisher
}

const (
	pathFetch       = "/peer/get"
	pathProveRemote = "/peer/prove"
)

// Fetch implements [LightReader].
func (c *Client) Fetch(ctx context.Context, req FetchRequest) (FetchResult, error) {
	return ask[FetchResult](ctx, c, pathFetch, req)
}

// ProveRemote implements [LightReader].
func (c *Client) ProveRemote(ctx context.Context, req FetchRequest) (RemoteProofResult, error) {
	return ask[RemoteProofResult](ctx, c, pathProveRemote, req)
}
