package peer

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/sec"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"github.com/quic-go/quic-go"
)

// certificates returns what a node shows to whoever connects by TCP and by QUIC.
func (n *node) certificates() map[string]*x509.Certificate {
	n.t.Helper()
	key, _, err := crypto.GenerateEd25519Key(nil)
	if err != nil {
		n.t.Fatal(err)
	}
	stranger, err := libp2ptls.NewIdentity(key)
	if err != nil {
		n.t.Fatal(err)
	}
	found := make(map[string]*x509.Certificate)
	for _, s := range n.peer.Addrs() {
		a, err := ma.NewMultiaddr(s)
		if err != nil {
			n.t.Fatal(err)
		}
		a, _ = libpeer.SplitAddr(a)
		config, _ := stranger.ConfigForPeer("")
		var state tls.ConnectionState
		if network, at, err := manet.DialArgs(a); err != nil {
			n.t.Fatal(err)
		} else if network == "tcp4" {
			state = tlsState(n.t, at, config)
		} else {
			c, err := quic.DialAddr(n.t.Context(), at, config, nil)
			if err != nil {
				n.t.Fatal(err)
			}
			state = c.ConnectionState().TLS
			c.CloseWithError(0, "")
		}
		found[s] = state.PeerCertificates[0]
	}
	return found
}

// tlsState agrees on TLS as multistream-select has it, and makes the handshake.
func tlsState(t testing.TB, at string, config *tls.Config) tls.ConnectionState {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const agreed = "\x13/multistream/1.0.0\n\x0b/tls/1.0.0\n"
	reply := make([]byte, len(agreed))
	if _, err := io.WriteString(c, agreed); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, reply); err != nil || string(reply) != agreed {
		t.Fatalf("%q, %v", reply, err)
	}
	s := tls.Client(c, config)
	if err := s.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s.ConnectionState()
}

func TestCertificatesAreValidWhateverTheClocksSay(t *testing.T) {
	a := newNode(t).up(append(listenTCP[:1:1], listenQUIC...))
	certificates := a.certificates()
	if len(certificates) != 2 {
		t.Fatalf("certificates of %d addresses, want of TCP and QUIC", len(certificates))
	}
	for at, c := range certificates {
		pool := x509.NewCertPool()
		pool.AddCert(c)
		for _, years := range []int{-50, -1, 0, 1, 200} {
			now := time.Now().AddDate(years, 0, 0)
			if _, err := c.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: now}); err != nil {
				t.Errorf("%s, for a clock at %s: %v", at, now.Format(time.DateOnly), err)
			}
		}
	}
}

// handshake connects two sides; the one that dials wants to reach who.
func handshake(t *testing.T, dials, listens *tlsTransport, who libpeer.ID) (near, far sec.SecureConn, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	inbound := make(chan error, 1)
	go func() {
		var err error
		far, err = listens.SecureInbound(t.Context(), b, "")
		inbound <- err
	}()
	near, err = dials.SecureOutbound(t.Context(), a, who)
	return near, far, errors.Join(err, <-inbound)
}

func TestNodesWithWrongClocksConnect(t *testing.T) {
	node := func() *tlsTransport {
		key, _, err := crypto.GenerateEd25519Key(nil)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := newTLS(libp2ptls.ID, key, nil)
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	ahead := node()
	// The clock of a bubble stands in the year 2000.
	synctest.Test(t, func(t *testing.T) {
		behind := node()
		for _, c := range [][2]*tlsTransport{{ahead, behind}, {behind, ahead}} {
			near, far, err := handshake(t, c[0], c[1], c[1].local)
			if err != nil {
				t.Fatal(err)
			}
			if near.RemotePeer() != c[1].local || far.RemotePeer() != c[0].local || near.LocalPeer() != c[0].local {
				t.Errorf("%s and %s take each other for %s and %s", c[0].local, c[1].local, far.RemotePeer(), near.RemotePeer())
			}
			if _, _, err := handshake(t, c[0], c[1], node().local); err == nil {
				t.Error("somebody else is taken for the peer that was dialled")
			}
		}
	})
}
