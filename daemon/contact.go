package daemon

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"arborist/crawl/egress"
)

// contactWarning says what a crawl of these seeds should have and has not: a way
// for webmasters to find out who asks. It is "" where that is set, and where no
// seed is on a public host.
func (n *Node) contactWarning(seeds ...string) string {
	if n.cfg.Crawl.Contact != "" || n.cfg.Crawl.UserAgent != "" {
		return ""
	}
	for _, s := range seeds {
		if u, err := url.Parse(s); err == nil && publicHost(u.Hostname()) {
			return fmt.Sprintf("webmasters cannot find out who crawls their sites: put contact = \"https://…\", a page that tells, below [crawl] in %s", n.home.Config())
		}
	}
	return ""
}

// publicHost tells by the name alone; nothing is looked up.
func publicHost(name string) bool {
	if addr, err := netip.ParseAddr(name); err == nil {
		return (&egress.Guard{}).CheckAddr(netip.AddrPortFrom(addr, 443)) == nil
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	dot := strings.LastIndexByte(name, '.')
	switch name[dot+1:] {
	case "localhost", "local", "internal", "test", "invalid", "lan", "home":
		return false
	}
	return dot > 0
}
