package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"

	"arborist/daemon/api"
	"arborist/peer"
	"arborist/shard/corpus"
)

// defaultPort is where a daemon listens unless it is told otherwise.
const defaultPort = 4707

// defaultListen returns the usual addresses on a port; there is no QUIC in a
// private network.
func defaultListen(port uint16, private bool) []string {
	listen := peer.DefaultListen(port)
	if private {
		listen = slices.DeleteFunc(listen, func(a string) bool { return strings.Contains(a, "/quic") })
	}
	return listen
}

// listenForPeers brings the network up so that peers can reach this node.
func (n *Node) listenForPeers() error {
	n.netMu.Lock()
	defer n.netMu.Unlock()
	listen := n.listen
	if len(listen) > 0 {
		return n.startNet(listen)
	}
	key, err := n.networkKeyFile()
	if err != nil {
		return err
	}
	err = n.startNet(defaultListen(defaultPort, key != ""))
	if errors.Is(err, syscall.EADDRINUSE) {
		n.log.Warn("port is taken, listening at a free one", "port", defaultPort)
		err = n.startNet(defaultListen(0, key != ""))
	}
	return err
}

// startNet starts the peer host. The caller holds netMu.
func (n *Node) startNet(listen []string) error {
	key, err := n.networkKeyFile()
	if err != nil {
		return err
	}
	table, err := n.peerTable()
	if err != nil {
		return err
	}
	g := newGuard(n.shared.Corpora(), n.cfg.headsEvery(), n.log)
	follows := func(origin string) bool { return n.cfg.Peer.FollowAll || table.Follows(origin) }
	f := newFollower(n.shared.Corpora(), follows, n.writable, n.log)
	g.grown, g.agreed = f.announced, n.agreed
	p, err := peer.New(peer.Config{
		Serve:       peer.ServeConfig{Search: n.cfg.Peer.AnswerQueries, MaxUpload: n.cfg.Peer.MaxUploadKiB << 10},
		Gateway:     n.cfg.Peer.Gateway,
		MaxDownload: n.cfg.Peer.MaxDownloadKiB << 10,
		KeyFile:     n.home.PeerKey(), NetworkKeyFile: key, Listen: listen, Announce: n.cfg.Peer.Announce, Transports: n.transports, Arrived: g.arrived, Log: n.log,
		Wide:   peer.WideConfig{Bootstrap: n.cfg.Peer.Bootstrap, Client: n.cfg.Peer.DirectoryClient},
		Gossip: n.cfg.gossip() && len(listen) > 0, Announced: func(origin, peer string, size uint64) {
			f.announced(origin, peer, size)
			g.arrived(peer) // its head is fetched and weighed, followed by itself or not
		},
		Rekeyed: func(origin, peer, key string) {
			f.rekeyed(origin, peer, key)
			g.arrived(peer) // of an own corpus: it was changed after the backup that this home is of
		},
		Missed: g.again,
		LAN:    n.cfg.Peer.LAN && len(listen) > 0,
		Table:  table, Reconnect: len(listen) > 0, // a command that is over in a moment joins nobody
		Follows: func(origin string) bool {
			info, err := n.shared.Corpora().Lookup(context.Background(), origin)
			return err == nil && !info.Own && follows(origin)
		},
		Reach: peer.ReachConfig{HolePunching: n.cfg.Peer.HolePunching, Relays: n.cfg.Peer.Relays, RelayService: n.cfg.Peer.RelayService},
	}, n.shared)
	if err != nil {
		return explain(err)
	}
	g.net, f.net = p, p
	n.net, n.guard, n.follower = p, g, f
	return nil
}

// startGuard has peers asked for heads until the node is closed.
func (n *Node) startGuard() {
	n.netMu.Lock()
	defer n.netMu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	g, f := n.guard, n.follower
	go func() {
		defer close(done)
		var both sync.WaitGroup
		both.Go(func() { f.run(ctx) })
		both.Go(func() { n.makeFilters(ctx) })
		g.run(ctx)
		both.Wait()
	}()
	n.stopGuard = func() {
		cancel()
		<-done
	}
}

// beforeAppend asks the peers for what an own corpus has signed, where the
// network is up. It refuses where one shows that its key was changed since, and
// where the corpus was restored and nobody has shown that nothing is missing.
func (n *Node) beforeAppend(ctx context.Context, info corpus.Info) error {
	if g := n.guarding(); g != nil {
		g.beforeAppend(ctx, info.Origin, n.unconfirmed(info) != nil)
		if err := outdated(g, info); err != nil {
			return err
		}
	}
	info, err := n.lookupCorpus(ctx, info.Origin) // as it is after what peers have said
	if err != nil {
		return err
	}
	if info.Seen > info.Size || info.Frozen {
		return nil // the store refuses, and knows more of why
	}
	return n.unconfirmed(info)
}

// guarding returns the guard, nil while the network is off.
func (n *Node) guarding() *guard {
	n.netMu.Lock()
	defer n.netMu.Unlock()
	return n.guard
}

