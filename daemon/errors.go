package daemon

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"arborist/crawl"
	"arborist/crawl/egress"
	"arborist/crawl/fetch"
	"arborist/crawl/fetch/chromium"
	"arborist/daemon/api"
	"arborist/document"
	"arborist/ingest/source"
	"arborist/peer"
	"arborist/shard"
	"arborist/shard/corpus"
)

// An explanation gives an error of the rooms below its code and next step for
// the outside. An empty hint means that the error's own text has it.
type explanation struct {
	err  error
	code api.Code
	hint string
}

// explanations holds the errors that a caller can do something about, the most
// telling first: an error may wrap several.
func explanations() []explanation {
	return []explanation{
		{shard.ErrNoWords, api.CodeUsage, "type at least one word"},
		{shard.ErrNewer, api.CodeNewer, "use the newer version, or another --home; where no newer one was here, the file named is damaged: arborist restore takes a backup"},
		{corpus.ErrNewer, api.CodeNewer, "use the newer version, or another --home; where no newer one was here, the file named is damaged: arborist restore takes a backup"},
		{shard.ErrBroken, api.CodeInvalid, shard.MendBroken},
		{shard.ErrLogs, api.CodeInvalid, shard.MendBroken},
		{shard.ErrCorrupt, api.CodeInvalid, mendDamaged},
		{corpus.ErrCorrupt, api.CodeInvalid, mendDamaged},
		{shard.ErrKind, api.CodeInvalid, "give a shard file, such as HOME/shards/00.db"},
		{shard.ErrUnsafe, api.CodeDenied, "give a plain file with one name; a copy is one"},
		{shard.ErrTooLarge, api.CodeInvalid, ""},
		{shard.ErrSet, api.CodeInvalid, "bring what is missing back from a backup, or mend it: arborist check --repair"},
		{shard.ErrNotFound, api.CodeNotFound, "see what is here: arborist query WORDS"},

		{crawl.ErrSeedURL, api.CodeUsage, "for example: arborist crawl --seed-url https://example.org/docs/"},
		{crawl.ErrSeedAddress, api.CodeDenied, ""},
		{crawl.ErrSeedRobots, api.CodeDenied, ""},
		{crawl.ErrSeedUnreachable, api.CodeUnavailable, ""},
		{crawl.ErrSeedRedirect, api.CodeFailed, ""},
		{crawl.ErrSeedNotPage, api.CodeFailed, ""},
		{source.ErrArchive, api.CodeInvalid, "give a WARC file (.warc, .warc.gz) or a WACZ file (.wacz)"},
		{crawl.ErrFetcher, api.CodeUsage, ""},
		{fetch.ErrHostedConfig, api.CodeUsage, ""},
		{chromium.ErrNoBrowser, api.CodeUnavailable, ""},
		{crawl.ErrHost, api.CodeUsage, "give a host name, with a port where it has one"},
		{crawl.ErrAuthor, api.CodeUsage, "give a name of at most 200 bytes on one line"},
		{crawl.ErrSitemapAddress, api.CodeUsage, "for example: https://example.org/sitemap.xml"},
		{crawl.ErrSitemap, api.CodeUnavailable, "check the address, or leave out --from-sitemap"},
		{crawl.ErrNothingToResume, api.CodeNotFound, ""},
		{crawl.ErrOtherCrawl, api.CodeUsage, ""},
		{crawl.ErrBusy, api.CodeLocked, ""},
		{egress.ErrDenied, api.CodeDenied, ""},

		{corpus.ErrReplaced, api.CodeInvalid, "do not trust this source: what shows it is kept, arborist status names the file"},
		{peer.ErrTampered, api.CodeInvalid, "what did not verify was not stored; sync from another peer"},
		{peer.ErrEquivocation, api.CodeInvalid, "both signed heads are kept: arborist status names the file; ask the publisher"},
		{peer.ErrRollback, api.CodeInvalid, "sync from another peer that follows the corpus"},
		{peer.ErrKeyDiffers, api.CodeInvalid, "bring the corpus up to date, here and there: arborist peer sync SOURCE CORPUS; where that is refused, do not trust the source"},
		{peer.ErrKey, api.CodeInvalid, "do not trust this source; ask the publisher"},
		{peer.ErrMalformed, api.CodeInvalid, "sync from another peer"},
		{peer.ErrTruncated, api.CodeUnavailable, "run the command again: it goes on where it was"},
		{peer.ErrTooLarge, api.CodeInvalid, "sync from another peer"},
		{peer.ErrTooSlow, api.CodeUnavailable, "run the command again: it goes on where it was"},
		{peer.ErrBusy, api.CodeUnavailable, ""},
		{peer.ErrNoDirectory, api.CodeUnavailable, "each of those nodes needs bootstrap in its config.toml too: the same line does, where it names itself"},
		{peer.ErrUnavailable, api.CodeUnavailable, "see that the peer's daemon runs, that the address is right, and that both are in the open network or in the same private one (arborist peer network-key); what came is kept"},
		{peer.ErrNotConnected, api.CodeUnavailable, "arborist peer join MULTIADDR"},
		{peer.ErrAnnounce, api.CodeUsage, "correct announce in config.toml, or remove the line"},
		{peer.ErrAddress, api.CodeUsage, "a peer is named by the address that arborist peer id prints there, or by its peer ID once it is joined; a published corpus by the URL of its folder; where no source is given, a corpus by its origin, PEER/NAME"},
		{peer.ErrDenied, api.CodeDenied, "see the lists: arborist peer deny; take something off: arborist peer deny PEER --remove, or: arborist peer allow PEER --remove"},
		{peer.ErrSelf, api.CodeUsage, "name another node"},
		{peer.ErrNoService, api.CodeUnavailable, ""},
		{peer.ErrNoAnswers, api.CodeUnavailable, "its owner can turn that on: answer_queries in config.toml"},
		{peer.ErrRelayed, api.CodeUnavailable, "a hole is punched between two running daemons with hole_punching, over QUIC (UDP), where their routers let it: otherwise open port 4707 of one side to the other, or sync from another peer that follows the corpus"},
		{peer.ErrListen, api.CodeUsage, "listen at /ip4/0.0.0.0/tcp/4707, /ip4/0.0.0.0/udp/4707/quic-v1 or /ip4/0.0.0.0/tcp/4708/ws, for example"},
		{peer.ErrPrivateNetwork, api.CodeUsage, "give listen addresses without quic"},
		{peer.ErrNoProvider, api.CodeNotFound, "join a peer that has it (arborist peer join), or name bootstrap peers in config.toml to look wider"},
		{peer.ErrTable, api.CodeInvalid, "correct peers.json, or move it away: then no peer is remembered, and nobody denied"},
		{peer.ErrListFull, api.CodeFailed, ""},
		{peer.ErrNotListed, api.CodeNotFound, "see the lists: arborist peer deny"},
		{peer.ErrAmbiguous, api.CodeUsage, "list them: arborist peer corpora SOURCE"},
		{peer.ErrNoCorpus, api.CodeNotFound, "list what it serves: arborist peer corpora SOURCE"},
		{peer.ErrTreeDocuments, api.CodeNotFound, "take the whole corpus: arborist peer sync SOURCE CORPUS, then arborist cat ROOT; or ask its publisher for arborist publish --documents"},
		{peer.ErrTreeProofs, api.CodeNotFound, "ask a node: arborist peer prove PEER ROOT CHUNK; or take the corpus and prove it here: arborist peer sync SOURCE CORPUS, then arborist prove ROOT CHUNK"},
		{peer.ErrMissing, api.CodeNotFound, "list what it serves: arborist peer corpora SOURCE"},
		{peer.ErrOwn, api.CodeUsage, "it is here already: arborist corpus list"},
		{peer.ErrTarget, api.CodeUsage, ""},
		{peer.ErrSyncing, api.CodeLocked, "wait for it to end"},
		{peer.ErrUnsyncing, api.CodeLocked, "wait for it to end"},
		{peer.ErrFrozen, api.CodeInvalid, "both signed heads are kept: arborist status names the file; ask the publisher"},
		{peer.ErrKeyFile, api.CodeFailed, ""},

		{corpus.ErrBehind, api.CodeInvalid, "this home is older than what its key has signed: sync the corpus back from a peer that follows it or from where it was published (arborist peer sync FROM ORIGIN; arborist status has the whole command), or bring back a newer backup"},
		{corpus.ErrKept, api.CodeInvalid, "bring keys/corpus-NAME.head back from a backup; or move it away, after a sync of the corpus from a peer that follows it"},
		{corpus.ErrFrozen, api.CodeInvalid, "both signed heads are kept: arborist status names the file; ask the publisher"},
		{corpus.ErrKey, api.CodeInvalid, "bring back the key file of this corpus from a backup"},
		{corpus.ErrNotOwn, api.CodeDenied, "add to a corpus of your own: arborist corpus create NAME"},
		{corpus.ErrName, api.CodeUsage, "see which there are: arborist corpus list, or: arborist peer corpora SOURCE"},
		{corpus.ErrNotFound, api.CodeNotFound, "see which there are: arborist corpus list"},
		{document.ErrCID, api.CodeUsage, "a root starts with bafkrei; arborist query shows it with each hit"},
		{shard.ErrFull, api.CodeFailed, "the disk is full: free some space and run it again; what was acknowledged is kept"},
		{syscall.ENOSPC, api.CodeFailed, "the disk is full: free some space and run it again; what was acknowledged is kept"},
		{syscall.EDQUOT, api.CodeFailed, "the disk quota is used up: free some space and run it again; what was acknowledged is kept"},
		{syscall.EROFS, api.CodeFailed, "a home is written to even by a search: mount its file system so that it can be written; a backup on a medium that cannot be written is read by: arborist --home OTHER restore DIR"},
		{fs.ErrPermission, api.CodeFailed, "check who owns the home and its files, or use another --home"},
		{syscall.ENOTDIR, api.CodeFailed, "--home takes a folder"},
		{context.DeadlineExceeded, api.CodeUnavailable, "try again"},
	}
}

