package peer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/p2p/host/autorelay"
	"github.com/libp2p/go-libp2p/p2p/host/peerstore/pstoremem"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/connmgr"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
	quic "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/libp2p/go-libp2p/p2p/transport/websocket"
	ma "github.com/multiformats/go-multiaddr"
)

// userAgent is all that identify tells about the program.
const userAgent = "arborist/1"

// newHost starts a libp2p host that listens nowhere yet, with everything named
// that it has and everything off that speaks to others by itself, but for what
// cfg asks for.
func newHost(id identity, g *gater, cfg Config, over blocked, relays autorelay.PeerSource, elsewhere []ma.Multiaddr) (host.Host, error) {
	key, err := id.libp2pKey()
	if err != nil {
		return nil, fmt.Errorf("use identity: %w", err)
	}
	reach, err := cfg.Reach.options(relays)
	if err != nil {
		return nil, err
	}
	transports, err := transports(cfg)
	if err != nil {
		return nil, err
	}
	limits, err := newResourceManager(over)
	if err != nil {
		return nil, fmt.Errorf("set resource limits: %w", err)
	}
	trimmer, err := connmgr.NewConnManager(connsLow, connsHigh, connmgr.WithGracePeriod(connGrace))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set connection limits: %w", err), limits.Close())
	}
	peers, err := pstoremem.NewPeerstore()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make peer table: %w", err), trimmer.Close(), limits.Close())
	}
	h, err := libp2p.New(append(slices.Concat(transports, reach),
		libp2p.Identity(key),
		libp2p.UserAgent(userAgent),
		libp2p.Peerstore(peers),
		libp2p.ResourceManager(limits),
		libp2p.ConnectionManager(trimmer),
		libp2p.ConnectionGater(g),
		libp2p.NoListenAddrs,
		telling(elsewhere),
		// TLS first: one stream moves a quarter more with it than with Noise.
		libp2p.Security(libp2ptls.ID, newTLS),
		libp2p.Security(noise.ID, noise.New),
		libp2p.Muxer(yamux.ID, yamux.DefaultTransport),
		libp2p.WithDialTimeout(dialTime),
		libp2p.Ping(true),
		libp2p.DisableMetrics(),
	)...)
	if err != nil {
		return nil, fmt.Errorf("start libp2p: %w", err)
	}
	return h, nil
}

// transports returns TCP, WebSocket and QUIC, unless others are given; without
// QUIC, which brings its own encryption, in a private network.
func transports(cfg Config) ([]libp2p.Option, error) {
	if cfg.Transports != nil {
		return []libp2p.Option{cfg.Transports}, nil
	}
	opts := []libp2p.Option{
		// Sharing a port would let a second daemon listen where the first one
		// does and get half of its connections.
		libp2p.Transport(tcp.NewTCPTransport, tcp.DisableReuseport()),
		libp2p.Transport(websocket.New),
	}
	if cfg.NetworkKeyFile == "" {
		template, err := timeless()
		if err != nil {
			return nil, err
		}
		return append(opts, libp2p.Transport(quic.NewTransport, quic.WithTLSIdentityOption(libp2ptls.WithCertTemplate(template)))), nil
	}
	for _, a := range cfg.Listen {
		if strings.Contains(a, "/quic") {
			return nil, fmt.Errorf("listen on %q: %w: QUIC does not work in one, listen on TCP or WebSocket", a, ErrPrivateNetwork)
		}
	}
	key, err := loadNetworkKey(cfg.NetworkKeyFile)
	if err != nil {
		return nil, err
	}
	return append(opts, libp2p.PrivateNetwork(key)), nil
}

// listenOn opens every address or fails: libp2p's own option is content with
// the first that works. Only a machine without IPv6 is forgiven its IPv6
// addresses.
func listenOn(h host.Host, listen []string) error {
	// Network.Listen flattens errors into text; callers look for EADDRINUSE.
	net, ok := h.Network().(*swarm.Swarm)
	if !ok {
		return fmt.Errorf("listen on %q: the network is a %T", listen, h.Network())
	}
	for _, s := range listen {
		a, err := ma.NewMultiaddr(s)
		if err != nil {
			return fmt.Errorf("listen on %q: %w: %w", s, ErrListen, err)
		}
		if net.TransportForListening(a) == nil {
			return fmt.Errorf("listen on %q: %w: it is not one of TCP, QUIC or WebSocket alone", s, ErrListen)
		}
		if _, err := a.ValueForProtocol(ma.P_TLS); err == nil || strings.HasSuffix(s, "/wss") {
			return fmt.Errorf("listen on %q: %w: TLS for a WebSocket is the work of a web server in front of it", s, ErrListen)
		}
		err = net.AddListenAddr(a)
		if err != nil && !(strings.HasPrefix(s, "/ip6/") && lacksIPv6(err)) {
			return fmt.Errorf("listen on %s: %w", s, err)
		}
	}
	if len(listen) > 0 && len(net.ListenAddresses()) == 0 {
		return fmt.Errorf("listen on %q: this machine has none of these addresses", listen)
	}
	return nil
}

func lacksIPv6(err error) bool {
	return errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EADDRNOTAVAIL)
}
