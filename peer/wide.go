package peer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ipfs/go-cid"
	dht "github.com/libp2p/go-libp2p-kad-dht"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"github.com/multiformats/go-multihash"
)

// WidePrefix starts the protocol names of the wide-area directory. It is our
// own: the directory holds origins of corpora and nothing of other programs.
const WidePrefix protocol.ID = "/arborist"

// wideProtocol is what the directory speaks.
const wideProtocol = WidePrefix + "/kad/1.0.0"

const (
	maxBootstrap = 32               // peers that the owner names to enter by
	wideReady    = 15 * time.Second // to enter the directory
	provideEvery = 12 * time.Hour   // records are kept for 48 hours
	provideRetry = time.Minute      // also: between looks for corpora that are new
	provideTime  = time.Minute      // for one record
	findTime     = 30 * time.Second // for one look-up
	maxProviders = 20               // taken from one look-up
)

// A WideConfig says how a node takes part in the wide-area directory: who serves
// which corpus. The zero value does not.
type WideConfig struct {
	// Bootstrap are full multiaddrs of nodes to enter by. There are none by
	// default; without any the node takes no part.
	Bootstrap []string
	// Client only asks, and keeps no records for others: for nodes that others
	// cannot reach. A node that listens nowhere, or has relays, is one anyway.
	Client bool
}

// ErrNoDirectory: no node that the owner named to enter the directory by takes part in it.
var ErrNoDirectory = errors.New("no node to enter by takes part in the directory")

// ErrNoProvider: nobody who serves the corpus was found.
var ErrNoProvider = errors.New("nobody was found who serves it")

// A wide is the node's part in the directory: Kademlia with one record per
// corpus and serving node.
type wide struct {
	peer  *Peer
	dht   *dht.IpfsDHT
	entry []libpeer.AddrInfo

	mu   sync.Mutex
	done map[string]time.Time // when an origin was provided, the last time
}

func (c WideConfig) entry() ([]libpeer.AddrInfo, error) {
	if len(c.Bootstrap) > maxBootstrap {
		return nil, fmt.Errorf("enter the directory: %d peers are too many, at most %d", len(c.Bootstrap), maxBootstrap)
	}
	return addrInfos("enter the directory by", c.Bootstrap)
}

// private reports whether the directory is one of a local network: then private
// addresses are worth something in it, and nobody is dialled there otherwise.
func private(entry []libpeer.AddrInfo) bool {
	for _, info := range entry {
		for _, a := range info.Addrs {
			if manet.IsPrivateAddr(a) || manet.IsIPLoopback(a) {
				return true
			}
		}
	}
	return false
}

// openWide starts taking part. The gater lets the directory dial from then on.
func (p *Peer) openWide(entry []libpeer.AddrInfo) (*wide, error) {
	local := private(entry)
	for _, info := range entry {
		p.gater.want(info)
	}
	p.gater.openTo(local)
	mode := dht.ModeServer
	if p.cfg.Wide.Client || len(p.cfg.Listen) == 0 || len(p.cfg.Reach.Relays) > 0 {
		mode = dht.ModeClient
	}
	opts := []dht.Option{
		dht.ProtocolPrefix(WidePrefix), dht.Mode(mode), dht.BootstrapPeers(entry...),
		dht.DisableValues(), dht.Datastore(newRecords()),
		dht.AddressFilter(func(addrs []ma.Multiaddr) []ma.Multiaddr { return worthSharing(addrs, local) }),
	}
	if !local {
		// Many peers of few networks are one attacker more often than not.
		opts = append(opts, dht.RoutingTablePeerDiversityFilter(dht.NewRTPeerDiversityFilter(p.host, 2, 3)))
	}
	d, err := dht.New(p.host, opts...)
	if err != nil {
		return nil, fmt.Errorf("enter the directory: %w", err)
	}
	return &wide{peer: p, dht: d, entry: entry, done: make(map[string]time.Time)}, nil
}

func worthSharing(addrs []ma.Multiaddr, local bool) []ma.Multiaddr {
	out := make([]ma.Multiaddr, 0, min(len(addrs), maxPeerAddrs))
	for _, a := range addrs {
		if len(out) < maxPeerAddrs && (manet.IsPublicAddr(a) || local && !manet.IsIPUnspecified(a) || isRelayed(a)) {
			out = append(out, a)
		}
	}
	return out
}

