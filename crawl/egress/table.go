package egress

import "net/netip"

// A block is a range of addresses that is not public unicast.
type block struct {
	prefix netip.Prefix
	name   string
	source string // the document that set the range apart
}

// specialBlock gives the block that holds addr, which must be unmapped and
// without a zone. It reports false for a public unicast address.
//
// IPv6 is judged the other way round from IPv4: only 2000::/3 has ever been
// given out as global unicast, so all else is refused, listed here or not.
func specialBlock(addr netip.Addr) (block, bool) {
	if !addr.IsValid() {
		return block{name: "not an address", source: "none"}, true
	}
	table := special4()
	if addr.Is6() {
		table = special6()
	}
	for _, b := range table {
		if b.prefix.Contains(addr) {
			return b, true
		}
	}
	return block{}, false
}

// The tables hold the IANA special-purpose address registries (IPv4: version
// of 2020-09-04, IPv6: version of 2024-10-22, and RFC 9780 of 2025), the
// multicast and reserved space of the address space registries, and ranges
// that older documents set apart. Blocks that the registry marks as globally
// reachable (AS112, AMT, anycast services) are kept as well: nothing there is
// a web page. A wider block stands after the narrower ones inside it, so
// that a message names the narrowest.

func special4() []block {
	return []block{
		{pfx("0.0.0.0/8"), "\"this network\" address", "RFC 791"},
		{pfx("10.0.0.0/8"), "private address", "RFC 1918"},
		{pfx("100.64.0.0/10"), "carrier-grade NAT address", "RFC 6598"},
		{pfx("127.0.0.0/8"), "loopback address", "RFC 1122"},
		{pfx("169.254.0.0/16"), "link-local address", "RFC 3927"},
		{pfx("172.16.0.0/12"), "private address", "RFC 1918"},
		{pfx("192.0.0.0/24"), "protocol assignment", "RFC 6890"},
		{pfx("192.0.2.0/24"), "documentation address", "RFC 5737"},
		{pfx("192.31.196.0/24"), "AS112 address", "RFC 7535"},
		{pfx("192.52.193.0/24"), "AMT address", "RFC 7450"},
		{pfx("192.88.99.0/24"), "6to4 relay address", "RFC 7526"},
		{pfx("192.168.0.0/16"), "private address", "RFC 1918"},
		{pfx("192.175.48.0/24"), "AS112 address", "RFC 7534"},
		{pfx("198.18.0.0/15"), "benchmarking address", "RFC 2544"},
		{pfx("198.51.100.0/24"), "documentation address", "RFC 5737"},
		{pfx("203.0.113.0/24"), "documentation address", "RFC 5737"},
		{pfx("224.0.0.0/4"), "multicast address", "RFC 5771"},
		{pfx("255.255.255.255/32"), "broadcast address", "RFC 919"},
		{pfx("240.0.0.0/4"), "reserved address", "RFC 1112"},
	}
}

func special6() []block {
	return []block{
		{pfx("::/128"), "unspecified address", "RFC 4291"},
		{pfx("::1/128"), "loopback address", "RFC 4291"},
		{pfx("::ffff:0:0:0/96"), "IPv4-translated address", "RFC 2765"},
		{pfx("::/96"), "IPv4-compatible address", "RFC 4291"},
		{pfx("64:ff9b::/96"), "NAT64 address", "RFC 6052"},
		{pfx("64:ff9b:1::/48"), "local NAT64 address", "RFC 8215"},
		{pfx("100::/64"), "discard address", "RFC 6666"},
		{pfx("100:0:0:1::/64"), "dummy address", "RFC 9780"},
		{pfx("2001::/32"), "Teredo address", "RFC 4380"},
		{pfx("2001:2::/48"), "benchmarking address", "RFC 5180"},
		{pfx("2001:10::/28"), "ORCHID address", "RFC 4843"},
		{pfx("2001:20::/28"), "ORCHIDv2 address", "RFC 7343"},
		{pfx("2001:30::/28"), "drone identifier", "RFC 9374"},
		{pfx("2001::/23"), "protocol assignment", "RFC 2928"},
		{pfx("2001:db8::/32"), "documentation address", "RFC 3849"},
		{pfx("2002::/16"), "6to4 address", "RFC 3056"},
		{pfx("2620:4f:8000::/48"), "AS112 address", "RFC 7534"},
		{pfx("3ffe::/16"), "6bone address", "RFC 3701"},
		{pfx("3fff::/20"), "documentation address", "RFC 9637"},
		{pfx("5f00::/16"), "segment routing identifier", "RFC 9602"},
		{pfx("fc00::/7"), "unique local address", "RFC 4193"},
		{pfx("fe80::/10"), "link-local address", "RFC 4291"},
		{pfx("fec0::/10"), "site-local address", "RFC 3879"},
		{pfx("ff00::/8"), "multicast address", "RFC 4291"},
		// The rest of the space outside 2000::/3, in three pieces.
		{pfx("::/3"), "reserved address", "RFC 4291"},
		{pfx("4000::/2"), "reserved address", "RFC 4291"},
		{pfx("8000::/1"), "reserved address", "RFC 4291"},
	}
}

func pfx(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// embedded gives the IPv4 address that a translator or tunnel would reach for
// addr, and whether there is one.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	at := func(i int) (netip.Addr, bool) { return netip.AddrFrom4([4]byte(b[i : i+4])), true }
	for _, tail := range []string{"64:ff9b::/96", "::ffff:0:0:0/96", "64:ff9b:1::/96"} {
		if pfx(tail).Contains(addr) {
			return at(12)
		}
	}
	switch {
	case pfx("64:ff9b:1::/48").Contains(addr):
		// RFC 6052 puts the address around octet 8, which must be zero.
		return netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]}), true
	case pfx("2002::/16").Contains(addr):
		return at(2)
	case pfx("2001::/32").Contains(addr):
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}), true
	case pfx("::/96").Contains(addr) && b[12] != 0:
		return at(12)
	}
	return netip.Addr{}, false
}
