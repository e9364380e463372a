package fetchtest

import (
	"net/netip"
	"syscall"
	"testing"
)

// NewDeaf returns an address at which nobody listens, and nobody else can: its
// port is taken, until the test ends. The port of a listener that was closed may
// be another test's server by now.
func NewDeaf(t *testing.T) netip.AddrPort {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(socket) })
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	bound := name.(*syscall.SockaddrInet4)
	return netip.AddrPortFrom(netip.AddrFrom4(bound.Addr), uint16(bound.Port))
}
