package api

import "context"

// A Neighbourhood is which peers the node has to do with, and how.
type Neighbourhood interface {
	// NetworkKey says whether the node is in a private network, whose nodes
	// connect to each other alone, and can make the key of a new one.
	NetworkKey(ctx context.Context, req NetworkKeyRequest) (NetworkKeyResult, error)
	// KnownPeers lists the connected peers and those that are remembered.
	KnownPeers(ctx context.Context) (PeersResult, error)
	// LeavePeer ends what Join began. It takes a peer ID or a full multiaddr.
	LeavePeer(ctx context.Context, peer string) (JoinResult, error)
	// FindCorpus looks for peers that serve a corpus, named by its origin.
	FindCorpus(ctx context.Context, origin string) (FindResult, error)
	// FollowCorpus says whether a followed corpus, named by its origin, is to be
	// brought up to date by itself, and returns all that are. An empty origin
	// changes nothing.
	FollowCorpus(ctx context.Context, req FollowRequest) (FollowResult, error)
	// PeerLists returns the lists of who may connect, changed as the request
	// says. Connections that they do not allow any more are closed.
	PeerLists(ctx context.Context, req PeerListsRequest) (PeerListsResult, error)
}

// FollowRequest says whether a corpus is to be brought up to date by itself.
type FollowRequest struct {
	Origin string `json:"origin,omitempty"`
	Off    bool   `json:"off,omitempty"`
}

// FollowResult lists the corpora that are brought up to date by themselves.
type FollowResult struct {
	Follow []string `json:"follow"`
	All    bool     `json:"all"` // config.toml says so of every followed corpus
}

// FindResult lists peers that may serve a corpus, those of the owner's choice
// first. Nothing about them is verified before a sync.
type FindResult struct {
	Origin string      `json:"origin"`
	Peers  []FoundPeer `json:"peers"`
}

// FoundPeer is a peer that may serve a corpus.
type FoundPeer struct {
	PeerID string   `json:"peer_id"`
	Addrs  []string `json:"addrs"`
	How    string   `json:"how"` // known, connected, publisher or directory
}

// PeerListsRequest changes one of the lists of who may connect, or none.
type PeerListsRequest struct {
	List   string `json:"list,omitempty"`  // "allow" or "deny"
	Entry  string `json:"entry,omitempty"` // peer ID or network (CIDR); empty: change nothing
	Remove bool   `json:"remove,omitempty"`
}

// PeerListsResult holds the lists. Deny goes before allow; where Allow names
// peers, no others can connect, and the same of networks.
type PeerListsResult struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
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
