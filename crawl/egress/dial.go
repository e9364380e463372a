package egress

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// A Dialer connects only where its Guard allows. Its zero value uses the zero
// Guard and the system's resolver.
type Dialer struct {
	Guard    *Guard
	Resolver *net.Resolver // nil: the system's
	Timeout  time.Duration // of one dial, name resolution included; 0: 10 s
}

// DialContext has the shape of [net/http.Transport.DialContext]. The host
// name must be on the guard's list where there is one, and every address that
// the name resolves to is judged at the moment it is dialled. Where the dial
// fails and an address was refused on the way, the refusal is the error: it
// is the part that trying again does not change.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &DeniedError{Subject: address, Reason: "not a host and port"}
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, &DeniedError{Subject: address, Reason: "port is not a number up to 65535"}
	}
	// Read the host as a browser would, so that 127.1 is the same thing here
	// and in CheckURL. A trailing dot is kept for the resolver: it keeps
	// search domains out.
	name, dialled := host, host
	if c, err := canonicalHost(bracketed(host)); err == nil {
		name, dialled = c, c
		if _, err := netip.ParseAddr(c); err != nil && strings.HasSuffix(host, ".") {
			dialled += "."
		}
	}
	if !d.Guard.hostAllowed(name) {
		return nil, &DeniedError{
			Subject: name,
			Reason:  "host is not on the list of allowed hosts",
			Hint:    "pass --allow-host " + name + " to allow it",
		}
	}
	if err := d.Guard.checkPort(name, uint16(port)); err != nil {
		return nil, err
	}

	// Addresses of one name are dialled in parallel, hence the atomic.
	var refused atomic.Pointer[DeniedError]
	timeout := d.Timeout
	if timeout == 0 {
		timeout = 10 * time.Second
	}
	dialer := net.Dialer{
		Timeout:  timeout,
		Resolver: d.Resolver,
		Control: func(network, address string, c syscall.RawConn) error {
			err := d.Guard.Control(network, address, c)
			if denied, ok := err.(*DeniedError); ok {
				refused.CompareAndSwap(nil, denied)
			}
			return err
		},
	}
	conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(dialled, portText))
	if err != nil {
		if denied := refused.Load(); denied != nil {
			return nil, hosted(denied, host)
		}
		return nil, err
	}
	return conn, nil
}

func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}
