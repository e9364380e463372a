package egress_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"arborist/crawl/egress"
	"arborist/crawl/fetch/fetchtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func loopbackAnswer(string, int) fetchtest.Answer {
	return fetchtest.Answer{Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}}
}

// Threat 21. The canary listens where every spelling leads, its port is
// allowed, and the name server answers odd spellings as a C resolver would:
// only the address check at the dial stands between.
func TestNoPacketReachesAPrivateAddress(t *testing.T) {
	canary := fetchtest.NewCanary(t, "127.0.0.1:0")
	port := canary.Addr.Port()
	canary6 := fetchtest.NewCanary(t, "[::1]:"+strconv.Itoa(int(port)))
	dns := fetchtest.NewDNS(t, loopbackAnswer)
	hosts := append([]string{"localhost", "intranet.example", "127.0.0.1.nip.example"}, loopbackSpellings...)
	dial := func(g *egress.Guard, host string) error {
		d := egress.Dialer{Guard: g, Resolver: dns.Resolver()}
		conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(int(port))))
		if err == nil {
			conn.Close()
		}
		return err
	}

	shut := &egress.Guard{Ports: []uint16{port}}
	for _, h := range hosts {
		if err := dial(shut, h); !errors.Is(err, egress.ErrDenied) {
			t.Errorf("dial %s: %v, want a refusal", h, err)
		}
	}
	if n := canary.Hits() + canary6.Hits(); n != 0 {
		t.Errorf("%d connections reached the canary", n)
	}

	// The same dials do reach it once the network is allowed: the test can fail.
	open := &egress.Guard{Ports: []uint16{port}, Nets: []netip.Prefix{
		netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
	for _, h := range []string{"127.0.0.1", "127.1", "localhost", "intranet.example", "[::1]", "[::ffff:127.0.0.1]"} {
		if err := dial(open, h); err != nil {
			t.Errorf("dial %s with loopback allowed: %v", h, err)
		}
	}
}

func TestNameWithOnePrivateAddressReachesOnlyTheAllowedOne(t *testing.T) {
	canary := fetchtest.NewCanary(t, "127.0.0.1:0")
	port := canary.Addr.Port()
	good := fetchtest.NewCanary(t, "127.0.0.2:"+strconv.Itoa(int(port)))
	dns := fetchtest.NewDNS(t, func(string, int) fetchtest.Answer {
		return fetchtest.Answer{Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}}
	})
	d := egress.Dialer{
		Guard:    &egress.Guard{Ports: []uint16{port}, Nets: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}},
		Resolver: dns.Resolver(),
	}
	conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort("mixed.example", strconv.Itoa(int(port))))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := conn.RemoteAddr().(*net.TCPAddr).IP.String(); got != "127.0.0.2" || canary.Hits() != 0 {
		t.Errorf("connected to %s, canary hits %d", got, canary.Hits())
	}
	_ = good
}

// Threat 22: a name server with a TTL of 0 gives an allowed address first and
// a private one from then on.
func TestRebindingNameNeverReachesThePrivateAddress(t *testing.T) {
	canary := fetchtest.NewCanary(t, "127.0.0.1:0")
	port := canary.Addr.Port()
	fetchtest.NewCanary(t, "127.0.0.2:"+strconv.Itoa(int(port)))
	dns := fetchtest.NewDNS(t, func(_ string, nth int) fetchtest.Answer {
		if nth == 0 {
			return fetchtest.Answer{Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.2")}}
		}
		return fetchtest.Answer{Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}
	})
	d := egress.Dialer{
		Guard:    &egress.Guard{Ports: []uint16{port}, Nets: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}},
		Resolver: dns.Resolver(),
	}
	address := net.JoinHostPort("rebind.example", strconv.Itoa(int(port)))
	conn, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatalf("first answer: %v", err)
	}
	conn.Close()
	for i := range 5 {
		_, err := d.DialContext(t.Context(), "tcp", address)
		if !errors.Is(err, egress.ErrDenied) {
			t.Errorf("dial %d after the change: %v", i, err)
		} else if !strings.Contains(err.Error(), "rebind.example") || !strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("the message names host and address? %v", err)
		}
	}
	if canary.Hits() != 0 || dns.Asked("rebind.example") != 6 {
		t.Errorf("canary hits %d, name asked for %d times", canary.Hits(), dns.Asked("rebind.example"))
	}
}

func TestHostListHoldsAtTheDial(t *testing.T) {
	var asked atomic.Int64
	dns := fetchtest.NewDNS(t, func(string, int) fetchtest.Answer { asked.Add(1); return loopbackAnswer("", 0) })
	d := egress.Dialer{
		Guard:    &egress.Guard{Hosts: []string{"docs.example"}, Nets: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
		Resolver: dns.Resolver(),
	}
	for _, address := range []string{"other.example:80", "docs.example:22", "docs.example", "docs.example:http", "docs.example:99999"} {
		if _, err := d.DialContext(t.Context(), "tcp", address); !errors.Is(err, egress.ErrDenied) {
			t.Errorf("dial %s: %v", address, err)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("%d names were looked up for refused dials", asked.Load())
	}
}

func TestOrdinaryDialErrorStaysItself(t *testing.T) {
	canary := fetchtest.NewCanary(t, "127.0.0.1:0")
	d := egress.Dialer{Guard: &egress.Guard{Ports: []uint16{canary.Addr.Port()}, Nets: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.DialContext(ctx, "tcp", canary.Addr.String()); err == nil || errors.Is(err, egress.ErrDenied) {
		t.Errorf("cancelled dial: %v", err)
	}
}
