package egress_test

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"testing"

	"code.dny.dev/ssrf"

	"arborist/crawl/egress"
)

// special holds addresses of every kind that is not public unicast: first and
// last of each range, and an address inside.
var special = []string{
	"0.0.0.0", "0.255.255.255", "10.0.0.0", "10.1.2.3", "10.255.255.255",
	"100.64.0.0", "100.127.255.255", "127.0.0.0", "127.0.0.1", "127.255.255.254",
	"169.254.0.0", "169.254.169.254", "169.254.255.255", "172.16.0.0", "172.31.255.255",
	"192.0.0.0", "192.0.0.9", "192.0.0.170", "192.0.0.255", "192.0.2.1", "192.31.196.1",
	"192.52.193.1", "192.88.99.1", "192.168.0.0", "192.168.255.255", "192.175.48.1",
	"198.18.0.0", "198.19.255.255", "198.51.100.7", "203.0.113.7",
	"224.0.0.0", "224.0.0.1", "239.255.255.255", "240.0.0.0", "255.255.255.254", "255.255.255.255",

	"::", "::1", "::2", "::7f00:1", "::10.0.0.1",
	"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
	"::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8",
	"64:ff9b::", "64:ff9b::127.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b::ffff:ffff",
	"64:ff9b:1::", "64:ff9b:1::7f00:1", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
	"100::", "100::ffff:ffff:ffff:ffff", "100:0:0:1::1",
	"2001::", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:1::1", "2001:2::1",
	"2001:3::1", "2001:4:112::1", "2001:10::1", "2001:1f:ffff::1", "2001:20::1", "2001:30::1",
	"2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
	"2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
	"2002::", "2002:7f00:1::", "2002:808:808::1", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	"2620:4f:8000::1", "3ffe::1", "3fff::1", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
	"4000::1", "5f00::1", "6000::1", "8000::1", "a000::1", "e000::1", "f000::1",
	"fc00::1", "fd00:ec2::254", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	"fe80::1", "febf::1", "fec0::1", "feff::1", "ff00::1", "ff02::1", "ff0e::1",
	"fe80::1%eth0", "::1%lo", "::ffff:127.0.0.1%lo",
}

// public holds addresses that are, most of them just outside a range above.
var public = []string{
	"1.0.0.0", "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
	"126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0",
	"192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0",
	"198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0",
	"223.255.255.255", "::ffff:8.8.8.8",
	"2001:200::1", "2001:4860:4860::8888", "2001:db7::1", "2001:db9::1", "2003::1", "2400::1",
	"2606:4700:4700::1111", "2620:4f:7fff::1", "2620:4f:8001::1", "2a00::1", "3fff:1000::1",
}

func at(t *testing.T, addr string, port uint16) netip.AddrPort {
	t.Helper()
	a, err := netip.ParseAddr(addr)
	if err != nil {
		t.Fatal(err)
	}
	return netip.AddrPortFrom(a, port)
}

func TestOnlyPublicUnicastIsDialled(t *testing.T) {
	guards := map[string]*egress.Guard{"nil": nil, "zero": {}}
	for name, g := range guards {
		for _, a := range special {
			ap := at(t, a, 80)
			err := g.Control("tcp", ap.String(), nil)
			if !errors.Is(err, egress.ErrDenied) {
				t.Errorf("%s guard let %s be dialled: %v", name, a, err)
			}
		}
		for _, a := range public {
			if err := g.Control("tcp", at(t, a, 443).String(), nil); err != nil {
				t.Errorf("%s guard refused the public address %s: %v", name, a, err)
			}
		}
	}
	if err := (&egress.Guard{}).CheckAddr(netip.AddrPort{}); !errors.Is(err, egress.ErrDenied) {
		t.Errorf("the zero address: %v", err)
	}
}

