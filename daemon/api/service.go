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
	// ConfirmCorpus says of an own corpus that was restored from a backup that
	// it has signed nothing after that: it goes on from what is here.
	ConfirmCorpus(ctx context.Context, name string) (CorpusInfo, error)
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
	// the texts stay stored unless they are to be purged. Again it changes nothing.
	Unsync(ctx context.Context, req UnsyncRequest, fn ProgressFunc) (UnsyncResult, error)
	// Publish writes a corpus as files that any web server can serve.
	Publish(ctx context.Context, req PublishRequest, fn ProgressFunc) (PublishResult, error)
}

// An Attacher adds files that somebody else made to what queries search. They
// are copied, verified whole and never served to peers.
type Attacher interface {
	// Attach takes an absolute path. A path that is attached already is taken
	// anew, with what the file holds now; bytes that are attached under another
	// path stay attached as that alone.
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
	Stage     string `json:"stage"`           // for example "read", "store", "verify", "wait"
	Done      int64  `json:"done"`            // documents or pages
	Total     int64  `json:"total,omitempty"` // 0 where unknown
	Bytes     int64  `json:"bytes,omitempty"`
	Item      string `json:"item,omitempty"` // the URI or URL just finished; of "read", that which takes long; of "wait", the host and for how long
	Depth     int    `json:"depth,omitempty"`
	Status    int    `json:"status,omitempty"` // HTTP status of Item
	Discovery bool   `json:"discovery,omitempty"`

	Page *CheckedPage `json:"page,omitempty"` // of Recheck
}
