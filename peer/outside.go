package peer

import (
	"errors"
	"fmt"

	"github.com/libp2p/go-libp2p"
	ma "github.com/multiformats/go-multiaddr"
)

// maxOutside is how many addresses an owner can name: what others remember of one peer.
const maxOutside = maxPeerAddrs

// ErrAnnounce: the owner names an address that cannot be one of this node.
var ErrAnnounce = errors.New("not an address to announce")

// outside parses the addresses at which others reach this node and which it cannot
// know: of a router that hands a port on to it, of a cloud machine whose public
// address is mapped, of a proxy that ends TLS for it.
func outside(addrs []string) (parsed []ma.Multiaddr, err error) {
	if len(addrs) > maxOutside {
		return nil, fmt.Errorf("announce %d addresses: %w: at most %d", len(addrs), ErrAnnounce, maxOutside)
	}
	for _, s := range addrs {
		a, err := ma.NewMultiaddr(s)
		if err != nil || !isOutside(a) {
			return nil, fmt.Errorf("announce %q: %w: want a multiaddr that others can dial, without /p2p/, for example /dns4/node.example.org/tcp/4707", s, ErrAnnounce)
		}
		parsed = append(parsed, a)
	}
	return parsed, nil
}

func isOutside(a ma.Multiaddr) bool {
	if len(a) < 2 {
		return false
	}
	for _, c := range a {
		switch c.Code() {
		case ma.P_P2P, ma.P_CIRCUIT:
			return false
		}
	}
	switch host := a[0]; host.Code() {
	case ma.P_DNS, ma.P_DNS4, ma.P_DNS6:
	case ma.P_IP4, ma.P_IP6:
		if ip := host.RawValue(); len(ip) == 0 || isZero(ip) {
			return false
		}
	default:
		return false
	}
	port := a[1].RawValue()
	return (a[1].Code() == ma.P_TCP || a[1].Code() == ma.P_UDP) && !isZero(port)
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// telling has everybody who is told this node's addresses told those of outside too.
func telling(outside []ma.Multiaddr) libp2p.Option {
	return libp2p.AddrsFactory(func(known []ma.Multiaddr) []ma.Multiaddr {
		return ma.Unique(append(known[:len(known):len(known)], outside...))
	})
}
