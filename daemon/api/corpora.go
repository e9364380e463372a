package api

import (
	"time"

	"arborist/document"
)

// CorporaResult lists corpora.
type CorporaResult struct {
	Corpora []CorpusInfo `json:"corpora"`
}

// CorpusInfo describes one corpus.
type CorpusInfo struct {
	Name      string `json:"name"`
	Publisher string `json:"publisher"` // peer ID
	Origin    string `json:"origin"`    // "PEER/NAME"
	Size      uint64 `json:"size"`      // records in the log
	Documents uint64 `json:"documents"` // current documents
	Head      string `json:"head"`      // root hash of the log, base64
	Own       bool   `json:"own"`
	Witness   bool   `json:"witness"`        // this node cosigns its heads
	Peer      string `json:"peer,omitempty"` // who serves it, in [Network.PeerCorpora]
	// Key is the verifier key, ReplacedKeys those before it, oldest first.
	Key          string   `json:"key,omitempty"`
	ReplacedKeys []string `json:"replaced_keys,omitempty"`
	// Witnesses have cosigned the head, as far as this node knows them.
	Witnesses []WitnessInfo `json:"witnesses,omitzero"`
	// Evidence is what is kept against its publisher, oldest first; see
	// docs/formats.md.
	Evidence []EvidenceInfo `json:"evidence,omitempty"`
	// Problem says what keeps it from going on, if anything does, and the next step.
	Problem string `json:"problem,omitempty"`
}

// CorpusAtRequest names a corpus, a size of its log and a page of what it
// listed then.
type CorpusAtRequest struct {
	Corpus string `json:"corpus"`
	Size   uint64 `json:"size"`
	Limit  int    `json:"limit"` // at least 1
	Offset int    `json:"offset,omitempty"`
}

// CorpusAtResult is a corpus as it was at a size of its log.
type CorpusAtResult struct {
	Name      string    `json:"name"`
	Origin    string    `json:"origin"`
	Size      uint64    `json:"size"`      // records
	Root      string    `json:"root"`      // of the log of so many records, base64
	Documents uint64    `json:"documents"` // distinct documents listed then
	Listings  uint64    `json:"listings"`  // URIs that listed one
	Listed    []Listing `json:"listed"`    // a page of those, by index
}

// A Listing is the record by which a corpus lists a document.
type Listing struct {
	Index uint64        `json:"index"` // in the log
	URI   string        `json:"uri"`
	Root  document.Root `json:"root"`
	ID    document.ID   `json:"id"`
	Title string        `json:"title"`
}

// WitnessInfo is the word of one witness on a corpus's head.
type WitnessInfo struct {
	Name string `json:"name"`
	Time string `json:"time"` // by the witness's clock, RFC 3339
}

// WitnessRequest asks to become a witness of a corpus, or to end that.
type WitnessRequest struct {
	Corpus string `json:"corpus"` // origin
	Off    bool   `json:"off,omitempty"`
}

// WitnessKeyResult holds this node's verifier key as a witness in its text form.
type WitnessKeyResult struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// EvidenceInfo is two signed heads of one corpus that are kept, or two rotations
// of one key; then Found is zero.
type EvidenceInfo struct {
	Kind  string    `json:"kind"`  // equivocation, rotation or rotation-fork: the corpus is frozen; or rollback, replaced-key
	File  string    `json:"file"`  // absolute
	Older uint64    `json:"older"` // size of the one head
	Newer uint64    `json:"newer"` // size of the other
	Found time.Time `json:"found,omitzero"`
	// Contradicts says that the two heads are shown not to be of one history. Of
	// a rollback, and of a head that a replaced key merely has signed, it is false.
	Contradicts bool `json:"contradicts"`
}

// WithdrawRequest names what an own corpus shall list no longer.
type WithdrawRequest struct {
	Corpus string   `json:"corpus"`
	What   []string `json:"what"` // roots or URIs
}

// WithdrawResult counts the listings that ended.
type WithdrawResult struct {
	Corpus    string   `json:"corpus"`    // origin
	Withdrawn []string `json:"withdrawn"` // URIs
	Size      uint64   `json:"size"`      // records in the log afterwards
}

// CorpusKeyResult holds the verifier key of a corpus in its text form.
type CorpusKeyResult struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// RotationsResult holds the rotations file of a corpus, and what is in it.
type RotationsResult struct {
	Name      string         `json:"name"`
	File      string         `json:"file"`
	Rotations []RotationInfo `json:"rotations"`
}

// RotationInfo is one change of a corpus's key.
type RotationInfo struct {
	Old  string `json:"old"`  // verifier key
	New  string `json:"new"`  // verifier key
	Size uint64 `json:"size"` // records in the log at that time
}

// PublishRequest asks to write a corpus as files. To is the whole path of a
// folder, s3://BUCKET/PREFIX or gs://BUCKET/PREFIX.
type PublishRequest struct {
	Corpus    string `json:"corpus"`
	To        string `json:"to"`
	Documents bool   `json:"documents,omitempty"` // each document by its root too
}

// PublishResult counts what was written.
type PublishResult struct {
	To     string     `json:"to"`
	Files  int        `json:"files"`
	Bytes  int64      `json:"bytes"`
	Before uint64     `json:"before"` // records that were there before
	Size   uint64     `json:"size"`   // records that are there now
	Corpus CorpusInfo `json:"corpus"`
}

// UnsyncRequest names a corpus that is not to be followed any more.
type UnsyncRequest struct {
	Corpus string `json:"corpus"`
	// Purge drops the documents that came with it alone.
	Purge bool `json:"purge,omitempty"`
	// DryRun, with Purge, says what that would drop, and does nothing.
	DryRun bool `json:"dry_run,omitempty"`
}

// UnsyncResult says what a corpus left behind.
type UnsyncResult struct {
	Corpus    string       `json:"corpus"`    // origin
	Documents int          `json:"documents"` // listings that searches no longer show
	Purged    *PurgeResult `json:"purged,omitempty"`
}

// PurgeResult says what of a corpus was dropped, or would be.
type PurgeResult struct {
	Documents int64 `json:"documents"` // dropped
	Chunks    int64 `json:"chunks"`    // of those
	Bytes     int64 `json:"bytes"`     // of their text
	Kept      int64 `json:"kept"`      // documents of the corpus that something else here holds
	Before    int64 `json:"before"`    // bytes of the shards
	After     int64 `json:"after"`     // in a dry run the same
	NeedBytes int64 `json:"need_bytes"`
	FreeBytes int64 `json:"free_bytes"`
	DryRun    bool  `json:"dry_run"`
}
