package egress

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// CheckURL refuses what the guard will never connect to, as far as that shows
// in the URL: a scheme other than http and https, user names and passwords,
// a port or host that is not allowed, and a literal address that is not
// allowed in any spelling a browser accepts. It resolves no names. Errors
// wrap [ErrDenied].
func (g *Guard) CheckURL(u *url.URL) error {
	subject := u.Redacted()
	refuse := func(reason, hint string) error {
		return &DeniedError{Subject: subject, Reason: reason, Hint: hint}
	}
	port := uint16(80)
	switch u.Scheme {
	case "http":
	case "https":
		port = 443
	default:
		return refuse("scheme "+strconv.Quote(u.Scheme)+" is not http or https", "give an http or https URL")
	}
	if u.User != nil {
		return refuse("the URL carries a user name or password", "remove the part before @")
	}
	host, err := canonicalHost(u.Host)
	if err != nil {
		return refuse("no usable host", "write the URL as http://host/path")
	}
	if !g.hostAllowed(host) {
		return refuse("host "+host+" is not on the list of allowed hosts", "pass --allow-host "+host+" to allow it")
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return refuse("port "+p+" is not a number up to 65535", "")
		}
		port = uint16(n)
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if err := g.checkIP(addr); err != nil {
			return hosted(err, u.Hostname())
		}
	}
	return g.checkPort(host, port)
}

// canonicalHost gives the host of a URL authority as a browser would read it:
// ASCII, lower case, no port, brackets or trailing dot, addresses in their
// usual spelling.
func canonicalHost(authority string) (string, error) {
	if plainName(authority) {
		return authority, nil
	}
	if strings.ContainsAny(authority, "/\\?#@%") || authority == "" {
		return "", ErrDenied
	}
	w, err := whatwg.Parse("http://" + authority + "/")
	if err != nil {
		return "", err
	}
	host := strings.TrimSuffix(strings.Trim(w.Hostname(), "[]"), ".")
	if host == "" {
		return "", ErrDenied
	}
	return host, nil
}

// plainName reports whether s is a host name in canonical form that no
// browser reads as an address: what nearly every URL has. The last label of
// an address starts with a digit.
func plainName(s string) bool {
	label := 0 // where the last label starts
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-' && i > label:
		case c == '.' && i > label && i < len(s)-1:
			label = i + 1
		default:
			return false
		}
	}
	// Internationalised labels are left to the full parser, which judges them.
	return s != "" && (s[label] < '0' || s[label] > '9') && !strings.Contains(s, "xn--")
}

// hostAllowed reports whether the host list lets the canonical name pass.
func (g *Guard) hostAllowed(host string) bool {
	if g == nil || len(g.Hosts) == 0 {
		return true
	}
	for _, h := range g.Hosts {
		if strings.EqualFold(strings.TrimSuffix(h, "."), host) {
			return true
		}
		if strings.Contains(h, ":") && !strings.HasPrefix(h, "[") {
			h = "[" + h + "]"
		}
		if c, err := canonicalHost(h); err == nil && c == host {
			return true
		}
	}
	return false
}

// hosted adds the name under which a refused address was asked for.
func hosted(err error, host string) error {
	if d, ok := err.(*DeniedError); ok && d.Host == "" && host != d.Subject {
		named := *d
		named.Host = host
		return &named
	}
	return err
}