// mendDamaged says what to do about a file in which damage was met.
const mendDamaged = "see all of it: arborist check; then mend it: arborist check --repair"

// mendOf says what to do about a file of this home in which damage was met.
func mendOf(err error) string {
	if errors.Is(err, shard.ErrBroken) || errors.Is(err, shard.ErrLogs) {
		return shard.MendBroken
	}
	return mendDamaged
}

// nextFor says what to do about a file that a query left out; nothing where it is
// none of this home's.
func (n *Node) nextFor(f *shard.FileError) string {
	switch filepath.Dir(f.Path) {
	case n.attached.dir:
		return "attach it again, or leave it out: arborist detach " + filepath.Base(f.Path)
	case n.shared.Dir(), filepath.Dir(n.private.File().Path()):
		return mendOf(f)
	}
	return ""
}

// explain turns an error of the rooms below into an [*api.Error], unless it is
// one already or tells a stranger nothing that its text does not.
func explain(err error) error {
	var known *api.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	var query *shard.QueryError
	if errors.As(err, &query) {
		return api.NewError(api.CodeUsage, err, query.Next)
	}
	for _, e := range explanations() {
		if errors.Is(err, e.err) {
			return api.NewError(e.code, err, e.hint)
		}
	}
	return err
}

func isNotFound(err error) bool {
	return errors.Is(err, corpus.ErrNotFound) || errors.Is(err, shard.ErrNotFound)
}
