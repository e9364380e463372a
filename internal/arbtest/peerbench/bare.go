package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	libp2ptls "github.com/libp2p/go-libp2p/p2p/security/tls"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
)

// bare copies bytes over one stream of libp2p with nothing around it.
func (b *bench) bare(bytes int64) error {
	for name, security := range map[string]libp2p.Option{"Noise": libp2p.Security(noise.ID, noise.New), "TLS": libp2p.Security(libp2ptls.ID, libp2ptls.New)} {
		took, err := copyBare(b.ctx, security, bytes)
		if err != nil {
			return err
		}
		row("  the same bytes over one bare libp2p stream, "+name, fmt.Sprintf("%.1f s: %.0f MB/s", took.Seconds(), float64(bytes)/1e6/took.Seconds()), "")
	}
	return nil
}

func copyBare(ctx context.Context, security libp2p.Option, bytes int64) (time.Duration, error) {
	from, err := newHost(security, libp2p.ListenAddrStrings("/ip4/127.0.0.1/tcp/0"))
	if err != nil {
		return 0, err
	}
	defer from.Close()
	to, err := newHost(security, libp2p.NoListenAddrs)
	if err != nil {
		return 0, err
	}
	defer to.Close()
	const protocol = "/peerbench/1"
	from.SetStreamHandler(protocol, func(s network.Stream) {
		buf := make([]byte, 64<<10)
		for left := bytes; left > 0; {
			n, err := s.Write(buf[:min(left, int64(len(buf)))])
			if err != nil {
				break
			}
			left -= int64(n)
		}
		s.Close()
	})
	if err := to.Connect(ctx, peer.AddrInfo{ID: from.ID(), Addrs: from.Addrs()}); err != nil {
		return 0, err
	}
	began := time.Now()
	s, err := to.NewStream(ctx, from.ID(), protocol)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	n, err := io.Copy(io.Discard, s)
	if err == nil && n != bytes {
		err = fmt.Errorf("%d bytes came, want %d", n, bytes)
	}
	return time.Since(began), err
}

// newHost starts a host that does nothing by itself and limits nothing.
func newHost(opts ...libp2p.Option) (host.Host, error) {
	return libp2p.New(append(opts, libp2p.Transport(tcp.NewTCPTransport), libp2p.DisableRelay(), libp2p.DisableMetrics(), libp2p.ForceReachabilityPrivate(),
		libp2p.ResourceManager(&network.NullResourceManager{}))...)
}
