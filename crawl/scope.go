package crawl

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"arborist/crawl/internal/weburl"
)

// A scope says which addresses belong to a crawl: those of its seeds' exact
// hosts and ports, see [weburl.Site], and of the hosts allowed beside them.
type scope struct {
	hosts []allowedHost

	mu    sync.RWMutex
	sites []weburl.Site // guarded by mu
}

// An allowedHost is a further host, on any allowed port where port is 0.
type allowedHost struct {
	name string
	port uint16
}

func newScope(parser *weburl.Parser, seeds []weburl.URL, hosts []string) (*scope, error) {
	s := &scope{}
	for _, seed := range seeds {
		if site := weburl.NewSite(seed); !slices.Contains(s.sites, site) {
			s.sites = append(s.sites, site)
		}
	}
	for _, h := range hosts {
		// Read as part of an address, so that the spelling is the same.
		u, err := parser.Parse("http://" + h + "/")
		if err != nil || u.Path() != "/" || u.Query() != "" {
			return nil, fmt.Errorf("%w: %q: write a host name, or host:port, without scheme and path", ErrHost, h)
		}
		a := allowedHost{name: u.Host()}
		if _, port, err := net.SplitHostPort(h); err == nil {
			n, err := strconv.ParseUint(port, 10, 16)
			if err != nil {
				return nil, fmt.Errorf("%w: %q: the port is not a number up to 65535", ErrHost, h)
			}
			a.port = uint16(n)
		}
		s.hosts = append(s.hosts, a)
	}
	return s, nil
}

// adopt returns u as the crawl spells it, and false where it does not belong.
func (s *scope) adopt(u weburl.URL) (weburl.URL, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, site := range s.sites {
		if adopted, ok := site.Adopt(u); ok {
			return adopted, true
		}
	}
	ok := slices.ContainsFunc(s.hosts, func(a allowedHost) bool {
		return a.name == u.Host() && (a.port == 0 || a.port == u.Port())
	})
	return u, ok
}

// enter notes the page at which the site was entered. A site that is asked for
// over http and answers from https is an https site from there on.
func (s *scope) enter(u weburl.URL) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, site := range s.sites {
		if _, ok := site.Adopt(u); ok && u.Scheme() == "https" {
			s.sites[i] = weburl.NewSite(u)
		}
	}
}

// ports gives the ports that must be open beside 80 and 443.
func (s *scope) ports(seeds []weburl.URL) (ports []uint16) {
	for _, seed := range seeds {
		ports = append(ports, seed.Port())
	}
	for _, a := range s.hosts {
		if a.port != 0 {
			ports = append(ports, a.port)
		}
	}
	return ports
}

// notPages recognises addresses that are no pages by their name alone, so
// that no request is spent on them. For documents see documents.go.
type notPages struct {
	sitemap, document *regexp.Regexp
}

func newNotPages() notPages {
	return notPages{
		// The names of the sitemaps protocol, and those that WordPress and its
		// plug-ins give: wp-sitemap-posts-post-1.xml, post-sitemap2.xml.
		sitemap:  regexp.MustCompile(`(?i)(^|/)([^/]*[-_])?sitemap([-_][^/]*|[0-9]*)\.xml(\.gz)?$|/sitemaps/[^/]*\.xml(\.gz)?$`),
		document: regexp.MustCompile(`(?i)\.(pdf|docx?|xlsx?|pptx?|txt|md|rtf)$`),
	}
}

const (
	reasonFeed    = "a feed, not a page"
	reasonSitemap = "a sitemap, not a page"
	reasonRobots  = "robots.txt itself, not a page"
)

// reason says why u is no page, empty where it may be one.
func (n notPages) reason(u weburl.URL) string {
	path := strings.ToLower(u.Path())
	switch {
	case strings.HasSuffix(path, ".atom"), strings.HasSuffix(path, ".rss"), strings.HasSuffix(path, ".rdf"),
		strings.Contains(path, "/feed/"), strings.Contains(path, "/feeds/"), wordPressFeed(u.Query()):
		return reasonFeed
	case strings.Contains(path, "sitemap") && n.sitemap.MatchString(path):
		return reasonSitemap
	case path == "/robots.txt":
		return reasonRobots
	}
	return ""
}

// wordPressFeed recognises ?feed=rss2 and its kin.
func wordPressFeed(query string) bool {
	for part := range strings.SplitSeq(query, "&") {
		switch part {
		case "feed=rss", "feed=rss2", "feed=atom", "feed=rdf", "feed=comments-rss2", "feed=comments-atom":
			return true
		}
	}
	return false
}
