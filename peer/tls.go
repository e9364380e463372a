package peer

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/core/sec"
	tptu "github.com/libp2p/go-libp2p/p2p/net/upgrader"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
)

// timeless returns the template of a node's TLS certificates, which are valid at any
// time. What counts in one is the signature of the node's key; libp2p's own template
// begins an hour ago, so that a node whose clock is ahead by more reaches nobody.
func timeless() (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 62))
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial,
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // no end: RFC 5280, 4.1.2.5
	}, nil
}

// A tlsTransport secures TCP and WebSocket connections as libp2p's does, whose
// certificate cannot be chosen.
type tlsTransport struct {
	id       protocol.ID
	local    libpeer.ID
	identity *libp2ptls.Identity
	muxers   []string // that the handshake agrees on besides
}

func newTLS(id protocol.ID, key crypto.PrivKey, muxers []tptu.StreamMuxer) (*tlsTransport, error) {
	local, err := libpeer.IDFromPrivateKey(key)
	if err != nil {
		return nil, err
	}
	template, err := timeless()
	if err != nil {
		return nil, err
	}
	t := &tlsTransport{id: id, local: local}
	for _, m := range muxers {
		t.muxers = append(t.muxers, string(m.ID))
	}
	t.identity, err = libp2ptls.NewIdentity(key, libp2ptls.WithCertTemplate(template))
	return t, err
}

// ID implements [sec.SecureTransport].
func (t *tlsTransport) ID() protocol.ID { return t.id }

// SecureInbound implements [sec.SecureTransport].
func (t *tlsTransport) SecureInbound(ctx context.Context, insecure net.Conn, who libpeer.ID) (sec.SecureConn, error) {
	return t.secure(ctx, insecure, who, tls.Server)
}

// SecureOutbound implements [sec.SecureTransport].
func (t *tlsTransport) SecureOutbound(ctx context.Context, insecure net.Conn, who libpeer.ID) (sec.SecureConn, error) {
	return t.secure(ctx, insecure, who, tls.Client)
}

// secure makes the handshake of one side. An empty who is anybody.
func (t *tlsTransport) secure(ctx context.Context, insecure net.Conn, who libpeer.ID, side func(net.Conn, *tls.Config) *tls.Conn) (sec.SecureConn, error) {
	config, verified := t.identity.ConfigForPeer(who)
	plain := config.NextProtos // of peers that choose the muxer after the handshake
	config.NextProtos = append(t.muxers[:len(t.muxers):len(t.muxers)], plain...)
	c := &tlsConn{Conn: side(insecure, config), local: t.local}
	err := c.HandshakeContext(ctx)
	if err == nil {
		select {
		case c.key = <-verified:
			c.remote, err = libpeer.IDFromPublicKey(c.key)
		default:
			err = errors.New("tls: the peer's certificate was not looked at")
		}
	}
	if err != nil {
		insecure.Close()
		return nil, err
	}
	if chosen := c.Conn.ConnectionState().NegotiatedProtocol; len(plain) == 0 || chosen != plain[0] {
		c.state = network.ConnectionState{StreamMultiplexer: protocol.ID(chosen), UsedEarlyMuxerNegotiation: chosen != ""}
	}
	return c, nil
}

// A tlsConn is a connection whose other side has proven its peer ID.
type tlsConn struct {
	*tls.Conn
	local, remote libpeer.ID
	key           crypto.PubKey
	state         network.ConnectionState
}

// LocalPeer implements [network.ConnSecurity], as the others here do.
func (c *tlsConn) LocalPeer() libpeer.ID { return c.local }

// RemotePeer returns the ID that the other side has proven.
func (c *tlsConn) RemotePeer() libpeer.ID { return c.remote }

// RemotePublicKey returns the key of that ID.
func (c *tlsConn) RemotePublicKey() crypto.PubKey { return c.key }

// ConnState says what the handshake agreed on besides.
func (c *tlsConn) ConnState() network.ConnectionState { return c.state }