func outdated(g *guard, info corpus.Info) error {
	holder, yes := g.outdated(info)
	if !yes {
		return nil
	}
	return api.NewError(api.CodeInvalid,
		fmt.Errorf("corpus %s: %w: its key was changed after this backup was made, peer %s has the statement", info.Name, corpus.ErrBehind, holder),
		"bring back keys/corpus-"+info.Name+".key as it was after that, then: arborist peer sync "+holder+" "+info.Origin)
}

// network returns the peer host. In a command that opened the home itself it
// comes up here, only to dial: nobody can reach it.
func (n *Node) network() (*peer.Peer, error) {
	n.netMu.Lock()
	defer n.netMu.Unlock()
	if n.net == nil {
		if err := n.startNet(nil); err != nil {
			return nil, err
		}
	}
	return n.net, nil
}

// PeerID implements [api.Network]. It never brings the network up.
func (n *Node) PeerID(context.Context) (api.PeerIDResult, error) {
	n.netMu.Lock()
	defer n.netMu.Unlock()
	res := api.PeerIDResult{PeerID: n.id, Addrs: []string{}}
	if n.web != nil {
		res.HTTP = n.web.URL()
	}
	if n.net != nil {
		res.Addrs = append(res.Addrs, n.net.Addrs()...)
	}
	return res, nil
}

// ListPeers implements [api.Network]. It never brings the network up.
func (n *Node) ListPeers(context.Context) (api.PeersResult, error) {
	n.netMu.Lock()
	defer n.netMu.Unlock()
	res := api.PeersResult{Peers: []api.PeerInfo{}}
	if n.net == nil {
		return res, nil
	}
	res.Peers = append(res.Peers, peerInfos(n.net.Peers())...)
	return res, nil
}

// Join implements [api.Network].
func (n *Node) Join(ctx context.Context, addr string) (api.JoinResult, error) {
	p, err := n.network()
	if err != nil {
		return api.JoinResult{}, err
	}
	id, err := p.Join(ctx, addr)
	if err == nil {
		n.netMu.Lock()
		if n.guard != nil {
			n.guard.again(id)
		}
		n.netMu.Unlock()
	}
	return api.JoinResult{PeerID: id}, explain(err)
}

// PeerCorpora implements [api.Network].
func (n *Node) PeerCorpora(ctx context.Context, id string) (api.CorporaResult, error) {
	res := api.CorporaResult{Corpora: []api.CorpusInfo{}}
	p, err := n.network()
	if err != nil {
		return res, err
	}
	list, err := p.Corpora(ctx, id)
	if err != nil {
		return res, explain(err)
	}
	for _, c := range list {
		res.Corpora = append(res.Corpora, api.CorpusInfo{
			Name: c.Name, Publisher: c.Publisher, Origin: c.Origin,
			Size: c.Size, Documents: c.Documents, Head: c.Head, Peer: c.Peer,
		})
	}
	return res, nil
}

// Sync implements [api.Network].
func (n *Node) Sync(ctx context.Context, req api.SyncRequest, fn api.ProgressFunc) (res api.SyncResult, err error) {
	if req.Corpus == "" {
		return res, api.NewError(api.CodeUsage, errors.New("sync: no corpus named"), "arborist peer sync PEER CORPUS")
	}
	p, err := n.network()
	if err != nil {
		return res, err
	}
	if err := n.writable(); err != nil {
		return res, err
	}
	if req.MaxRate < 0 {
		return res, api.NewError(api.CodeUsage, fmt.Errorf("sync: %d bytes a second, want more than 0", req.MaxRate), "")
	}
	progress := func(g peer.Progress) {
		if fn != nil {
			fn(api.Progress{Stage: g.Stage, Done: int64(g.Documents), Total: int64(g.Total), Bytes: g.Bytes})
		}
	}
	from := req.More
	if req.From != "" {
		from = append([]string{req.From}, req.More...)
	}
	got, err := p.SyncFrom(ctx, peer.SyncRequest{From: from, Corpus: req.Corpus, MaxRate: req.MaxRate, Progress: progress})
	res = api.SyncResult{
		Documents: got.Documents, Chunks: got.Chunks, Bytes: got.Bytes,
		Verified: got.Verified, Resumed: got.Resumed, Sources: []api.SourceUse{},
		DurableMS: got.Durable.Milliseconds(), TookMS: got.Took.Milliseconds(),
	}
	for _, u := range got.Sources {
		use := api.SourceUse{Source: u.Source, Bytes: u.Bytes}
		if u.Err != nil {
			use.Error = u.Err.Error()
		}
		res.Sources = append(res.Sources, use)
	}
	if err != nil {
		n.wakeIndexer() // for what it brought
		return res, explain(err)
	}
	info, err := n.lookupCorpus(ctx, got.Origin)
	if err != nil {
		return res, err
	}
	res.Corpus = corpusInfo(info)
	if g := n.guarding(); info.Own && g != nil && n.unconfirmed(info) != nil {
		g.beforeAppend(ctx, info.Origin, true) // whoever had it may confirm it at once
	}
	return res, nil
}
