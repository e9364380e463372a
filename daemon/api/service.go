// Package api is what the outside can ask of a node: the [Service] interface
// with its requests and results, an HTTP+JSON handler over it, and a typed
// [Client].
//
// The package guarantees that a call means the same whether it runs in the
// process that owns the home or over its socket: same results, same errors,
// same progress. JSON keys named in docs/cli.md never change their meaning.
package api

import (
	"context"
	"encoding/json"
	"time"

	"arborist/document"
)

// A Service is everything that a node does for its owner. The node itself and
// [Client] implement it. All methods stop when their context ends, keep what
// they had acknowledged, and may run concurrently.
type Service interface {
	LightReader
	Ingester
	Finder
	Reader
	Corpora
	Network
	Neighbourhood
	Attacher
	Carrier
	Auditor
	SiteCrawler
	Keeper
}

// An Ingester brings documents in. Its methods report progress to fn, which
// may be nil and is never called concurrently. A document that fails is listed
// in the result and stops nothing.
type Ingester interface {
	Add(ctx context.Context, req AddRequest, fn ProgressFunc) (AddResult, error)
	Crawl(ctx context.Context, req CrawlRequest, fn ProgressFunc) (CrawlResult, error)
	// Recheck looks at crawled pages again. What it finds of each is told to fn.
	Recheck(ctx context.Context, req RecheckRequest, fn ProgressFunc) (RecheckResult, error)
}

// A Finder finds passages and proves them.
type Finder interface {
	Query(ctx context.Context, req QueryRequest) (QueryResult, error)
	Prove(ctx context.Context, req ProveRequest) (ProveResult, error)
}

// A Reader reads what is stored.
type Reader interface {
	// Text returns the canonical text of a document, byte for byte.
	Text(ctx context.Context, root document.Root) ([]byte, error)
	// Show says what is known of a root or of a URI.
	Show(ctx context.Context, rootOrURI string) (ShowResult, error)
	// History lists the versions at a URI, newest first.
	History(ctx context.Context, uri string) (HistoryResult, error)
}

// Corpora manages the corpora on this node. A corpus is named by its short
// name where it is our own and by its origin ("PEER/NAME") where it is not.
type Corpora interface {
	ListCorpora(ctx context.Context) (CorporaResult, error)
	// CorpusAt returns a corpus as it was when its log had fewer records.
	CorpusAt(ctx context.Context, req CorpusAtRequest) (CorpusAtResult, error)
	CreateCorpus(ctx context.Context, name string) (CorpusInfo, error)
	CorpusKey(ctx context.Context, name string) (CorpusKeyResult, error)
	// RotateCorpus gives an own corpus a new key. The old one signs beside it
	// until RetireCorpusKey drops its secret.
	RotateCorpus(ctx context.Context, name string) (CorpusInfo, error)
	RetireCorpusKey(ctx context.Context, name string) (CorpusInfo, error)
	// CorpusRotations returns the rotations file of a corpus.
	CorpusRotations(ctx context.Context, name string) (RotationsResult, error)
	// Withdraw takes documents off the list of an own corpus.
	Withdraw(ctx context.Context, req WithdrawRequest) (WithdrawResult, error)
	// WitnessCorpus makes this node a witness of a corpus that it follows: it
	// cosigns each head that it accepts from then on, for everybody to see.
	WitnessCorpus(ctx context.Context, req WitnessRequest) (CorpusInfo, error)
}

// A Network is the node as peers see it. Join, PeerCorpora and Sync open
// connections; nothing else does.
type Network interface {
	PeerID(ctx context.Context) (PeerIDResult, error)
	// WitnessKey returns the key that checks this node's cosignatures, and
	// makes it at the first call.
	WitnessKey(ctx context.Context) (WitnessKeyResult, error)
	ListPeers(ctx context.Context) (PeersResult, error)
	Join(ctx context.Context, addr string) (JoinResult, error)
	// PeerCorpora lists the corpora that a connected peer serves; an empty
	// peer means all connected ones.
	PeerCorpora(ctx context.Context, peer string) (CorporaResult, error)
	Sync(ctx context.Context, req SyncRequest, fn ProgressFunc) (SyncResult, error)
	// Unsync ends the following of a corpus. What it listed leaves the search,
	// the texts stay stored. Again it changes nothing.
	Unsync(ctx context.Context, corpus string) (UnsyncResult, error)
	// Publish writes a corpus as files that any web server can serve.
	Publish(ctx context.Context, req PublishRequest, fn ProgressFunc) (PublishResult, error)
}

