package peer

import (
	"math"
	"net/netip"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/p2p/protocol/autonatv2"
	circuit "github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/proto"
	"github.com/libp2p/go-libp2p/p2p/protocol/holepunch"
	"github.com/libp2p/go-libp2p/p2p/protocol/identify"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"
	"github.com/libp2p/go-libp2p/x/rate"

	"arborist/proof"
)

// Limits of the wire, the same for everybody: docs/protocol.md lists them. A
// client refuses what is over them, so raising one is a new protocol version.
const (
	maxPeerID      = 64      // characters of a peer ID
	maxCorpusList  = 1 << 20 // bytes of "corpora"
	maxCorpora     = 4096    // corpora in it
	maxStatement   = 1 << 10 // bytes of "key"
	maxCheckpoint  = proof.MaxNote
	maxRotations   = proof.MaxRotationFile
	maxFilterNote  = 4 << 10 // bytes of "filter"
	maxRecord      = proof.MaxRecord
	tileWidth      = 256     // hashes of a tile, records of an entry bundle
	maxPath        = 512     // characters of a request path
	maxRequestHead = 4 << 10 // bytes of a request's header
	maxReplyHead   = 4 << 10 // bytes of a reply's header
)

// Times of a server. They bound what a slow or silent peer costs.
const (
	headerTime = 10 * time.Second // from a stream's start, or a request's first byte, to its header's end
	idleTime   = 60 * time.Second // of a stream between requests
	writeTime  = 20 * time.Second // for each writeSize bytes of a reply
	writeSize  = 64 << 10
	lookupTime = 30 * time.Second // of all the store work of one request
)

// Times of a client.
const (
	dialTime    = 15 * time.Second // to a connection, and to a stream on it
	replyTime   = 30 * time.Second // from a request to its reply's header
	elementTime = 30 * time.Second // for each small resource or element of a pack
	minRate     = 16 << 10         // bytes a second that a large document must arrive with, beyond elementTime
	hurryTime   = 10 * time.Second // elementTime, where another source can stand in
	hurryRate   = 256 << 10        // minRate, where another source can stand in
)

// Connections and streams.
const (
	connsPerIP     = 8  // loopback is exempt: everyone there is us
	streamsPerPeer = 32 // of our protocol, each way
	streamsTotal   = 1024
	connsLow       = 512 // connection manager: trims down to this …
	connsHigh      = 576 // … when it passes this
	connsTotal     = 640 // 500 of them take 50 MiB: docs/decisions/011
	connGrace      = 20 * time.Second
	memoryTotal    = 512 << 20
)

