package api

import (
	"encoding/json"
	"time"

	"arborist/document"
)

// QueryRequest asks for passages.
type QueryRequest struct {
	Text          string   `json:"text"`
	Limit         int      `json:"limit"`
	Offset        int      `json:"offset"`
	Corpus        string   `json:"corpus,omitempty"`
	DB            string   `json:"db,omitempty"`             // search this file alone
	IncludeShards []string `json:"include_shards,omitempty"` // foreign files beside ours
	NoCrawlDB     bool     `json:"no_crawl_db,omitempty"`
	AllVersions   bool     `json:"all_versions,omitempty"` // also what is current nowhere any more
	Any           bool     `json:"any,omitempty"`          // passages with any of the words, without looking for all first
	Bundle        bool     `json:"bundle,omitempty"`       // also all hits of the page in one proof file
	// Peers asks connected peers too, or those in Ask alone: nothing leaves this
	// machine without it. PeerIDs, full multiaddrs or URLs.
	Peers bool     `json:"peers,omitempty"`
	Ask   []string `json:"ask,omitempty"`
}

// QueryResult is a page of hits.
type QueryResult struct {
	Hits  []Hit  `json:"hits"`
	Total int    `json:"total"` // matching passages
	Mode  string `json:"mode"`  // "and", or "or" where no passage has all words
	// Refused lists foreign files that turned out damaged or hostile; the hits
	// are those of the other files alone.
	Refused []Failure `json:"refused,omitempty"`
	// Warnings are about the corpora that hits are proven in: that one is frozen; and
	// about filters that leave nothing: an unknown corpus, a site without documents.
	Warnings []string `json:"warnings,omitempty"`
	// Pending is how many documents are stored and not in the search index yet:
	// they were not searched.
	Pending int `json:"pending,omitempty"`
	// Bundle is the text form of the proof of all hits (docs/formats.md), where
	// it was asked for and there are any. It holds their passages, private ones
	// too.
	Bundle string `json:"bundle,omitempty"`
	// Sent is what was sent to the peers in Asked that were reached, besides how many
	// hits are wanted. Empty: nothing was.
	Sent string `json:"sent,omitempty"`
	// Asked says of each peer that was to be asked what came of it.
	Asked  []AskedPeer `json:"asked,omitempty"`
	TookMS int64       `json:"took_ms"`
}

// An AskedPeer is a peer that was to be asked.
type AskedPeer struct {
	Peer    string `json:"peer"`
	Hits    int    `json:"hits"`              // verified, before rankings were merged
	Refused int    `json:"refused,omitempty"` // that do not have what was asked for
	Error   string `json:"error,omitempty"`   // why there is no answer
	Unsent  bool   `json:"unsent,omitempty"`  // it was not reached: nothing was sent to it
	TookMS  int64  `json:"took_ms"`
}

// A Hit is one passage. Its proof was verified before it was returned.
type Hit struct {
	Rank   int           `json:"rank"`  // from 1
	Score  float64       `json:"score"` // higher is better
	Root   document.Root `json:"root"`
	Chunk  uint64        `json:"chunk"`  // index
	Chunks uint64        `json:"chunks"` // of the document
	URI    string        `json:"uri"`
	Title  string        `json:"title"`
	Text   string        `json:"text"`
	// Snippet is the piece of Text that shows best why it was found.
	Snippet Snippet `json:"snippet"`
	Source  string  `json:"source"` // shared, crawl, file or peer
	Corpus  string  `json:"corpus,omitempty"`
	Author  string  `json:"author,omitempty"` // with Source crawl, where it is known
	// Current is false where the document is not, or no longer, what stands at
	// URI; only with QueryRequest.AllVersions.
	Current bool   `json:"current"`
	Proof   string `json:"proof"` // text form, without the passage
	// Peer gave the hit, Key is the verifier key of its corpus: with Source peer.
	Peer string `json:"peer,omitempty"`
	Key  string `json:"key,omitempty"`
}

// A Snippet is a piece of a passage, at most 240 bytes.
type Snippet struct {
	Text  string   `json:"text"`
	Start int      `json:"start"` // byte of the passage that it begins at
	Marks [][2]int `json:"marks"` // byte spans in Text that the query looked for, ascending
}

// ProveRequest asks for a proof file of one chunk.
type ProveRequest struct {
	Root   document.Root `json:"root"`
	Chunk  uint64        `json:"chunk"`
	Corpus string        `json:"corpus,omitempty"` // default: any that lists the document, or has listed it
}

// ProveResult holds the proof in its text form and its JSON twin.
type ProveResult struct {
	Text string          `json:"text"`
	JSON json.RawMessage `json:"json"`
	// Warnings are about the corpus that it is proven in: that it is frozen.
	Warnings []string `json:"warnings,omitempty"`
}

// ShowResult is what is known of one document.
type ShowResult struct {
	Root      document.Root `json:"root"`
	ID        document.ID   `json:"id"`
	Chunks    uint64        `json:"chunks"`
	Bytes     uint64        `json:"bytes"`
	Norm      string        `json:"norm"`
	Chunker   string        `json:"chunker"`
	Source    string        `json:"source"` // shared or crawl
	Locations []Version     `json:"locations"`
}

// HistoryResult lists versions, newest first.
type HistoryResult struct {
	URI      string    `json:"uri"`
	Versions []Version `json:"versions"`
}

// A Version is a document at a location.
type Version struct {
	Root      document.Root `json:"root"`
	URI       string        `json:"uri"`
	Title     string        `json:"title"`
	Corpus    string        `json:"corpus,omitempty"`
	Source    string        `json:"source"`
	FetchedAt time.Time     `json:"fetched_at"`
	Current   bool          `json:"current"`
	// Replaced: another document took its place. What is neither current nor
	// replaced was withdrawn.
	Replaced bool `json:"replaced,omitempty"`
	// Index is that of the record in the log of Corpus that lists it, EndedIndex of
	// the one that has ended that: it was listed at the sizes from Index+1 to
	// EndedIndex. WithdrawnAt is the time of a withdrawal.
	Index       *uint64    `json:"index,omitempty"`
	EndedIndex  *uint64    `json:"ended_index,omitempty"`
	WithdrawnAt *time.Time `json:"withdrawn_at,omitempty"`
	// GoneSince: the site has had no such page since then, as far as is known.
	GoneSince *time.Time `json:"gone_since,omitempty"`
	// Author is the one of a crawled page, where that is known. Parent is the
	// page that a crawled document file was found on.
	Author string `json:"author,omitempty"`
	Parent string `json:"parent,omitempty"`
}