// An Attacher adds files that somebody else made to what queries search. They
// are copied, verified whole and never served to peers.
type Attacher interface {
	// Attach takes an absolute path. A path that is attached already is taken
	// anew, with what the file holds now.
	Attach(ctx context.Context, path string) (AttachResult, error)
	// Detach takes the path that was attached, or the name of the copy.
	Detach(ctx context.Context, nameOrPath string) (AttachedFile, error)
}

// A Keeper looks after the node itself.
type Keeper interface {
	Status(ctx context.Context) (StatusResult, error)
	Check(ctx context.Context) (CheckResult, error)
	// CheckWith is Check of a part of the documents, or with repair.
	CheckWith(ctx context.Context, req CheckRequest) (CheckResult, error)
	// Backup copies the home, as of one moment, into a folder that is new or
	// empty, while everything else goes on.
	Backup(ctx context.Context, req BackupRequest, fn ProgressFunc) (BackupResult, error)
	// Compact makes the files of the home as small as they can be, while
	// everything else goes on; its first report says how much space that takes.
	Compact(ctx context.Context, req CompactRequest, fn ProgressFunc) (CompactResult, error)
	// SplitShards doubles the number of shard files, while everything else goes on.
	SplitShards(ctx context.Context, req SplitRequest, fn ProgressFunc) (SplitResult, error)
}

// A ProgressFunc receives progress reports.
type ProgressFunc func(Progress)

// Progress is how far a long call has come. Counters a call does not know stay
// zero.
type Progress struct {
	Stage     string `json:"stage"`           // for example "fetch", "store", "verify"
	Done      int64  `json:"done"`            // documents or pages
	Total     int64  `json:"total,omitempty"` // 0 where unknown
	Bytes     int64  `json:"bytes,omitempty"`
	Item      string `json:"item,omitempty"` // the URI or URL just finished
	Depth     int    `json:"depth,omitempty"`
	Status    int    `json:"status,omitempty"` // HTTP status of Item
	Discovery bool   `json:"discovery,omitempty"`

	Page *CheckedPage `json:"page,omitempty"` // of Recheck
}

// AddRequest asks to ingest files and folders.
type AddRequest struct {
	Paths   []string `json:"paths"`             // absolute
	Corpus  string   `json:"corpus,omitempty"`  // default "main"; must be empty where Private
	Private bool     `json:"private,omitempty"` // into the private crawl db
	BaseURI string   `json:"base_uri,omitempty"`
}

// AddResult counts what an [AddRequest] did.
type AddResult struct {
	Documents  int       `json:"documents"`
	Chunks     int       `json:"chunks"`
	New        int       `json:"new"`
	Unchanged  int       `json:"unchanged"`
	Superseded int       `json:"superseded"`
	Known      int       `json:"known"`   // content that was stored already, at a URI that was free
	Skipped    int       `json:"skipped"` // files of folders that are of no kind that is read, and links
	Bytes      int64     `json:"bytes"`
	Failed     []Failure `json:"failed"`
	// AlsoPrivate counts documents that went into a corpus and that the private
	// crawl db holds too: peers can read their text now.
	AlsoPrivate int      `json:"also_private"`
	Warnings    []string `json:"warnings,omitempty"`
}

// A Failure is one document that could not be ingested.
type Failure struct {
	URI   string `json:"uri"`
	Error string `json:"error"`
}

// CrawlRequest asks to crawl one host.
type CrawlRequest struct {
	SeedURL   string   `json:"seed_url"`
	Depth     int      `json:"depth"`
	MaxPages  int      `json:"max_pages"` // 0: no cap
	Ingest    bool     `json:"ingest"`    // store pages in the private crawl db
	Fast      bool     `json:"fast"`
	AllowHost []string `json:"allow_host,omitempty"`
	AllowNet  []string `json:"allow_net,omitempty"` // CIDR
	Resume    bool     `json:"resume,omitempty"`
	Fetcher   string   `json:"fetcher,omitempty"` // http, chromium, auto; empty: what config.toml says
	WARC      string   `json:"warc,omitempty"`    // folder for WARC files of the crawl, an absolute path; empty: none are written
	RPS       float64  `json:"rps,omitempty"`     // most requests a second to a host; 0: as the site asks, else one in 2 s
}

