// Package egress decides which network addresses a crawl may contact.
//
// It guarantees that a connection made through a [Dialer] (or any
// [net.Dialer] whose Control is [Guard.Control]) goes to a public unicast
// address and port 80 or 443, unless the guard was told of further networks
// or ports. The check is made on the very address that is about to be
// connected, after name resolution, so a name that resolves to a private
// address, a second DNS answer that differs from the first, and odd spellings
// of an address (127.1, 0x7f000001, ::ffff:127.0.0.1) are all refused before
// a packet leaves.
//
// [Guard.CheckURL] refuses earlier and with a clearer message what can be
// seen in the URL already. It is a courtesy: the dial check is what counts.
//
// The guard does not look at name resolution itself: a name is sent to the
// system's resolver (or the one given) whatever it resolves to.
package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// ErrDenied is wrapped by every refusal of this package.
var ErrDenied = errors.New("address not allowed")

// A Guard says what may be contacted. The zero value, and a nil Guard, allow
// public unicast addresses on ports 80 and 443. A Guard must not be changed
// while it is in use; it is then safe for concurrent use.
type Guard struct {
	// Hosts, where not empty, are the only host names that may be contacted:
	// exact names, case and a trailing dot ignored. Addresses in it are
	// allowed as hosts, but still need Nets where they are not public.
	Hosts []string

	// Nets are networks allowed beside the public ones, for example
	// 127.0.0.0/8. An IPv6 network that embeds IPv4 addresses (NAT64, 6to4)
	// opens only those whose embedded address is allowed as well.
	Nets []netip.Prefix

	// Ports are allowed beside 80 and 443.
	Ports []uint16
}

// A DeniedError says what was refused, why, and what would allow it.
type DeniedError struct {
	Subject string // the URL, host or address that was refused
	Host    string // the host name that led to the address; may be empty
	Reason  string
	Hint    string // the next step; may be empty
}

func (e *DeniedError) Error() string {
	var b strings.Builder
	b.WriteString("refuse " + e.Subject)
	if e.Host != "" && e.Host != e.Subject {
		b.WriteString(" (address of " + e.Host + ")")
	}
	b.WriteString(": " + e.Reason)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap gives [ErrDenied].
func (e *DeniedError) Unwrap() error { return ErrDenied }

// Control is for [net.Dialer.Control]: it refuses the connection unless
// network is TCP and address, a literal address and port, is allowed.
func (g *Guard) Control(network, address string, _ syscall.RawConn) error {
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return &DeniedError{Subject: address, Reason: fmt.Sprintf("network %q is not tcp", network)}
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &DeniedError{Subject: address, Reason: "not a literal address and port"}
	}
	return g.CheckAddr(ap)
}

// CheckAddr reports whether the guard allows a connection to ap.
func (g *Guard) CheckAddr(ap netip.AddrPort) error {
	if err := g.checkIP(ap.Addr()); err != nil {
		return err
	}
	return g.checkPort(ap.Addr().String(), ap.Port())
}

func (g *Guard) checkPort(subject string, port uint16) error {
	if port == 80 || port == 443 || g != nil && slices.Contains(g.Ports, port) {
		return nil
	}
	return &DeniedError{
		Subject: fmt.Sprintf("%s port %d", subject, port),
		Reason:  "only ports 80 and 443 are contacted unless another is named",
		Hint:    "name the port in the seed URL to allow it",
	}
}

// checkIP judges an address without its port.
func (g *Guard) checkIP(addr netip.Addr) error {
	// A zone never widens what is allowed, and Prefix.Contains is false for
	// every address that has one: judge the bare address.
	addr = addr.WithZone("").Unmap()
	blk, special := specialBlock(addr)
	if !special {
		return nil
	}
	if g.inNets(addr) {
		inner, embeds := embedded(addr)
		if !embeds {
			return nil
		}
		return g.checkIP(inner)
	}
	return &DeniedError{
		Subject: addr.String(),
		Reason:  fmt.Sprintf("%s (%s, %s)", blk.name, blk.prefix, blk.source),
		Hint:    fmt.Sprintf("pass --allow-net %s to allow it", blk.prefix),
	}
}

// inNets reports whether one of the guard's own networks holds addr.
func (g *Guard) inNets(addr netip.Addr) bool {
	if g == nil {
		return false
	}
	for _, n := range g.Nets {
		if plain(n).Contains(addr) {
			return true
		}
	}
	return false
}

// plain turns an IPv4-mapped network (::ffff:127.0.0.0/104) into the IPv4
// network that it means: addresses are judged unmapped.
func plain(n netip.Prefix) netip.Prefix {
	if n.Addr().Is4In6() && n.Bits() >= 96 {
		return netip.PrefixFrom(n.Addr().Unmap(), n.Bits()-96)
	}
	return n
}
