package egress_test

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"arborist/crawl/egress"
)

// loopbackSpellings are ways of writing 127.0.0.1 and ::1 that some browser,
// resolver or URL parser understands.
var loopbackSpellings = []string{
	"127.0.0.1", "127.1", "127.0.1", "127.0.0.1.", "127.000.000.001", "0177.0.0.1", "0177.1",
	"0x7f.0.0.1", "0x7f.1", "0X7F000001", "0x7f000001", "2130706433", "017700000001", "127.0x1",
	"127.0.0.0x1", "127.0.1.", "127.65535",
	"１２７.０.０.１", "127。0。0。1", "①②⑦.⓪.⓪.①",
	"[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
	"[0:0:0:0:0:ffff:127.0.0.1]", "[::FFFF:7F00:0001]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]",
	"[64:ff9b::7f00:1]", "[64:ff9b:1::127.0.0.1]", "[2002:7f00:1::]", "[::ffff:0:127.0.0.1]",
	"0", "0.0.0.0", "[::]",
}

func TestLiteralAddressIsRefusedInEverySpelling(t *testing.T) {
	var g egress.Guard
	for _, host := range loopbackSpellings {
		for _, u := range []*url.URL{{Scheme: "http", Host: host, Path: "/"}, {Scheme: "https", Host: host + ":443", Path: "/"}} {
			err := g.CheckURL(u)
			if !errors.Is(err, egress.ErrDenied) {
				t.Errorf("CheckURL(%s) = %v", u, err)
			}
		}
	}
}

func TestRefusalNamesTheThingAndTheNextStep(t *testing.T) {
	g := &egress.Guard{Hosts: []string{"docs.example.org", "127.0.0.1", "10.0.0.1", "::1"}}
	for _, c := range []struct {
		url   string
		names []string
	}{
		{"http://127.1/", []string{"refuse 127.0.0.1", "address of 127.1", "loopback", "--allow-net 127.0.0.0/8"}},
		{"http://[::1]/", []string{"refuse ::1", "loopback", "--allow-net ::1/128"}},
		{"http://10.0.0.1/", []string{"10.0.0.1", "private", "--allow-net 10.0.0.0/8"}},
		{"http://evil.example/x", []string{"http://evil.example/x", "host evil.example", "--allow-host evil.example"}},
		{"http://docs.example.org:8080/", []string{"docs.example.org port 8080", "80 and 443"}},
		{"ftp://docs.example.org/", []string{`"ftp"`, "http or https"}},
		{"http://u:secret@docs.example.org/", []string{"user name", "before @"}},
		{"http:///path", []string{"no usable host", "http://host/path"}},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		err = g.CheckURL(u)
		if !errors.Is(err, egress.ErrDenied) {
			t.Errorf("CheckURL(%s) = %v", c.url, err)
			continue
		}
		for _, want := range c.names {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("CheckURL(%s) says %q, want %q in it", c.url, err, want)
			}
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the message gives a password away: %v", err)
		}
	}
}

func TestURLThatTheGuardCannotFaultPasses(t *testing.T) {
	g := &egress.Guard{
		Hosts: []string{"Docs.Example.org.", "münchen.example", "127.0.0.1", "2001:4860:4860::8888", "8.8.8.8"},
		Nets:  []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Ports: []uint16{8080},
	}
	for _, s := range []string{
		"http://docs.example.org/", "https://DOCS.example.ORG./a?b#c", "http://docs.example.org:8080/",
		"https://docs.example.org:80/", "http://xn--mnchen-3ya.example/", "http://127.0.0.1:8080/", "http://0x7f000001/",
		"http://8.8.8.8/", "http://[2001:4860:4860::8888]/",
	} {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.CheckURL(u); err != nil {
			t.Errorf("CheckURL(%s) = %v", s, err)
		}
	}
	for _, s := range []string{
		"http://example.org/", "http://sub.docs.example.org/", "http://docs.example.org.evil.example/",
		"http://docs.example.org:22/", "http://docs.example.org:99999/", "http://8.8.4.4/", "http://127.0.0.2/",
	} {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.CheckURL(u); !errors.Is(err, egress.ErrDenied) {
			t.Errorf("CheckURL(%s) = %v, want a refusal", s, err)
		}
	}
}

// Every private IPv4 address is refused in every mix of bases and part
// counts, and every public one allowed.
func TestSpellingNeverChangesTheVerdict(t *testing.T) {
	var g egress.Guard
	for _, a := range append(append([]string{}, special...), public...) {
		addr := netip.MustParseAddr(a)
		if !addr.Is4() {
			continue
		}
		want := g.CheckAddr(netip.AddrPortFrom(addr, 80)) == nil
		for _, host := range spell(addr) {
			got := g.CheckURL(&url.URL{Scheme: "http", Host: host}) == nil
			if got != want {
				t.Errorf("%s written %s: allowed %v, want %v", a, host, got, want)
			}
		}
	}
}

func spell(a netip.Addr) []string {
	b := a.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	var all []string
	for _, verb := range []string{"%d", "0x%x", "0%o"} {
		v := strings.ReplaceAll("V.V.V.V", "V", verb)
		all = append(all, fmt.Sprintf(v, b[0], b[1], b[2], b[3]),
			fmt.Sprintf(verb, n),
			fmt.Sprintf(verb+"."+verb, b[0], n&0xffffff),
			fmt.Sprintf(verb+"."+verb+"."+verb, b[0], b[1], n&0xffff))
	}
	return append(all, fmt.Sprintf("[::ffff:%s]", a), fmt.Sprintf("[::ffff:%x:%x]", n>>16, n&0xffff))
}

func TestOnlyTCPToALiteralAddress(t *testing.T) {
	var g egress.Guard
	for _, c := range [][2]string{
		{"udp", "8.8.8.8:80"}, {"udp4", "8.8.8.8:443"}, {"unix", "/run/docker.sock"}, {"ip4:icmp", "8.8.8.8"}, {"", "8.8.8.8:80"},
		{"tcp", "example.org:80"}, {"tcp", "8.8.8.8"}, {"tcp", ""}, {"tcp", "8.8.8.8:22"}, {"tcp", "8.8.8.8:0"}, {"tcp", "127.1:80"},
	} {
		if err := g.Control(c[0], c[1], nil); !errors.Is(err, egress.ErrDenied) {
			t.Errorf("Control(%q, %q) = %v", c[0], c[1], err)
		}
	}
}

func FuzzCheckURLAgreesWithTheDialCheck(f *testing.F) {
	for _, s := range loopbackSpellings {
		f.Add("http://" + s + "/")
	}
	f.Add("https://example.org:443/%zz")
	f.Add("http://a@b:80/")
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := url.Parse(raw)
		if err != nil {
			return
		}
		var g egress.Guard
		if err := g.CheckURL(u); err != nil {
			if !errors.Is(err, egress.ErrDenied) {
				t.Fatalf("refusal without ErrDenied: %v", err)
			}
			return
		}
		// What passes and is an address must pass at the dial too.
		if a, err := netip.ParseAddr(u.Hostname()); err == nil {
			if err := g.CheckAddr(netip.AddrPortFrom(a, 80)); err != nil {
				t.Fatalf("CheckURL(%q) passed, the dial check says %v", raw, err)
			}
		}
	})
}
