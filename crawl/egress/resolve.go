package egress

import (
	"context"
	"net"
	"net/netip"
	"net/url"
)

// CheckTarget is [Guard.CheckURL] for an address that somebody else is asked to
// contact: it resolves the host's name as well, with resolver or the system's,
// and refuses it where any of its addresses is not allowed. What the other
// side resolves later is out of its reach. Errors wrap [ErrDenied] or are the
// resolver's.
func (g *Guard) CheckTarget(ctx context.Context, resolver *net.Resolver, u *url.URL) error {
	if err := g.CheckURL(u); err != nil {
		return err
	}
	host, err := canonicalHost(u.Host)
	if err != nil {
		return err
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return nil // CheckURL has judged it
	}
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	addrs, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return err
	}
	for _, a := range addrs {
		if err := g.checkIP(a); err != nil {
			return hosted(err, host)
		}
	}
	return nil
}
