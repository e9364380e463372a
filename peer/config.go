package peer

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// ProtocolID names the libp2p protocol: HTTP/1.1 over a stream. The number is
// the version of the wire.
const ProtocolID protocol.ID = "/arborist/http/1"

// PathPrefix starts the path of every resource and holds their version.
const PathPrefix = "/arborist/v1/"

// A Config says how a node takes part in the network. Only KeyFile is
// required.
type Config struct {
	// KeyFile holds the node's Ed25519 key; it is made (0600) when missing.
	KeyFile string
	// Listen holds the multiaddrs to listen on, see [DefaultListen]. Empty:
	// none; the node can sync but nobody can reach it.
	Listen []string
	// Announce holds multiaddrs at which others reach this node and which it does
	// not listen at itself, such as a router's that hands a port on. At most 8.
	Announce []string
	// NetworkKeyFile holds the key of a private network, see [LoadNetworkKey].
	// Only nodes with the same key can connect then, over TCP and WebSocket.
	// Empty: the open network.
	NetworkKeyFile string
	// Reach says how peers behind address translation are reached. Zero: not.
	Reach ReachConfig
	// Wide is the node's part in the directory of who serves which corpus.
	Wide WideConfig
	// LAN announces this node in the local network by multicast DNS, and
	// connects to others that do.
	LAN bool
	// Table is what is remembered of peers. It stays the caller's, and may be
	// given to one node at a time. Nil: nothing is, after the end.
	Table *Table
	// Reconnect keeps connections to the peers that the owner joined.
	Reconnect bool
	// Follows, if not nil, reports whether the owner wants a corpus, named by its
	// origin, brought up to date by itself. With Reconnect, peers that were dialled
	// and serve one are connected to again while nobody else serves it.
	Follows func(origin string) bool
	// Access limits who may be connected. Zero: everybody.
	Access Access
	// Transports are used instead of TCP, WebSocket and QUIC: those of a simulated
	// network. Nil: these three.
	Transports libp2p.Option
	// Serve limits what one peer may cost. Zero: the defaults.
	Serve ServeConfig
	// Streams fetch in parallel in one sync. 0: 4; at most 16.
	Streams int
	// NoCompression asks for documents as they are. Zero: sources that can
	// compress them with zstd do.
	NoCompression bool
	// MaxDownload is the most bytes a second that all syncs together take from
	// their sources. 0: as many as come.
	MaxDownload int64
	// Arrived, if not nil, is told the peer ID of each new connection, in either
	// direction, with a peer that serves corpora. It must not block.
	Arrived func(peer string)
	// Gossip tells connected peers of new heads of the corpora that are here, and
	// hears of those of others.
	Gossip bool
	// Announced, if not nil, is told of a head of a corpus that is here, signed
	// by its pinned key and larger than what is stored, and of the peer who said
	// so. It must not block.
	Announced func(origin, peer string, size uint64)
	// Rekeyed, if not nil, is told of a corpus that is here and whose pinned key,
	// which it names, has signed that another one follows it, and of the peer who
	// said so. It must not block.
	Rekeyed func(origin, peer, key string)
	// Missed, if not nil, is told of each connected peer a moment after this node
	// has begun to hear announcements of some corpus: those before it has missed.
	// It must not block.
	Missed func(peer string)
	// Gateway serves the blocks of documents over plain HTTP too, as IPFS's
	// trustless gateway does: see [Peer.ListenHTTP].
	Gateway bool
	// Log gets what the owner should know: damaged documents that could not
	// be served, refused sources. Nil: nothing is logged.
	Log *slog.Logger
}

const defaultStreams, maxStreams = 4, 16

// DefaultListen returns the multiaddrs of TCP and QUIC on a port of every IPv4
// and IPv6 address. Port 0 means any free one.
func DefaultListen(port uint16) []string {
	return []string{
		fmt.Sprintf("/ip4/0.0.0.0/tcp/%d", port),
		fmt.Sprintf("/ip4/0.0.0.0/udp/%d/quic-v1", port),
		fmt.Sprintf("/ip6/::/tcp/%d", port),
		fmt.Sprintf("/ip6/::/udp/%d/quic-v1", port),
	}
}

func (c Config) check() error {
	switch {
	case c.KeyFile == "":
		return errors.New("open peer: no identity file given")
	case c.Streams < 0 || c.Streams > maxStreams:
		return fmt.Errorf("open peer: %d streams, want 1 to %d", c.Streams, maxStreams)
	}
	if c.MaxDownload < 0 {
		return fmt.Errorf("open peer: %d bytes a second, want 0 or more", c.MaxDownload)
	}
	return c.Serve.check()
}

func (c Config) streams() int {
	if c.Streams == 0 {
		return defaultStreams
	}
	return c.Streams
}
