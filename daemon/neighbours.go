package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"arborist/daemon/api"
	"arborist/peer"
)

// peerTable returns what is remembered of peers. The caller holds netMu.
func (n *Node) peerTable() (*peer.Table, error) {
	if n.table == nil {
		table, err := peer.OpenTable(n.home.Peers())
		if err != nil {
			return nil, explain(err)
		}
		n.table = table
	}
	return n.table, nil
}

// KnownPeers implements [api.Neighbourhood]. It never brings the network up.
func (n *Node) KnownPeers(context.Context) (api.PeersResult, error) {
	n.netMu.Lock()
	defer n.netMu.Unlock()
	res := api.PeersResult{Peers: []api.PeerInfo{}}
	table, err := n.peerTable()
	if err != nil {
		return res, err
	}
	known := table.Known()
	if n.net != nil {
		known = n.net.Known()
	}
	res.Peers = append(res.Peers, peerInfos(known)...)
	return res, nil
}

func peerInfos(peers []peer.Info) (infos []api.PeerInfo) {
	moment := func(at time.Time) *time.Time {
		if at.IsZero() {
			return nil
		}
		at = at.UTC().Truncate(time.Second)
		return &at
	}
	for _, p := range peers {
		infos = append(infos, api.PeerInfo{
			PeerID: p.ID, Connected: p.Connected, Addrs: append([]string{}, p.Addrs...), Direction: p.Direction,
			LatencyMS: float64(p.Latency.Microseconds()) / 1000,
			Relayed:   p.Relayed, Joined: p.Joined, Corpora: append([]string{}, p.Corpora...), BytesIn: p.BytesIn, BytesOut: p.BytesOut,
			LimitsHit: p.LimitsHit, Score: p.Score, AwayUntil: moment(p.AwayUntil), LastSeen: moment(p.Seen),
		})
	}
	return infos
}

// LeavePeer implements [api.Neighbourhood].
func (n *Node) LeavePeer(_ context.Context, id string) (api.JoinResult, error) {
	p, err := n.network()
	if err != nil {
		return api.JoinResult{}, err
	}
	left, err := p.Leave(id)
	if errors.Is(err, peer.ErrNotConnected) {
		return api.JoinResult{}, api.NewError(api.CodeNotFound, err, "see which there are: arborist peer list --all")
	}
	return api.JoinResult{PeerID: left}, explain(err)
}

// FindCorpus implements [api.Neighbourhood].
func (n *Node) FindCorpus(ctx context.Context, origin string) (api.FindResult, error) {
	res := api.FindResult{Origin: origin, Peers: []api.FoundPeer{}}
	p, err := n.network()
	if err != nil {
		return res, err
	}
	found, err := p.Find(ctx, origin)
	if err != nil {
		return res, explain(err)
	}
	for _, f := range found {
		res.Peers = append(res.Peers, api.FoundPeer{PeerID: f.Peer, Addrs: append([]string{}, f.Addrs...), How: f.How})
	}
	return res, nil
}

// FollowCorpus implements [api.Neighbourhood]. It never brings the network up.
func (n *Node) FollowCorpus(ctx context.Context, req api.FollowRequest) (api.FollowResult, error) {
	res := api.FollowResult{Follow: []string{}, All: n.cfg.Peer.FollowAll}
	if req.Origin != "" && !req.Off {
		info, err := n.lookupCorpus(ctx, req.Origin)
		if err != nil {
			return res, err
		}
		if info.Own {
			return res, explain(fmt.Errorf("follow %s: %w", req.Origin, peer.ErrOwn))
		}
		req.Origin = info.Origin
	}
	n.netMu.Lock()
	defer n.netMu.Unlock()
	table, err := n.peerTable()
	if err != nil {
		return res, err
	}
	if req.Origin != "" {
		if err := table.Follow(req.Origin, !req.Off); err != nil {
			return res, explain(fmt.Errorf("follow: %w", err))
		}
		if !req.Off && n.net != nil {
			for _, p := range n.net.Peers() {
				n.guard.again(p.ID) // what was heard before was not followed up
			}
		}
	}
	res.Follow = append(res.Follow, table.Following()...)
	return res, nil
}

// PeerLists implements [api.Neighbourhood]. It never brings the network up.
func (n *Node) PeerLists(_ context.Context, req api.PeerListsRequest) (api.PeerListsResult, error) {
	n.netMu.Lock()
	defer n.netMu.Unlock()
	res := api.PeerListsResult{Allow: []string{}, Deny: []string{}}
	table, err := n.peerTable()
	if err != nil {
		return res, err
	}
	if req.Entry != "" {
		if err := n.editList(table, req); err != nil {
			return res, err
		}
	}
	allow, deny := table.Lists()
	res.Allow, res.Deny = append(res.Allow, allow...), append(res.Deny, deny...)
	return res, nil
}

// editList changes a list and has it count at once. The caller holds netMu.
func (n *Node) editList(table *peer.Table, req api.PeerListsRequest) error {
	list := peer.List(req.List)
	if list != peer.ListAllow && list != peer.ListDeny {
		return api.NewError(api.CodeUsage, fmt.Errorf("%q is no list", req.List), "allow or deny")
	}
	edit := table.Put
	if req.Remove {
		edit = table.Drop
	}
	if err := edit(list, req.Entry); err != nil {
		return explain(fmt.Errorf("%s: %w", list, err))
	}
	if n.net == nil {
		return nil
	}
	return explain(n.net.Recheck())
}
