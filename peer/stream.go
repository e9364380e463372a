package peer

import (
	"context"
	"net"
	"sync"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
)

// A streamListener accepts the streams of our protocol. A stream over a relayed
// connection is reset: a relay carries 128 KiB, which no corpus fits in, and its
// owner has not offered it for that.
type streamListener struct {
	host    host.Host
	traffic *traffic
	streams chan network.Stream
	closed  chan struct{}
	once    sync.Once
}

func listenStreams(h host.Host, t *traffic) *streamListener {
	l := &streamListener{host: h, traffic: t, streams: make(chan network.Stream), closed: make(chan struct{})}
	h.SetStreamHandler(ProtocolID, func(s network.Stream) {
		if s.Conn().Stat().Limited {
			s.Reset()
			return
		}
		select {
		case l.streams <- s:
		case <-l.closed:
			s.Reset()
		}
	})
	return l
}

// Accept implements [net.Listener].
func (l *streamListener) Accept() (net.Conn, error) {
	select {
	case s := <-l.streams:
		return newStreamConn(s, l.traffic), nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *streamListener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.host.RemoveStreamHandler(ProtocolID)
	})
	return nil
}

// Addr implements [net.Listener].
func (l *streamListener) Addr() net.Addr { return peerAddr{l.host.ID()} }

// dialStreams returns a dial function that opens streams to one peer over the
// direct connection that is there. It never opens a connection.
func dialStreams(h host.Host, id libpeer.ID, t *traffic) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(network.WithNoDial(ctx, "connections are opened by join and sync alone"), dialTime)
		defer cancel()
		s, err := h.NewStream(ctx, id, ProtocolID)
		if err != nil {
			return nil, err
		}
		return newStreamConn(s, t), nil
	}
}

// A streamConn is a stream as a network connection whose bytes are counted.
type streamConn struct {
	network.Stream
	count *byteCount
}

func newStreamConn(s network.Stream, t *traffic) *streamConn {
	return &streamConn{Stream: s, count: t.of(s.Conn().RemotePeer())}
}

// Read implements [net.Conn].
func (c *streamConn) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	c.count.in.Add(int64(n))
	return n, err
}

// Write implements [net.Conn].
func (c *streamConn) Write(p []byte) (int, error) {
	n, err := c.Stream.Write(p)
	c.count.out.Add(int64(n))
	return n, err
}

// LocalAddr implements [net.Conn].
func (c *streamConn) LocalAddr() net.Addr { return peerAddr{c.Conn().LocalPeer()} }

// RemoteAddr implements [net.Conn].
func (c *streamConn) RemoteAddr() net.Addr { return peerAddr{c.Conn().RemotePeer()} }

// A peerAddr is the end of a stream: a peer.
type peerAddr struct{ id libpeer.ID }

// Network implements [net.Addr].
func (peerAddr) Network() string { return "libp2p" }

// String implements [net.Addr].
func (a peerAddr) String() string { return a.id.String() }
