package fetchtest

import (
	"bufio"
	"net"
	"net/netip"
	"sync"
	"testing"

	"arborist/crawl/egress"
)

// A Raw server answers with bytes that an HTTP library would not send.
type Raw struct {
	Addr netip.AddrPort
	URL  string // http://address
}

// NewRaw listens on loopback until the test ends. answer is called with each
// connection and the lines of the first request's header; the connection is
// closed when it returns, and when the test ends.
func NewRaw(t testing.TB, answer func(conn net.Conn, header []string)) *Raw {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		open    = map[net.Conn]bool{}
		closed  bool
	)
	serve := func(conn net.Conn) {
		defer func() {
			mu.Lock()
			delete(open, conn)
			mu.Unlock()
			conn.Close()
		}()
		var header []string
		lines := bufio.NewScanner(conn)
		for lines.Scan() && lines.Text() != "" {
			header = append(header, lines.Text())
		}
		if len(header) > 0 {
			answer(conn, header)
		}
	}
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			if closed {
				conn.Close()
			} else {
				open[conn] = true
				running.Go(func() { serve(conn) })
			}
			mu.Unlock()
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		closed = true
		for conn := range open {
			conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	r := &Raw{Addr: ln.Addr().(*net.TCPAddr).AddrPort()}
	r.URL = "http://" + r.Addr.String()
	return r
}

// Drop ends a connection with a reset.
func Drop(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

// Allow gives a guard that lets exactly these loopback servers be reached.
func Allow(addrs ...netip.AddrPort) *egress.Guard {
	g := &egress.Guard{}
	for _, a := range addrs {
		g.Nets = append(g.Nets, netip.PrefixFrom(a.Addr(), a.Addr().BitLen()))
		g.Ports = append(g.Ports, a.Port())
	}
	return g
}