// The library that libraries.md names has its own copy of the registries. It
// must never refuse what we allow, nor we what it allows but for 6bone.
func TestTableAgreesWithAnIndependentOne(t *testing.T) {
	oracle := ssrf.New(ssrf.WithAnyPort())
	sixbone := netip.MustParsePrefix("3ffe::/16")
	var g egress.Guard
	compare := func(a netip.Addr) {
		if a.Is4In6() {
			return // the library refuses them all, we judge the address inside
		}
		ours, theirs := g.CheckAddr(netip.AddrPortFrom(a, 80)), oracle.SafeAddr(a)
		if (ours == nil) != (theirs == nil) && !sixbone.Contains(a) {
			t.Errorf("%s: we say %v, the library %v", a, ours, theirs)
		}
	}
	prefixes := append([]netip.Prefix{}, ssrf.IPv4DeniedPrefixes...)
	prefixes = append(prefixes, ssrf.IPv6DeniedPrefixes...)
	prefixes = append(prefixes, ssrf.IPv6GlobalUnicast, ssrf.IPv6NAT64Prefix)
	for _, p := range prefixes {
		first, last := p.Masked().Addr(), lastOf(p)
		for _, a := range []netip.Addr{first, last, first.Prev(), last.Next()} {
			if a.IsValid() {
				compare(a)
			}
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		var b [16]byte
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		compare(netip.AddrFrom4([4]byte(b[:4])))
		compare(netip.AddrFrom16(b))
		b[0] = 0x20 | b[0]&0x1f // global unicast
		compare(netip.AddrFrom16(b))
		b[0], b[1] = 0x20, b[1]&3 // where the exceptions lie
		compare(netip.AddrFrom16(b))
	}
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func TestAllowedNetOpensItselfAlone(t *testing.T) {
	nets := func(s ...string) *egress.Guard {
		g := &egress.Guard{}
		for _, n := range s {
			g.Nets = append(g.Nets, netip.MustParsePrefix(n))
		}
		return g
	}
	for _, c := range []struct {
		guard *egress.Guard
		addr  string
		ok    bool
	}{
		{nets("127.0.0.0/8"), "127.0.0.1", true},
		{nets("127.0.0.0/8"), "::ffff:127.0.0.1", true},
		{nets("127.0.0.0/8"), "::1", false},
		{nets("127.0.0.0/8"), "10.0.0.1", false},
		{nets("127.0.0.0/8"), "64:ff9b::7f00:1", false},
		{nets("127.0.0.0/8"), "8.8.8.8", true},
		{nets("127.0.0.2/32"), "127.0.0.1", false},
		{nets("::ffff:127.0.0.0/104"), "127.0.0.1", true},
		{nets("::ffff:127.0.0.0/104"), "10.0.0.1", false},
		{nets("::1/128"), "::1", true},
		{nets("::1/128"), "::1%lo", true},
		{nets("::1/128"), "127.0.0.1", false},
		{nets("fd00::/8"), "fd12::1", true},
		{nets("fd00::/8"), "fc12::1", false},
		// A translator's network opens public targets, not private ones.
		{nets("64:ff9b::/96"), "64:ff9b::8.8.8.8", true},
		{nets("64:ff9b::/96"), "64:ff9b::127.0.0.1", false},
		{nets("64:ff9b::/96"), "64:ff9b::a9fe:a9fe", false},
		{nets("64:ff9b::/96", "127.0.0.0/8"), "64:ff9b::127.0.0.1", true},
		{nets("64:ff9b:1::/48"), "64:ff9b:1::8.8.8.8", true},
		{nets("64:ff9b:1::/48"), "64:ff9b:1::10.0.0.1", false},
		{nets("64:ff9b:1::/48"), "64:ff9b:1:a00:0:100::", false}, // 10.0.0.1 around octet 8
		{nets("2002::/16"), "2002:808:808::1", true},
		{nets("2002::/16"), "2002:7f00:1::1", false},
		{nets("2001::/32"), "2001:0:4136:e378:8000:63bf:f7f7:f7f7", true},  // client 8.8.8.8
		{nets("2001::/32"), "2001:0:4136:e378:8000:63bf:80ff:fffe", false}, // client 127.0.0.1
		{nets("::/0"), "::ffff:0:127.0.0.1", false},
		{nets("::/0"), "fe80::1", true},
		{nets("::/0"), "127.0.0.1", false},
		{nets("0.0.0.0/0"), "192.168.1.1", true},
		{nets("0.0.0.0/0"), "fe80::1", false},
	} {
		err := c.guard.CheckAddr(at(t, c.addr, 80))
		if (err == nil) != c.ok {
			t.Errorf("nets %v, %s: got %v, want allowed %v", c.guard.Nets, c.addr, err, c.ok)
		}
	}
}
