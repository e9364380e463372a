package api

import (
	"time"
)

// PeerIDResult is the node's own address.
type PeerIDResult struct {
	PeerID string   `json:"peer_id"`
	Addrs  []string `json:"addrs"` // full multiaddrs that end in /p2p/…; empty while not listening
	// HTTP is the URL at which plain HTTP serves the corpora, empty: it does not.
	HTTP string `json:"http,omitempty"`
}

// PeersResult lists connected peers.
type PeersResult struct {
	Peers []PeerInfo `json:"peers"`
}

// PeerInfo describes one peer.
type PeerInfo struct {
	PeerID    string   `json:"peer_id"`
	Connected bool     `json:"connected"`
	Addrs     []string `json:"addrs"`     // remote ends; where not connected, where it was reached
	Direction string   `json:"direction"` // in or out; empty where not connected
	LatencyMS float64  `json:"latency_ms"`
	Relayed   bool     `json:"relayed"` // through a relay alone, which carries no corpora
	Joined    bool     `json:"joined"`  // by the owner: it is connected to again when it is gone
	// Corpora are origins that the peer said it serves.
	Corpora   []string   `json:"corpora"`
	BytesIn   int64      `json:"bytes_in"` // of corpora, since the daemon started
	BytesOut  int64      `json:"bytes_out"`
	LimitsHit int        `json:"limits_hit"` // requests and streams beyond the limits
	Score     int        `json:"score"`      // 0 is good, -100 is kept away
	AwayUntil *time.Time `json:"away_until,omitempty"`
	LastSeen  *time.Time `json:"last_seen,omitempty"`
}

// JoinResult names the peer that was reached.
type JoinResult struct {
	PeerID string `json:"peer_id"`
}

// SyncRequest asks to follow a corpus and bring it up to date. From is a peer
// ID or multiaddr, an http(s) URL, or "file:" and the whole path of a folder that
// holds a published corpus. With an empty From, Corpus is an origin and whoever
// serves it is found.
type SyncRequest struct {
	From   string   `json:"from"`
	More   []string `json:"more,omitempty"` // other sources, at most 15
	Corpus string   `json:"corpus"`
	// MaxRate is the most bytes a second to take; 0: as in config.toml.
	MaxRate int64 `json:"max_rate,omitempty"`
}

// SyncResult counts what a sync brought. Every document in it was verified.
type SyncResult struct {
	Documents int   `json:"documents"` // stored now
	Chunks    int   `json:"chunks"`
	Bytes     int64 `json:"bytes"`      // of document text received
	Verified  int   `json:"verified"`   // documents re-hashed on arrival
	Resumed   int   `json:"resumed"`    // documents that an earlier sync had brought already
	DurableMS int64 `json:"durable_ms"` // until everything was verified and durable
	TookMS    int64 `json:"took_ms"`    // until searches found it too
	// Corpus is the followed corpus after the sync.
	Corpus CorpusInfo `json:"corpus"`
	// Sources says what each source brought, in the order of the request.
	Sources []SourceUse `json:"sources"`
}

// SourceUse is one source of a sync.
type SourceUse struct {
	Source string `json:"source"`
	Bytes  int64  `json:"bytes"`           // of verified document text
	Error  string `json:"error,omitempty"` // why it was given up
}
