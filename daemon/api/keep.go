package api

import (
	"time"
)

// StatusResult says how the node is; it holds nothing private.
type StatusResult struct {
	Home     string       `json:"home"`
	PeerID   string       `json:"peer_id"`
	Running  bool         `json:"running"` // a daemon answered
	Healthy  bool         `json:"healthy"`
	State    string       `json:"state"` // "read-write" or "read-only: disk full"
	Problems []string     `json:"problems"`
	Shards   int          `json:"shards"`
	Shared   StoreStatus  `json:"shared"`
	Pending  int          `json:"pending"` // stored documents that searches do not find yet
	Crawl    StoreStatus  `json:"crawl"`
	Corpora  []CorpusInfo `json:"corpora"`
	// Attached files, in the order of attaching.
	Attached []AttachedFile `json:"attached"`
	Peers    int            `json:"peers"`
	Addrs    []string       `json:"addrs"`
}

// StoreStatus counts what a store holds.
type StoreStatus struct {
	Documents uint64 `json:"documents"`
	Chunks    uint64 `json:"chunks"`
	Bytes     uint64 `json:"bytes"` // of canonical text
}

// An AttachedFile is a verified copy of a file that somebody else made.
type AttachedFile struct {
	Name       string    `json:"name"` // of the copy, in HOME/attached
	Path       string    `json:"path"` // that it was attached from
	Kind       string    `json:"kind"` // shared or private, as its maker had it; served to nobody
	Documents  uint64    `json:"documents"`
	Chunks     uint64    `json:"chunks"`
	Bytes      uint64    `json:"bytes"`      // of canonical text
	FileBytes  int64     `json:"file_bytes"` // of the file
	AttachedAt time.Time `json:"attached_at"`
}

// AttachResult says what was verified: all of it.
type AttachResult struct {
	AttachedFile
	New       bool   `json:"new"`        // neither the path nor these bytes were attached
	Replaced  bool   `json:"replaced"`   // the path was attached with other bytes, which are gone
	SameAs    string `json:"same_as"`    // path under which the same bytes are attached; they stay attached as that alone
	Migrated  bool   `json:"migrated"`   // it was of an older schema version; the copy is not
	LogBeside bool   `json:"log_beside"` // a log lay beside it: what was in that alone was left out
	TookMS    int64  `json:"took_ms"`
}

// CheckRequest says how to check.
type CheckRequest struct {
	// Subset is which documents to hash: "5%", "1/10"; empty: all. The same
	// text always means the same documents.
	Subset string `json:"subset,omitempty"`
	Repair bool   `json:"repair,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"` // of the repair: say what it would do
	// Heal asks peers for documents that logs list and that are not stored: those
	// in From (peer IDs, multiaddrs, URLs), or else all that are connected.
	Heal bool     `json:"heal,omitempty"`
	From []string `json:"from,omitempty"`
}

// CheckResult reports an integrity check. Problems are those that are left.
type CheckResult struct {
	Documents int      `json:"documents"` // hashed
	Problems  []string `json:"problems"`
	// Repaired says what was done, or with DryRun would be.
	Repaired []string `json:"repaired,omitempty"`
	// Quarantined are the roots of documents that a repair took out and that
	// have not come back.
	Quarantined []string `json:"quarantined,omitempty"`
	// Next is what to do about problems that do not say it themselves.
	Next string `json:"next,omitempty"`
}

// BackupRequest asks for a backup. Dir is absolute, and new or empty.
type BackupRequest struct {
	Dir string `json:"dir"`
}

// BackupResult describes a backup.
type BackupResult struct {
	Dir    string    `json:"dir"`
	PeerID string    `json:"peer_id"`
	Made   time.Time `json:"made"` // when it began
	Files  int       `json:"files"`
	Bytes  int64     `json:"bytes"`
	// LeftOut are the paths that attached files came from, whose copies are not
	// in the backup.
	LeftOut []string `json:"left_out"`
}
