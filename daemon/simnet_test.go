package daemon

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/metrics"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"arborist/internal/arbtest/netsim"
	"arborist/internal/arbtest/spread"
	"arborist/peer"
)

// A simNode is a whole node, all but its unix socket, at an address of a
// simulated network.
type simNode struct {
	*Node
	addr string // full multiaddr
	sent *sentBytes
	took *syncsTaken
}

// startNodes starts nodes in a network with the lines and latencies of cfg, whose
// configuration has these lines below [peer].
func startNodes(t *testing.T, cfg spread.Config, config func(i int, first simNode) string) []simNode {
	t.Helper()
	r := rand.New(rand.NewPCG(cfg.Seed, 3))
	network := netsim.New(t, cfg.Up, func() time.Duration { return spread.Latency(cfg.Latency, r) })
	dir := tmpfs(t)
	nodes := make([]simNode, cfg.Nodes)
	for i := range nodes {
		home := Home(filepath.Join(dir, strconv.Itoa(i)))
		if _, err := Init(t.Context(), home, 1); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(home.Config(), []byte("format = 1\n[peer]\n"+config(i, nodes[0])), 0o600); err != nil {
			t.Fatal(err)
		}
		nodes[i] = startNode(t, network, home, i)
	}
	t.Cleanup(func() {
		var closing sync.WaitGroup
		for _, n := range nodes {
			closing.Go(func() {
				if err := n.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		closing.Wait()
	})
	return nodes
}

func startNode(t *testing.T, network *netsim.Network, home Home, i int) simNode {
	t.Helper()
	n := simNode{sent: &sentBytes{of: make(map[string]sentOf)}, took: &syncsTaken{from: make(map[[2]string]int64)}}
	var err error
	n.Node, err = Open(t.Context(), Options{Home: home, Listen: []string{netsim.Addr(i)},
		Transports: libp2p.ChainOptions(network.Transports(), libp2p.BandwidthReporter(n.sent))})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.listenForPeers(); err != nil {
		t.Fatal(err)
	}
	n.took.syncPeer, n.follower.net = n.follower.net, n.took
	n.startGuard()
	id, err := n.PeerID(t.Context())
	if err != nil || len(id.Addrs) != 1 {
		t.Fatal(id, err)
	}
	n.addr = id.Addrs[0]
	return n
}

// tmpfs returns a folder in memory where the machine has one: 1,000 homes would
// be busy with fsync on a disk.
func tmpfs(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "arborist-sim")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// syncsTaken is a [syncPeer] that counts the bytes of documents that syncs took,
// by corpus and source.
type syncsTaken struct {
	syncPeer
	mu   sync.Mutex
	from map[[2]string]int64
}

func (s *syncsTaken) Sync(ctx context.Context, from, corpus string, fn func(peer.Progress)) (peer.SyncResult, error) {
	res, err := s.syncPeer.Sync(ctx, from, corpus, fn)
	s.count(res)
	return res, err
}

func (s *syncsTaken) SyncFound(ctx context.Context, origin string, fn func(peer.Progress)) (peer.SyncResult, error) {
	res, err := s.syncPeer.SyncFound(ctx, origin, fn)
	s.count(res)
	return res, err
}

func (s *syncsTaken) count(res peer.SyncResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range res.Sources {
		s.from[[2]string{res.Origin, u.Source}] += u.Bytes
	}
}

// publishers sums up what was taken, and how much of it from publishers.
func (s *syncsTaken) publishers() (all, publishers int64) {
	for k, n := range s.from {
		all += n
		if strings.HasPrefix(k[0], k[1]+"/") {
			publishers += n
		}
	}
	return all, publishers
}

// sentOf is what was sent for one purpose: pieces as they were written, and
// their bytes.
type sentOf struct{ writes, bytes int64 }

// sentBytes is a [metrics.Reporter] of what a node sends in streams, without
// what QUIC adds.
type sentBytes struct {
	metrics.Reporter
	mu sync.Mutex
	of map[string]sentOf
}

func (s *sentBytes) LogSentMessageStream(n int64, p protocol.ID, _ libpeer.ID) {
	purpose := "other"
	switch {
	case p == peer.ProtocolID:
		purpose = "corpora"
	case strings.HasPrefix(string(p), "/meshsub/") && n >= noteAtLeast:
		purpose = "heads"
	case strings.HasPrefix(string(p), "/meshsub/"):
		purpose = "gossip"
	case strings.HasPrefix(string(p), string(peer.WidePrefix)+"/kad/"):
		purpose = "directory"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.of[purpose]
	s.of[purpose] = sentOf{c.writes + 1, c.bytes + n}
}

func (s *sentBytes) LogSentMessage(int64)                                     {}
func (s *sentBytes) LogRecvMessage(int64)                                     {}
func (s *sentBytes) LogRecvMessageStream(int64, protocol.ID, libpeer.ID)      {}
func (s *sentBytes) GetBandwidthForPeer(libpeer.ID) (none metrics.Stats)      { return }
func (s *sentBytes) GetBandwidthForProtocol(protocol.ID) (none metrics.Stats) { return }

// noteAtLeast is the size of a signed head. A message of gossip that is smaller
// announces none: it says who listens to what and which announcements there are.
const noteAtLeast = 300

// totals sums up what all nodes have sent, by what it is for.
func totals(nodes []simNode) map[string]sentOf {
	sum := make(map[string]sentOf)
	for _, n := range nodes {
		n.sent.mu.Lock()
		for purpose, c := range n.sent.of {
			sum[purpose] = sentOf{sum[purpose].writes + c.writes, sum[purpose].bytes + c.bytes}
		}
		n.sent.mu.Unlock()
	}
	return sum
}
