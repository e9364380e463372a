package peer

import (
	"errors"
	"fmt"
)

// What can be wrong with a source. Each is wrapped by a [SourceError] that
// names the source and the resource.
var (
	// ErrTampered: the bytes are not what the publisher signed.
	ErrTampered = errors.New("the bytes are not what the publisher signed")
	// ErrMalformed: the bytes are not in the resource's only spelling.
	ErrMalformed = errors.New("the resource is malformed")
	// ErrTruncated: the resource ended early.
	ErrTruncated = errors.New("the resource ends early")
	// ErrTooLarge: the resource is over its limit.
	ErrTooLarge = errors.New("the resource is over its size limit")
	// ErrTooSlow: the resource did not arrive in its time.
	ErrTooSlow = errors.New("the resource does not arrive in time")
	// ErrMissing: the source does not have the resource.
	ErrMissing = errors.New("the source does not have it")
	// ErrNewer: the resource is in a form that this version does not know.
	ErrNewer = errors.New("made by a newer version: upgrade arborist")
	// ErrBusy: the source refuses for now, after several tries.
	ErrBusy = errors.New("the source is busy: try again later")
	// ErrUnavailable: the source cannot be reached or broke off.
	ErrUnavailable = errors.New("the source cannot be reached or broke off")
	// ErrOtherKey: an own corpus has changed its key, which this node has signed
	// and does not know any more.
	ErrOtherKey = errors.New("this node has certified another key of the corpus, which is not here")
	// ErrRollback: the head is older than one that was accepted before.
	ErrRollback = errors.New("the head is older than the one already accepted")
	// ErrEquivocation: the publisher signed two logs that contradict each other.
	ErrEquivocation = errors.New("the publisher signed two logs that contradict each other")
	// ErrKey: the corpus key is not certified by the publisher, or is not the
	// one that was pinned when the corpus was first followed.
	ErrKey = errors.New("the corpus key is not the publisher's")
	// ErrKeyDiffers: the source has another key of the corpus than the one that is
	// pinned here. One of the two may not have heard of a change of the key, so it
	// is nobody's fault; a sync tells.
	ErrKeyDiffers = errors.New("the source has another key of the corpus than the one that is pinned here")
)

// What can be wrong with a request of ours, before any source is asked.
var (
	// ErrNotConnected: the peer is not connected and no address of it is known.
	ErrNotConnected = errors.New("not connected: join it by its full multiaddr first")
	// ErrAddress: not a peer ID, multiaddr or URL that can be used.
	ErrAddress = errors.New("not an address")
	// ErrSelf: the peer is this very node.
	ErrSelf = errors.New("the peer is this very node")
	// ErrDenied: the node's own lists keep the peer, or all its addresses, out.
	ErrDenied = errors.New("this node's lists of who may connect leave it out")
	// ErrNoService: the peer was reached and does not serve corpora.
	ErrNoService = errors.New("the peer serves no corpora (it does not speak " + string(ProtocolID) + ")")
	// ErrNoAnswers: the peer's owner has not told it to answer queries.
	ErrNoAnswers = errors.New("it answers no queries")
	// ErrTreeDocuments: the source is no node, and has single documents in packs alone.
	ErrTreeDocuments = errors.New("it was published without --documents, and its log is too long to look for one document in it")
	// ErrTreeProofs: what is missing in a source that is no node.
	ErrTreeProofs = errors.New("a published tree has no proofs, nodes and their HTTP addresses have them")
	// ErrAmbiguous: a corpus name stands for several corpora.
	ErrAmbiguous = errors.New("several corpora have this name: use the origin, PEER/NAME")
	// ErrNoCorpus: the source serves no corpus of that name.
	ErrNoCorpus = errors.New("the source serves no such corpus")
	// ErrOwn: a corpus of this node cannot be followed.
	ErrOwn = errors.New("the corpus is published by this very node")
	// ErrSyncing: the same corpus is being synced already.
	ErrSyncing = errors.New("a sync of this corpus is running already")
	// ErrUnsyncing: the same corpus is being left, or its documents dropped.
	ErrUnsyncing = errors.New("an unsync of this corpus is running already")
	// ErrFrozen: the corpus was frozen after an equivocation.
	ErrFrozen = errors.New("the corpus is frozen: its publisher signed two logs that contradict each other")
	// ErrRelayed: only a relayed connection came about, which moves too little
	// for a corpus.
	ErrRelayed = errors.New("it is reached through a relay alone, which carries no corpora: no direct connection came about")
	// ErrListen: it is no address that a node can listen at.
	ErrListen = errors.New("not an address to listen at")
	// ErrPrivateNetwork: not possible in a private network.
	ErrPrivateNetwork = errors.New("the network is private")
	// ErrKeyFile: the identity file cannot be used as it stands.
	ErrKeyFile = errors.New("identity file cannot be used")
	// ErrTarget: a target of Publish holds something that must not be replaced.
	ErrTarget = errors.New("the target holds something else: choose an empty one")
	// ErrClosed: the peer was closed.
	ErrClosed = errors.New("the peer is closed")
)

// A SourceError is a fault of a source: it ended the use of that source and
// nothing that it sent after its last verified document was kept. It wraps one
// of the sentinels above.
type SourceError struct {
	Source   string // peer ID, or URL of a published corpus
	Resource string // path of the resource below the version prefix
	Err      error
}

// Error names source and resource.
func (e *SourceError) Error() string {
	return fmt.Sprintf("read %s from %s: %v", e.Resource, e.Source, e.Err)
}

// Unwrap returns the cause.
func (e *SourceError) Unwrap() error { return e.Err }