// scaling is the resource manager's whole configuration: every scope has an
// explicit limit. Nothing grows with the machine; what a node spends on
// strangers should not depend on how much memory happens to be installed.
func scaling() rcmgr.ConcreteLimitConfig {
	streams := func(in, out int, memory int64) rcmgr.BaseLimit {
		return rcmgr.BaseLimit{StreamsInbound: in, StreamsOutbound: out, Streams: in + out, Memory: memory}
	}
	all := rcmgr.BaseLimit{
		ConnsInbound: connsTotal, ConnsOutbound: connsTotal, Conns: connsTotal, FD: connsTotal,
		StreamsInbound: 2 * streamsTotal, StreamsOutbound: 2 * streamsTotal, Streams: 3 * streamsTotal,
		Memory: memoryTotal,
	}
	cfg := rcmgr.ScalingLimitConfig{
		SystemBaseLimit: all,
		// Transient: not yet known who it is, or what protocol it is for.
		TransientBaseLimit: rcmgr.BaseLimit{
			ConnsInbound: 64, ConnsOutbound: 64, Conns: 96, FD: 96,
			StreamsInbound: 256, StreamsOutbound: 256, Streams: 512, Memory: 64 << 20,
		},
		// No address is allow-listed; the same numbers keep the scopes sane.
		AllowlistedSystemBaseLimit:    all,
		AllowlistedTransientBaseLimit: all,
		ServiceBaseLimit:              streams(streamsTotal, streamsTotal, memoryTotal/2),
		ServicePeerBaseLimit:          streams(streamsPerPeer, streamsPerPeer, 64<<20),
		ProtocolBaseLimit:             streams(64, 64, 16<<20),
		ProtocolPeerBaseLimit:         streams(4, 4, 4<<20),
		PeerBaseLimit: rcmgr.BaseLimit{
			ConnsInbound: 4, ConnsOutbound: 8, Conns: 8, FD: 8,
			StreamsInbound: streamsPerPeer + 16, StreamsOutbound: streamsPerPeer + 16, Streams: 2*streamsPerPeer + 32,
			Memory: 128 << 20,
		},
		ConnBaseLimit:   rcmgr.BaseLimit{ConnsInbound: 1, ConnsOutbound: 1, Conns: 1, FD: 1, Memory: 64 << 20},
		StreamBaseLimit: rcmgr.BaseLimit{StreamsInbound: 1, StreamsOutbound: 1, Streams: 1, Memory: 16 << 20},
	}
	none := rcmgr.BaseLimitIncrease{}
	cfg.AddProtocolLimit(ProtocolID, streams(streamsTotal, streamsTotal, memoryTotal/2), none)
	cfg.AddProtocolPeerLimit(ProtocolID, streams(streamsPerPeer, streamsPerPeer, 128<<20), none)
	cfg.AddProtocolLimit(identify.ID, streams(128, 128, 8<<20), none)
	cfg.AddProtocolPeerLimit(identify.ID, streams(8, 8, 4<<20), none)
	cfg.AddProtocolLimit(identify.IDPush, streams(128, 128, 8<<20), none)
	cfg.AddProtocolPeerLimit(identify.IDPush, streams(8, 8, 4<<20), none)
	cfg.AddProtocolLimit(ping.ID, streams(64, 64, 4<<20), none)
	cfg.AddProtocolPeerLimit(ping.ID, streams(2, 4, 1<<20), none)
	for _, p := range []protocol.ID{pubsub.GossipSubID_v10, pubsub.GossipSubID_v11, pubsub.GossipSubID_v12, pubsub.GossipSubID_v13, pubsub.FloodSubID} {
		cfg.AddProtocolLimit(p, streams(connsTotal, connsTotal, 16<<20), none)
		cfg.AddProtocolPeerLimit(p, streams(2, 2, 1<<20), none)
	}
	cfg.AddProtocolLimit(wideProtocol, streams(512, 512, 32<<20), none)
	cfg.AddProtocolPeerLimit(wideProtocol, streams(8, 8, 1<<20), none)
	for _, p := range []protocol.ID{autonatv2.DialProtocol, autonatv2.DialBackProtocol, holepunch.Protocol, circuit.ProtoIDv2Hop, circuit.ProtoIDv2Stop} {
		cfg.AddProtocolLimit(p, streams(relaySlots*relayCircuits, relaySlots*relayCircuits, 16<<20), none)
		cfg.AddProtocolPeerLimit(p, streams(relayCircuits, relayCircuits, 1<<20), none)
	}
	return cfg.Scale(0, 0)
}

func newResourceManager(over blocked) (network.ResourceManager, error) {
	v4, v6 := netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")
	return rcmgr.NewResourceManager(
		rcmgr.NewFixedLimiter(scaling()),
		rcmgr.WithMetricsDisabled(),
		rcmgr.WithMetrics(over),
		rcmgr.WithLimitPerSubnet(
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 32, ConnCount: connsPerIP}},
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 56, ConnCount: connsPerIP}, {PrefixLength: 48, ConnCount: 8 * connsPerIP}},
		),
		rcmgr.WithNetworkPrefixLimit(
			[]rcmgr.NetworkPrefixLimit{{Network: v4, ConnCount: math.MaxInt}},
			[]rcmgr.NetworkPrefixLimit{{Network: v6, ConnCount: math.MaxInt}},
		),
		rcmgr.WithConnRateLimiters(&rate.Limiter{
			NetworkPrefixLimits: []rate.PrefixLimit{{Prefix: v4}, {Prefix: v6}},
			SubnetRateLimiter: rate.SubnetLimiter{
				IPv4SubnetLimits: []rate.SubnetLimit{{PrefixLength: 32, Limit: rate.Limit{RPS: 0.5, Burst: 2 * connsPerIP}}},
				IPv6SubnetLimits: []rate.SubnetLimit{
					{PrefixLength: 56, Limit: rate.Limit{RPS: 0.5, Burst: 2 * connsPerIP}},
					{PrefixLength: 48, Limit: rate.Limit{RPS: 1, Burst: 10 * connsPerIP}},
				},
				GracePeriod: time.Minute,
			},
		}),
	)
}