// corpusKey is the name of a corpus in the directory.
func corpusKey(origin string) cid.Cid {
	sum := sha256.Sum256([]byte("arborist-corpus/1\n" + origin))
	hash, err := multihash.Encode(sum[:], multihash.SHA2_256)
	if err != nil {
		panic(err) // a known hash of its own length
	}
	return cid.NewCidV1(cid.Raw, hash)
}

// enter waits until somebody of the directory is known.
func (w *wide) enter(ctx context.Context) error {
	if w.dht.RoutingTable().Size() > 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, wideReady)
	defer cancel()
	others := w.others()
	var dials sync.WaitGroup
	for _, info := range others {
		dials.Go(func() { w.peer.host.Connect(ctx, info) })
	}
	dials.Wait()
	if err := w.outsiders(others); err != nil {
		return fmt.Errorf("enter the directory: %w", err)
	}
	select {
	case <-w.dht.RefreshRoutingTable():
	case <-ctx.Done():
	}
	for w.dht.RoutingTable().Size() == 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("enter the directory: %w: none of its %d peers answers", ErrUnavailable, len(others))
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// others are the nodes to enter by without this one: all of a group can have the
// same list, and the first of it names itself.
func (w *wide) others() []libpeer.AddrInfo {
	return slices.DeleteFunc(slices.Clone(w.entry), func(info libpeer.AddrInfo) bool { return info.ID == w.peer.id.id })
}

// outsiders fails where all nodes to enter by are connected and none takes part
// itself: that waiting longer does not change.
func (w *wide) outsiders(entry []libpeer.AddrInfo) error {
	var ids []string
	for _, info := range entry {
		known, err := w.peer.host.Peerstore().GetProtocols(info.ID)
		if err != nil || len(known) == 0 || slices.Contains(known, wideProtocol) || w.peer.host.Network().Connectedness(info.ID) != network.Connected {
			return nil
		}
		ids = append(ids, info.ID.String())
	}
	if len(ids) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNoDirectory, strings.Join(ids, ", "))
}

// run enters the directory and has it know what is served here, until the peer
// is closed.
func (w *wide) run() {
	look := time.NewTimer(0)
	defer look.Stop()
	for {
		select {
		case <-w.peer.ctx.Done():
			return
		case <-look.C:
		}
		if err := w.enter(w.peer.ctx); err != nil {
			w.peer.log.Debug("the directory is not reached", "error", err)
		} else {
			w.provideAll()
		}
		look.Reset(provideRetry)
	}
}

// provideAll tells the directory of each corpus that is served and that it was
// not told of lately. A node that nobody can reach serves nobody.
func (w *wide) provideAll() {
	if len(w.peer.Addrs()) == 0 {
		return
	}
	infos, err := w.peer.shared.Corpora().List(w.peer.ctx)
	if err != nil {
		w.peer.log.Warn("cannot list corpora to announce", "error", err)
		return
	}
	for _, c := range infos {
		w.mu.Lock()
		at, told := w.done[c.Origin]
		w.mu.Unlock()
		if c.Size == 0 || c.Frozen || told && time.Since(at) < provideEvery {
			continue
		}
		ctx, cancel := context.WithTimeout(w.peer.ctx, provideTime)
		err := w.dht.Provide(ctx, corpusKey(c.Origin), true)
		cancel()
		if err != nil {
			w.peer.log.Debug("corpus not announced", "corpus", c.Origin, "error", err)
			continue
		}
		w.mu.Lock()
		w.done[c.Origin] = time.Now()
		w.mu.Unlock()
	}
}

// find asks the directory who serves a corpus.
func (w *wide) find(ctx context.Context, origin string) ([]libpeer.AddrInfo, error) {
	if err := w.enter(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	var found []libpeer.AddrInfo
	for info := range w.dht.FindProvidersAsync(ctx, corpusKey(origin), maxProviders) {
		if info.ID != w.peer.id.id {
			found = append(found, info)
		}
	}
	return found, nil
}

// publisher looks for a peer by its ID.
func (w *wide) publisher(ctx context.Context, id libpeer.ID) (libpeer.AddrInfo, error) {
	if err := w.enter(ctx); err != nil {
		return libpeer.AddrInfo{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	return w.dht.FindPeer(ctx, id)
}

// close ends the node's part in the directory.
func (w *wide) close() error { return w.dht.Close() }
