package fetchtest

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// An Answer is what a [DNS] server says about a name.
type Answer struct {
	Addrs []netip.Addr // with a TTL of 0; A or AAAA as asked
	Code  dnsmessage.RCode
}

// DNS is a name server on loopback. Its answers come from a function, so that
// they can change from one question to the next.
type DNS struct {
	conn   net.PacketConn
	answer func(name string, nth int) Answer

	mu    sync.Mutex
	asked map[string]int // A questions by name
}

// NewDNS starts a name server that stops with the test. answer is given the
// name without its final dot and how often its IPv4 address was asked for
// before; AAAA questions see the count of the A question of the same round.
func NewDNS(t testing.TB, answer func(name string, nth int) Answer) *DNS {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &DNS{conn: conn, answer: answer, asked: map[string]int{}}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		d.serve()
	}()
	t.Cleanup(func() {
		conn.Close()
		<-stopped
	})
	return d
}

// Resolver asks this server alone.
func (d *DNS) Resolver() *net.Resolver {
	return &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "udp", d.conn.LocalAddr().String())
		},
	}
}

// Asked gives how often the IPv4 address of name was asked for.
func (d *DNS) Asked(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked[name]
}

func (d *DNS) serve() {
	buf := make([]byte, 1500)
	for {
		n, from, err := d.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		d.fill(&m)
		if packed, err := m.Pack(); err == nil {
			d.conn.WriteTo(packed, from)
		}
	}
}

func (d *DNS) fill(m *dnsmessage.Message) {
	q := m.Questions[0]
	name := q.Name.String()
	name = name[:len(name)-1]
	d.mu.Lock()
	nth := d.asked[name]
	if q.Type == dnsmessage.TypeA {
		d.asked[name]++
	}
	d.mu.Unlock()
	a := d.answer(name, nth)
	m.Header = dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RCode: a.Code}
	m.Additionals = nil
	for _, addr := range a.Addrs {
		h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		switch {
		case q.Type == dnsmessage.TypeA && addr.Is4():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: addr.As4()}})
		case q.Type == dnsmessage.TypeAAAA && addr.Is6():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
}
