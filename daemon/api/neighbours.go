package api

import "context"

// A Neighbourhood is which peers the node has to do with, and how.
type Neighbourhood interface {
	// NetworkKey says whether the node is in a private network, whose nodes
	// connect to each other alone, and can make the key of a new one.
	NetworkKey(ctx context.Context, req NetworkKeyRequest) (NetworkKeyResult, error)
}

// NetworkKeyRequest asks for the key of the private network.
type NetworkKeyRequest struct {
	New bool `json:"new,omitempty"` // make one; refused where there is one
}

// NetworkKeyResult names the key file of the private network.
type NetworkKeyResult struct {
	File        string `json:"file"`        // empty in the open network
	Fingerprint string `json:"fingerprint"` // tells two keys apart and says nothing about them
	New         bool   `json:"new"`
}
