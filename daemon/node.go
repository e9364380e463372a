// Package daemon is the composition root: it opens a home, ties shards, crawl
// db, peers and pipeline together, and serves the result to its owner.
//
// It guarantees that one process at a time owns a home; that every call means
// the same in the foreground daemon and in a command that opened the home
// itself; that no connection to a peer is opened or accepted before the owner
// asks for it; and that stopping, however rudely, loses nothing that was
// acknowledged.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p"

	"arborist/crawl"
	"arborist/daemon/api"
	"arborist/ingest/extract/pdf"
	"arborist/peer"
	"arborist/proof"
	"arborist/shard"
	"arborist/shard/corpus"
)

// lockWait is how long a command waits for another short-lived one.
const lockWait = 3 * time.Second

// Options says how to open a home.
type Options struct {
	Home Home
	// Listen overrides the addresses that peers can reach.
	Listen []string
	// HTTP overrides the address of plain HTTP, see Config.Peer.HTTP.
	HTTP string
	// Transports override how peers are reached, see peer.Config.
	Transports libp2p.Option
	// PDF is the program that reads PDF files, the zero value: they are refused.
	PDF pdf.Command
	// Log receives what happens beside the calls. Default: discarded.
	Log *slog.Logger
}

// A Node is an open home. It implements [api.Service].
type Node struct {
	home   Home
	cfg    Config
	listen []string
	// transports are those of Options.
	transports libp2p.Option
	log        *slog.Logger
	lock       *lock
	id         string
	shared     *shard.Shared
	private    *crawl.Private
	crawlDB    string
	// politeness is what all crawls and checks keep to together.
	politeness *crawl.Politeness
	reserve    *reserve
	indexer    *indexer
	attached   *attachments
	pdf        *pdf.Reader // nil: PDF files are refused

	headProblems []string // of own corpora, when the home was opened

	witnesses []*proof.Cosigner // of config.toml
	witnessMu sync.Mutex        // held while the witness key is made

	// The network comes up at the first call that needs it.
	netMu sync.Mutex
	net   *peer.Peer  // guarded by netMu; nil while off
	guard *guard      // of net; guarded by netMu
	table *peer.Table // guarded by netMu; nil until it is needed
	// web serves plain HTTP, nil: it does not.
	web *peer.WebServer // guarded by netMu
	// stopGuard waits for the guard's end; nil while it does not run.
	stopGuard func()    // guarded by netMu
	follower  *follower // of net; guarded by netMu
}

var _ api.Service = (*Node)(nil)

// Open takes the home's lock and opens its stores. Errors are [*api.Error]
// where the caller can do something: no store here, locked, made by a newer
// version.
//
// On a full disk it gives its reserve away and opens to be read: see [Node.Status].
func Open(ctx context.Context, opts Options) (*Node, error) {
	n, err := open(ctx, opts)
	if corpus.IsFull(err) && os.Remove(opts.Home.Reserve()) == nil {
		n, err = open(ctx, opts)
	}
	if err != nil {
		return nil, err
	}
	n.reserve = &reserve{path: opts.Home.Reserve(), shards: n.shared.Shards}
	if n.state() != stateWriting {
		n.log.Error(n.fullProblem())
	}
	return n, nil
}

func open(ctx context.Context, opts Options) (_ *Node, err error) {
	cfg, err := opts.Home.check()
	if err != nil {
		return nil, explain(err)
	}
	n := &Node{home: opts.Home, cfg: cfg, listen: opts.Listen, transports: opts.Transports, log: opts.Log}
	if opts.PDF.Path != "" {
		n.pdf = pdf.NewReader(pdf.Config{Command: opts.PDF, Cache: filepath.Join(opts.Home.Cache(), "pdf")})
	}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	if len(n.listen) == 0 {
		n.listen = cfg.Peer.Listen
	}
	if n.lock, err = takeLock(ctx, opts.Home, lockWait); err != nil {
		return nil, explain(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(explain(err), n.Close())
		}
	}()
	if n.id, err = existingID(opts.Home); err != nil {
		return nil, err
	}
	n.crawlDB = crawlDBPath(opts.Home, cfg)
	n.sayOutdated()
	if n.shared, err = shard.OpenDamaged(opts.Home.Shards()); err != nil {
		return nil, err
	}
	err = n.shared.Corpora().FileEvidence(ctx, opts.Home.Evidence())
	if err != nil && !errors.Is(err, shard.ErrLogs) { // damage says that
		// The store has it all the same, and status says which files are missing.
		n.log.Error("evidence files are not written", "err", err)
	}
	n.shared.Corpora().KeepHeads(headFiles{home: n.home, peerID: n.id})
	// What is wrong with one, status and check say, and so does each append.
	if n.headProblems, err = n.reconcileHeads(ctx); err != nil {
		return nil, err
	}
	if err = n.startWitnessing(ctx); err != nil {
		return nil, err
	}
	n.attached = openAttachments(opts.Home)
	n.upgradeAttached(ctx)
	n.politeness = crawl.NewPoliteness(n.userAgent(), time.Duration(cfg.Crawl.RobotsTTLMinutes)*time.Minute)
	if n.private, err = crawl.OpenDamaged(n.crawlDB); err != nil {
		return nil, err
	}
	for _, problem := range n.damage() {
		n.log.Error(problem)
	}
	n.startIndexing()
	return n, nil
}

// existingID reads the identity that init made. A lost key is an error: a new
// one in its place would be another peer, whose corpora nobody follows.
func existingID(home Home) (string, error) {
	if _, err := os.Stat(home.PeerKey()); errors.Is(err, fs.ErrNotExist) {
		return "", api.NewError(api.CodeInvalid, fmt.Errorf("open %s: the peer key is missing: %w", home, err),
			"bring keys/peer.key back from a backup; to go on as a new peer, run: arborist init")
	}
	return peer.LoadID(home.PeerKey())
}

// crawlDBPath says where the private crawl db is: environment, configuration,
// default, in this order.
func crawlDBPath(home Home, cfg Config) string {
	if p := os.Getenv("CRAWL_DB"); p != "" {
		return p
	}
	if cfg.Crawl.DB != "" {
		return cfg.Crawl.DB
	}
	return home.CrawlDB()
}

// Close stops the network, closes the stores and gives the lock back. A second
// Close does nothing.
func (n *Node) Close() error {
	n.netMu.Lock()
	defer n.netMu.Unlock()
	var errs []error
	n.stopIndexing()
	if n.pdf != nil {
		n.pdf.Close()
	}
	if n.stopGuard != nil {
		n.stopGuard()
	}
	if n.web != nil {
		errs = append(errs, n.web.Close())
		n.web = nil
	}
	if n.net != nil {
		errs = append(errs, n.net.Close())
	}
	if n.attached != nil {
		n.attached.close()
	}
	if n.private != nil {
		errs = append(errs, n.private.Close())
	}
	if n.shared != nil {
		errs = append(errs, n.shared.Close())
	}
	if n.lock != nil {
		errs = append(errs, n.lock.release())
	}
	n.net, n.private, n.shared, n.lock = nil, nil, nil, nil
	n.guard, n.stopGuard = nil, nil
	return errors.Join(errs...)
}
