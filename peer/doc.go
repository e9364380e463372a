// Package peer is a node's face to the network: it serves the corpora of the
// shared shards and follows those of others, over libp2p streams and plain
// HTTP alike.
//
// It guarantees:
//
//   - Nothing private is within reach. The package cannot import the private
//     store, imports nothing that can ([Handler] and [New] take the concrete
//     [*shard.Shared]), and answers for what a signed log lists and nothing
//     else. A question about a document that is nowhere and one about a private
//     document get replies that are equal byte for byte.
//   - Nothing unverified is stored. A peer ID certifies a corpus key, the key a
//     head, the head its records, a record its document; each is checked before
//     the next is asked for. Whoever serves the bytes needs no trust.
//   - Nothing speaks by itself. No connection is opened but for a peer that
//     [Peer.Join], [Peer.Sync] or [Peer.Corpora] was told of; no discovery, no
//     relay, no address translation helper, no metrics.
//   - A peer costs little: connections, streams, requests, bytes in memory and
//     time each have a limit, stated in limits.go and docs/protocol.md.
//   - A sync can be cut at any point. Documents are durable before the log
//     names them, the head moves last, and the next sync fetches what is
//     missing.
//
// The wire is specified in docs/protocol.md.
package peer