// CrawlResult counts what a crawl did. The lists are bounded; the totals count
// what they leave out as well.
type CrawlResult struct {
	Pages        int            `json:"pages"`
	Ingested     int            `json:"ingested"`
	Unchanged    int            `json:"unchanged"`
	Refused      []Refusal      `json:"refused"`
	RefusedTotal int            `json:"refused_total"`
	Failed       []FetchError   `json:"failed"`
	FailedTotal  int            `json:"failed_total"`
	Classes      map[string]int `json:"failed_by_class"`
	Collapsed    int            `json:"collapsed"`           // pages with the content of another one
	Traps        []Trap         `json:"traps,omitempty"`     // patterns that ran out of budget
	Cut          []Refusal      `json:"cut,omitempty"`       // pages whose links were not all looked at
	Earlier      int            `json:"earlier,omitempty"`   // of pages: fetched before it was resumed
	NoIndex      int            `json:"noindex,omitempty"`   // of pages: not kept, as they ask
	Redirects    int            `json:"redirects,omitempty"` // answers that led elsewhere
	Requests     int            `json:"requests"`            // of this run, robots.txt included
	OffSite      int            `json:"off_site,omitempty"`  // links to other hosts
	Nofollow     int            `json:"nofollow,omitempty"`  // links not followed, as the site asks
	Capped       bool           `json:"capped,omitempty"`    // ended at max_pages with more to fetch
	WARC         []string       `json:"warc,omitempty"`      // files that were written
}

// A Trap is a pattern of addresses that ran out of budget: "#" in it stands for
// any number, "*" for any name.
type Trap struct {
	Pattern string `json:"pattern"`
	Pages   int    `json:"pages"`   // fetched
	Refused int    `json:"refused"` // not fetched
}

// A Refusal is a URL that was not fetched by rule.
type Refusal struct {
	URL    string `json:"url"`
	Reason string `json:"reason"`
}

// A FetchError is a URL that could not be fetched. Class is one of
// fetch_denied, fetch_transient, render_failed, resource_limit; or unreadable,
// where it was fetched and no text could be made of it.
type FetchError struct {
	URL   string `json:"url"`
	Class string `json:"class"`
	Error string `json:"error"`
}

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
	// Bundle is the text form of the proof of all hits (docs/formats.md), where
	// it was asked for and there are any. It holds their passages, private ones
	// too.
	Bundle string `json:"bundle,omitempty"`
	// Asked says of each peer that the query was sent to what came of it.
	Asked  []AskedPeer `json:"asked,omitempty"`
	TookMS int64       `json:"took_ms"`
}

// An AskedPeer is a peer that a query was sent to.
type AskedPeer struct {
	Peer    string `json:"peer"`
	Hits    int    `json:"hits"`              // verified, before rankings were merged
	Refused int    `json:"refused,omitempty"` // that do not have what was asked for
	Error   string `json:"error,omitempty"`   // why there is no answer
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
	Corpus string        `json:"corpus,omitempty"` // default: any that lists the document
}

// ProveResult holds the proof in its text form and its JSON twin.
type ProveResult struct {
	Text string          `json:"text"`
	JSON json.RawMessage `json:"json"`
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
	// GoneSince: the site has had no such page since then, as far as is known.
	GoneSince *time.Time `json:"gone_since,omitempty"`
}

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
	Bytes     int64 `json:"bytes"`    // of document text received
	Verified  int   `json:"verified"` // documents re-hashed on arrival
	Resumed   int   `json:"resumed"`  // documents that an earlier sync had brought already
	// Corpus is the followed corpus after the sync.
	Corpus CorpusInfo `json:"corpus"`
	// Sources says what each source brought, in the order of the request.
	Sources []SourceUse `json:"sources"`
}

// PublishRequest asks to write a corpus as files. To is the whole path of a
// folder, or s3://BUCKET/PREFIX.
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

// UnsyncResult says what a corpus left behind.
type UnsyncResult struct {
	Corpus    string `json:"corpus"`    // origin
	Documents int    `json:"documents"` // listings that searches no longer show; the texts stay stored
}

// SourceUse is one source of a sync.
type SourceUse struct {
	Source string `json:"source"`
	Bytes  int64  `json:"bytes"`           // of verified document text
	Error  string `json:"error,omitempty"` // why it was given up
}

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
	New       bool  `json:"new"`        // neither the path nor these bytes were attached
	Replaced  bool  `json:"replaced"`   // the path was attached with other bytes, which are gone
	Migrated  bool  `json:"migrated"`   // it was of an older schema version; the copy is not
	LogBeside bool  `json:"log_beside"` // a log lay beside it: what was in that alone was left out
	TookMS    int64 `json:"took_ms"`
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
