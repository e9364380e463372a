package api

import (
	"context"

	"arborist/document"
)

// Add implements [Ingester].
func (c *Client) Add(ctx context.Context, req AddRequest, fn ProgressFunc) (AddResult, error) {
	return follow[AddResult](ctx, c, pathAdd, req, fn)
}

// Crawl implements [Ingester].
func (c *Client) Crawl(ctx context.Context, req CrawlRequest, fn ProgressFunc) (CrawlResult, error) {
	return follow[CrawlResult](ctx, c, pathCrawl, req, fn)
}

// Recheck implements [Ingester].
func (c *Client) Recheck(ctx context.Context, req RecheckRequest, fn ProgressFunc) (RecheckResult, error) {
	return follow[RecheckResult](ctx, c, pathRecheck, req, fn)
}

// Export implements [Carrier].
func (c *Client) Export(ctx context.Context, req ExportRequest, fn ProgressFunc) (ExportResult, error) {
	return follow[ExportResult](ctx, c, pathExport, req, fn)
}

// CrawlReport implements [Auditor].
func (c *Client) CrawlReport(ctx context.Context, req CrawlReportRequest, fn ProgressFunc) (CrawlReportResult, error) {
	return follow[CrawlReportResult](ctx, c, pathCrawlReport, req, fn)
}

// CrawlSites implements [SiteCrawler].
func (c *Client) CrawlSites(ctx context.Context, req CrawlSitesRequest, fn ProgressFunc) (CrawlSitesResult, error) {
	return follow[CrawlSitesResult](ctx, c, pathCrawlSites, req, fn)
}

// CountSites implements [SiteCrawler].
func (c *Client) CountSites(ctx context.Context, req CrawlSitesRequest) (SiteCounts, error) {
	return ask[SiteCounts](ctx, c, pathCountSites, req)
}

// Import implements [Carrier].
func (c *Client) Import(ctx context.Context, req ImportRequest, fn ProgressFunc) (AddResult, error) {
	return follow[AddResult](ctx, c, pathImport, req, fn)
}

// Query implements [Finder].
func (c *Client) Query(ctx context.Context, req QueryRequest) (QueryResult, error) {
	return ask[QueryResult](ctx, c, pathQuery, req)
}

// Prove implements [Finder].
func (c *Client) Prove(ctx context.Context, req ProveRequest) (ProveResult, error) {
	return ask[ProveResult](ctx, c, pathProve, req)
}

// Text implements [Reader].
func (c *Client) Text(ctx context.Context, root document.Root) ([]byte, error) {
	res, err := ask[textResult](ctx, c, pathText, nameRequest{root.String()})
	return res.Text, err
}

// Show implements [Reader].
func (c *Client) Show(ctx context.Context, rootOrURI string) (ShowResult, error) {
	return ask[ShowResult](ctx, c, pathShow, nameRequest{rootOrURI})
}

// History implements [Reader].
func (c *Client) History(ctx context.Context, uri string) (HistoryResult, error) {
	return ask[HistoryResult](ctx, c, pathHistory, nameRequest{uri})
}

// ListCorpora implements [Corpora].
func (c *Client) ListCorpora(ctx context.Context) (CorporaResult, error) {
	return ask[CorporaResult](ctx, c, pathCorpora, empty{})
}

// CorpusAt implements [Corpora].
func (c *Client) CorpusAt(ctx context.Context, req CorpusAtRequest) (CorpusAtResult, error) {
	return ask[CorpusAtResult](ctx, c, pathCorpusAt, req)
}

// CreateCorpus implements [Corpora].
func (c *Client) CreateCorpus(ctx context.Context, name string) (CorpusInfo, error) {
	return ask[CorpusInfo](ctx, c, pathCorpusNew, nameRequest{name})
}

// CorpusKey implements [Corpora].
func (c *Client) CorpusKey(ctx context.Context, name string) (CorpusKeyResult, error) {
	return ask[CorpusKeyResult](ctx, c, pathCorpusKey, nameRequest{name})
}

// WitnessCorpus implements [Corpora].
func (c *Client) WitnessCorpus(ctx context.Context, req WitnessRequest) (CorpusInfo, error) {
	return ask[CorpusInfo](ctx, c, pathWitness, req)
}

// WitnessKey implements [Network].
func (c *Client) WitnessKey(ctx context.Context) (WitnessKeyResult, error) {
	return ask[WitnessKeyResult](ctx, c, pathWitnessKey, empty{})
}

// RotateCorpus implements [Corpora].
func (c *Client) RotateCorpus(ctx context.Context, name string) (CorpusInfo, error) {
	return ask[CorpusInfo](ctx, c, pathRotate, nameRequest{name})
}

// RetireCorpusKey implements [Corpora].
func (c *Client) RetireCorpusKey(ctx context.Context, name string) (CorpusInfo, error) {
	return ask[CorpusInfo](ctx, c, pathRetire, nameRequest{name})
}

