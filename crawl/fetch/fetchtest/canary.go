package fetchtest

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
)

// A Canary is a listener that nobody is meant to reach.
type Canary struct {
	Addr netip.AddrPort
	hits atomic.Int64
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

// Hits gives how many connections were accepted so far.
func (c *Canary) Hits() int { return int(c.hits.Load()) }
