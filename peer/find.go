package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
)

// foundTime is how long the addresses of a peer that was found are kept.
const foundTime = 30 * time.Minute

// How a provider became known.
const (
	FoundKnown     = "known"     // it said so before, or the owner joined it
	FoundConnected = "connected" // it is connected and has the corpus
	FoundPublisher = "publisher" // the corpus is its own
	FoundDirectory = "directory" // the wide-area directory names it
)

// A Provider is a peer that may serve a corpus. Nothing about it is verified:
// whoever says that it serves a corpus may not, or may serve an old head.
type Provider struct {
	Peer  string
	Addrs []string
	How   string
}

// Find looks for peers that serve a corpus, named by its origin: among those
// that are known, among those that are connected, its publisher, and in the
// directory where this node takes part in it. The ways are independent of each
// other, so that whoever controls one of them hides nobody. Those of the
// owner's choice come first. Nobody at all is [ErrNoProvider].
func (p *Peer) Find(ctx context.Context, origin string) ([]Provider, error) {
	ctx, leave, err := p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	id, err := ParseCorpusID(origin)
	if err != nil {
		return nil, fmt.Errorf("find: %w: %w", ErrAddress, err)
	}
	return p.find(ctx, id)
}

func (p *Peer) find(ctx context.Context, id CorpusID) ([]Provider, error) {
	var found []Provider
	add := func(who libpeer.ID, how string, addrs []ma.Multiaddr) {
		known := slices.ContainsFunc(found, func(f Provider) bool { return f.Peer == who.String() })
		if known || who == p.id.id || !p.gater.allowsPeer(who) {
			return
		}
		p.host.Peerstore().AddAddrs(who, addrs, foundTime)
		f := Provider{Peer: who.String(), How: how}
		for _, a := range addrs[:min(len(addrs), maxPeerAddrs)] {
			f.Addrs = append(f.Addrs, a.String())
		}
		found = append(found, f)
	}
	for _, who := range p.table.servers(id.String()) {
		add(who, FoundKnown, p.addrsOf(who))
	}
	for _, who := range p.holders(ctx, id) {
		add(who, FoundConnected, p.addrsOf(who))
	}
	if addrs := p.addrsOf(id.publisher); len(addrs) > 0 {
		add(id.publisher, FoundPublisher, addrs)
	}
	failed := fmt.Errorf("the directory was not asked: this node takes no part in it")
	if p.wide != nil {
		// Its own record, if it keeps one, is found by its ID and not by the
		// corpus: another part of the directory.
		if info, err := p.wide.publisher(ctx, id.publisher); err == nil {
			add(info.ID, FoundPublisher, info.Addrs)
		}
		var infos []libpeer.AddrInfo
		infos, failed = p.wide.find(ctx, id.String())
		for _, info := range infos {
			add(info.ID, FoundDirectory, info.Addrs)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("find %s: %w", id, cmp.Or(wrap(ErrNoProvider, failed), ErrNoProvider))
	}
	return found, nil
}

func wrap(err, cause error) error {
	if cause == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// holders asks the connected peers for the head of a corpus, and returns those
// that have one.
func (p *Peer) holders(ctx context.Context, id CorpusID) (have []libpeer.ID) {
	heads, err := p.Heads(ctx, id.String())
	if err != nil {
		return nil
	}
	for _, h := range heads {
		if who, err := parsePeerID(h.Peer); err == nil && h.Err == nil {
			have = append(have, who)
		}
	}
	return have
}

func (p *Peer) addrsOf(id libpeer.ID) []ma.Multiaddr {
	if p.host.Network().Connectedness(id) == network.Connected {
		var addrs []ma.Multiaddr
		for _, c := range p.host.Network().ConnsToPeer(id) {
			if at := c.RemoteMultiaddr(); !slices.ContainsFunc(addrs, at.Equal) {
				addrs = append(addrs, at)
			}
		}
		return addrs
	}
	return p.table.addrs(id)
}

// SyncFound is [Peer.Sync] from whoever serves the corpus: it finds them, and
// asks all that can be reached at once, so that nobody who serves an old head or
// nothing hides what somebody else has.
func (p *Peer) SyncFound(ctx context.Context, origin string, progress func(Progress)) (SyncResult, error) {
	return p.syncFound(ctx, SyncRequest{Corpus: origin, Progress: progress})
}

func (p *Peer) syncFound(ctx context.Context, req SyncRequest) (SyncResult, error) {
	if req.Progress != nil {
		req.Progress(Progress{Stage: "find"})
	}
	found, err := p.Find(ctx, req.Corpus)
	if err != nil {
		return SyncResult{Origin: req.Corpus}, err
	}
	if req.From, err = p.reachable(ctx, found); len(req.From) == 0 {
		return SyncResult{Origin: req.Corpus}, fmt.Errorf("sync %s: %w: of %d peers none is reached: %w", req.Corpus, ErrNoProvider, len(found), err)
	}
	res, err := p.SyncFrom(ctx, req)
	if err != nil && !final(ctx, err) {
		err = fmt.Errorf("%w among %d peers: %w", ErrNoProvider, len(req.From), err)
	}
	return res, err
}

// reachable connects to those who were found, all at once, and returns those
// that it reaches, in their order and not more than one sync takes.
func (p *Peer) reachable(ctx context.Context, found []Provider) (ids []string, failed error) {
	failures := make([]error, len(found))
	var dials sync.WaitGroup
	for i, f := range found {
		dials.Go(func() {
			id, err := parsePeerID(f.Peer)
			if err == nil {
				err = p.reach(ctx, id)
			}
			failures[i] = err
		})
	}
	dials.Wait()
	for i, f := range found {
		if failures[i] == nil && len(ids) < maxSources {
			ids = append(ids, f.Peer)
		}
	}
	return ids, errors.Join(failures...)
}

// final reports whether another source cannot help.
func final(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	for _, e := range []error{ErrOwn, ErrSyncing, ErrUnsyncing, ErrFrozen, ErrEquivocation, ErrClosed, ErrNewer} {
		if errors.Is(err, e) {
			return true
		}
	}
	var fault *SourceError
	return !errors.As(err, &fault) && !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrNotConnected)
}