// ConfirmCorpus implements [Corpora].
func (c *Client) ConfirmCorpus(ctx context.Context, name string) (CorpusInfo, error) {
	return ask[CorpusInfo](ctx, c, pathConfirm, nameRequest{name})
}

// CorpusRotations implements [Corpora].
func (c *Client) CorpusRotations(ctx context.Context, name string) (RotationsResult, error) {
	return ask[RotationsResult](ctx, c, pathRotations, nameRequest{name})
}

// Withdraw implements [Corpora].
func (c *Client) Withdraw(ctx context.Context, req WithdrawRequest) (WithdrawResult, error) {
	return ask[WithdrawResult](ctx, c, pathWithdraw, req)
}

// PeerID implements [Network].
func (c *Client) PeerID(ctx context.Context) (PeerIDResult, error) {
	return ask[PeerIDResult](ctx, c, pathPeerID, empty{})
}

// ListPeers implements [Network].
func (c *Client) ListPeers(ctx context.Context) (PeersResult, error) {
	return ask[PeersResult](ctx, c, pathPeerList, empty{})
}

// Join implements [Network].
func (c *Client) Join(ctx context.Context, addr string) (JoinResult, error) {
	return ask[JoinResult](ctx, c, pathPeerJoin, nameRequest{addr})
}

// PeerCorpora implements [Network].
func (c *Client) PeerCorpora(ctx context.Context, peer string) (CorporaResult, error) {
	return ask[CorporaResult](ctx, c, pathPeerCorpora, nameRequest{peer})
}

// Sync implements [Network].
func (c *Client) Sync(ctx context.Context, req SyncRequest, fn ProgressFunc) (SyncResult, error) {
	return follow[SyncResult](ctx, c, pathPeerSync, req, fn)
}

// NetworkKey implements [Neighbourhood].
func (c *Client) NetworkKey(ctx context.Context, req NetworkKeyRequest) (NetworkKeyResult, error) {
	return ask[NetworkKeyResult](ctx, c, pathNetworkKey, req)
}

// KnownPeers implements [Neighbourhood].
func (c *Client) KnownPeers(ctx context.Context) (PeersResult, error) {
	return ask[PeersResult](ctx, c, pathPeerKnown, empty{})
}

// LeavePeer implements [Neighbourhood].
func (c *Client) LeavePeer(ctx context.Context, peer string) (JoinResult, error) {
	return ask[JoinResult](ctx, c, pathPeerLeave, nameRequest{peer})
}

// FindCorpus implements [Neighbourhood].
func (c *Client) FindCorpus(ctx context.Context, origin string) (FindResult, error) {
	return ask[FindResult](ctx, c, pathPeerFind, nameRequest{origin})
}

// FollowCorpus implements [Neighbourhood].
func (c *Client) FollowCorpus(ctx context.Context, req FollowRequest) (FollowResult, error) {
	return ask[FollowResult](ctx, c, pathPeerFollow, req)
}

// PeerLists implements [Neighbourhood].
func (c *Client) PeerLists(ctx context.Context, req PeerListsRequest) (PeerListsResult, error) {
	return ask[PeerListsResult](ctx, c, pathPeerLists, req)
}

// Unsync implements [Network].
func (c *Client) Unsync(ctx context.Context, req UnsyncRequest, fn ProgressFunc) (UnsyncResult, error) {
	return follow[UnsyncResult](ctx, c, pathPeerUnsync, req, fn)
}

// Publish implements [Network].
func (c *Client) Publish(ctx context.Context, req PublishRequest, fn ProgressFunc) (PublishResult, error) {
	return follow[PublishResult](ctx, c, pathPublish, req, fn)
}

// Attach implements [Attacher].
func (c *Client) Attach(ctx context.Context, path string) (AttachResult, error) {
	return ask[AttachResult](ctx, c, pathAttach, nameRequest{path})
}

// Detach implements [Attacher].
func (c *Client) Detach(ctx context.Context, nameOrPath string) (AttachedFile, error) {
	return ask[AttachedFile](ctx, c, pathDetach, nameRequest{nameOrPath})
}

// Status implements [Keeper].
func (c *Client) Status(ctx context.Context) (StatusResult, error) {
	return ask[StatusResult](ctx, c, pathStatus, empty{})
}

// Check implements [Keeper].
func (c *Client) Check(ctx context.Context) (CheckResult, error) {
	return ask[CheckResult](ctx, c, pathCheck, empty{})
}

// CheckWith implements [Keeper].
func (c *Client) CheckWith(ctx context.Context, req CheckRequest) (CheckResult, error) {
	return ask[CheckResult](ctx, c, pathCheckWith, req)
}

// Backup implements [Keeper].
func (c *Client) Backup(ctx context.Context, req BackupRequest, fn ProgressFunc) (BackupResult, error) {
	return follow[BackupResult](ctx, c, pathBackup, req, fn)
}
