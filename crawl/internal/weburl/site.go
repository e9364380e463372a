package weburl

// A Site is the one host that a crawl stays on.
//
// It is the seed's exact host and port: no subdomain, no other port. http on
// port 80 and https on port 443 count as one site, because the one redirects
// to the other nearly everywhere. A site that is entered over https is never
// left for http: its http addresses are read as https, so that one page has
// one address and no request travels in the clear. On a site that is entered
// over http both schemes are followed as they stand.
type Site struct {
	scheme string
	host   string
	port   uint16
}

// NewSite returns the site that seed is on.
func NewSite(seed URL) Site {
	return Site{scheme: seed.Scheme(), host: seed.host, port: seed.port}
}

// defaultPort reports whether u uses its scheme's own port.
func defaultPort(scheme string, port uint16) bool {
	return scheme == "http" && port == 80 || scheme == "https" && port == 443
}

// Adopt returns u as this site spells it, and false where u is on another
// site.
func (s Site) Adopt(u URL) (URL, bool) {
	if u.IsZero() || u.host != s.host {
		return URL{}, false
	}
	scheme := u.Scheme()
	if scheme == s.scheme && u.port == s.port {
		return u, true
	}
	if !defaultPort(scheme, u.port) || !defaultPort(s.scheme, s.port) {
		return URL{}, false
	}
	if s.scheme == "https" { // u is http on port 80
		const grown = len("https") - len("http")
		if len(u.href)+grown > MaxLength {
			return URL{}, false
		}
		return URL{href: "https" + u.href[len("http"):], host: u.host, port: 443, path: u.path + grown}, true
	}
	return u, true
}
