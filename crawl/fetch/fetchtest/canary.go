package fetchtest

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
)

// A Canary is a listener that nobody is meant to reach.
type Canary struct {
	Addr netip.AddrPort
	hits atomic.Int64 // its own among them
	own  atomic.Int64
}

// NewCanary listens on addr (port 0: any) until the test ends, and closes
// whatever connects at once.
func NewCanary(t testing.TB, addr string) *Canary {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skipf("no listener at %s here: %v", addr, err)
	}
	c := &Canary{Addr: ln.Addr().(*net.TCPAddr).AddrPort()}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			c.hits.Add(1)
			conn.Close()
		}
	})
	t.Cleanup(func() {
		ln.Close()
		running.Wait()
	})
	return c
}

// Hits gives how many connections were made so far. It makes one itself: once that
// was accepted, all before it were.
func (c *Canary) Hits() int {
	conn, err := net.Dial("tcp", c.Addr.String())
	if err != nil {
		return -1 // it cannot be told
	}
	defer conn.Close()
	io.Copy(io.Discard, conn) // until it is accepted, and closed
	return int(c.hits.Load() - c.own.Add(1))
}
