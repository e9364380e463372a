package api

// Revision is in every path. It changes when a request or a result changes its
// meaning, so that an old client meets a clear refusal and not a surprise.
const Revision = "v1"

// Paths of the calls, below "/"+Revision.
const (
	pathAdd         = "/add"
	pathCrawl       = "/crawl"
	pathRecheck     = "/crawl/recheck"
	pathQuery       = "/query"
	pathProve       = "/prove"
	pathText        = "/text"
	pathShow        = "/show"
	pathHistory     = "/history"
	pathCorpora     = "/corpora"
	pathCorpusAt    = "/corpora/at"
	pathCorpusNew   = "/corpora/create"
	pathCorpusKey   = "/corpora/key"
	pathRotate      = "/corpora/rotate"
	pathRetire      = "/corpora/retire"
	pathConfirm     = "/corpora/confirm"
	pathRotations   = "/corpora/rotations"
	pathWitness     = "/corpora/witness"
	pathWitnessKey  = "/peer/witness-key"
	pathWithdraw    = "/corpora/withdraw"
	pathPeerID      = "/peer/id"
	pathPeerList    = "/peer/list"
	pathPeerJoin    = "/peer/join"
	pathPeerCorpora = "/peer/corpora"
	pathPeerSync    = "/peer/sync"
	pathPeerUnsync  = "/peer/unsync"
	pathPublish     = "/publish"
	pathNetworkKey  = "/peer/network-key"
	pathPeerKnown   = "/peer/known"
	pathPeerLeave   = "/peer/leave"
	pathPeerFind    = "/peer/find"
	pathPeerFollow  = "/peer/follow"
	pathPeerLists   = "/peer/lists"
	pathAttach      = "/attach"
	pathDetach      = "/detach"
	pathExport      = "/export"
	pathCrawlReport = "/crawl/report"
	pathCrawlSites  = "/crawl/sites"
	pathCountSites  = "/crawl/count"
	pathImport      = "/import"
	pathStatus      = "/status"
	pathCheck       = "/check"
	pathCheckWith   = "/check/with"
	pathBackup      = "/backup"
	pathCompact     = "/compact"
	pathSplit       = "/shards/split"
)

// Wire forms of calls whose Go signature is not one struct to one struct.
type (
	empty       struct{}
	nameRequest struct {
		Name string `json:"name"`
	}
	textResult struct {
		Text []byte `json:"text"`
	}
	// A message is one server-sent event of a long call: progress until the
	// last one, which is a result or an error.
	message[Res any] struct {
		Progress *Progress `json:"progress,omitempty"`
		Result   *Res      `json:"result,omitempty"`
		Error    *Error    `json:"error,omitempty"`
	}
)

// Limits of both sides.
const (
	maxRequest = 4 << 20   // a request's body
	maxMessage = 256 << 20 // a result: the largest document in base64 fits
)
