// Package weburl reads web addresses as browsers do (https://url.spec.whatwg.org)
// and gives each page one spelling.
//
// The package guarantees of every [URL] that
//
//   - its scheme is http or https, its host is not empty, in lower case and in
//     its ASCII form, and its port is left out where it is the scheme's own;
//   - it has no fragment, no user information and no tracking parameter (see
//     [DefaultTracking]); everything else of the query keeps its bytes and
//     its order, because a server may read a meaning into both;
//   - parsing its text gives the same URL again;
//   - it is at most [MaxLength] bytes long.
//
// Addresses that net/url refuses but browsers open (a stray %, a backslash, a
// line break inside an attribute) are read; losing them would lose pages.
package weburl

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nlnwa/whatwg-url/url"
)

// MaxLength is the length in bytes above which an address is refused, before
// and after normalisation. Sitemaps stop at 2,048 (https://www.sitemaps.org/protocol.html).
const MaxLength = 4096

var (
	// ErrScheme: the address is of another kind, for example mailto: or data:.
	ErrScheme = errors.New("not an http or https address")
	// ErrTooLong: the address is longer than [MaxLength].
	ErrTooLong = fmt.Errorf("address is over %d bytes", MaxLength)
	// ErrSyntax: no browser would open the address.
	ErrSyntax = errors.New("not a web address")
	// ErrCredentials: the address holds a user name or a password. [Parser.Parse]
	// alone gives it; [Base.Join] drops them, as a page has none to give.
	ErrCredentials = errors.New("address holds a user name or password")
)

// A URL is the normalised address of a page. It is comparable: equal values
// are equal addresses. The zero URL is no address.
type URL struct {
	href string
	host string
	port uint16
	path int // where the path starts in href
}

// String returns the whole address.
func (u URL) String() string { return u.href }

// IsZero reports whether u is no address at all.
func (u URL) IsZero() bool { return u.href == "" }

// Scheme returns "http" or "https".
func (u URL) Scheme() string {
	scheme, _, _ := strings.Cut(u.href, ":")
	return scheme
}

// Host returns the host without its port; IPv6 addresses are in brackets.
func (u URL) Host() string { return u.host }

// Port returns the port that a request goes to, the scheme's own included.
func (u URL) Port() uint16 { return u.port }

// Origin returns scheme, host and port, as in "https://example.com:8443".
func (u URL) Origin() string { return u.href[:u.path] }

// Target returns path and query: what stands in the request line.
func (u URL) Target() string { return u.href[u.path:] }

// Path returns the path without the query.
func (u URL) Path() string {
	path, _, _ := strings.Cut(u.Target(), "?")
	return path
}

// Query returns what follows the first question mark.
func (u URL) Query() string {
	_, query, _ := strings.Cut(u.Target(), "?")
	return query
}

// A Parser reads addresses. It is safe for concurrent use.
type Parser struct {
	whatwg   url.Parser
	tracking tracking
	origins  origins
}

// NewParser returns a parser that strips the query parameters named in
// tracking, see [DefaultTracking] for how they are written.
func NewParser(tracking []string) *Parser {
	return &Parser{whatwg: url.NewParser(), tracking: newTracking(tracking)}
}

// Parse reads an absolute address that a person gave. Its errors wrap
// [ErrScheme], [ErrTooLong], [ErrSyntax] or [ErrCredentials].
func (p *Parser) Parse(raw string) (URL, error) {
	if len(raw) > MaxLength {
		return URL{}, ErrTooLong
	}
	if u, ok := p.plain(raw); ok {
		return u, nil
	}
	u, err := p.whatwg.Parse(raw)
	if err != nil {
		return URL{}, ErrSyntax
	}
	if u.Username() != "" || u.Password() != "" {
		return URL{}, ErrCredentials
	}
	return p.normalise(u)
}

// A Base resolves the references of one page. It is not safe for concurrent
// use.
type Base struct {
	parser *Parser
	url    URL      // of the page, or of its <base>
	whatwg *url.Url // the same, read when it is first needed
}

// Base returns a base for the references on page u.
func (p *Parser) Base(u URL) (*Base, error) {
	if u.IsZero() {
		return nil, ErrSyntax
	}
	return &Base{parser: p, url: u}, nil
}

// Join resolves a reference found on the page. Its errors wrap [ErrScheme],
// [ErrTooLong] or [ErrSyntax].
func (b *Base) Join(ref string) (URL, error) {
	ref = strings.Trim(ref, " \t\r\n\f")
	// Most references of a foreign scheme are recognised without parsing, so
	// that a data: address of a megabyte costs nothing.
	if foreign(ref) {
		return URL{}, ErrScheme
	}
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		ref = ref[:i]
	}
	if len(ref) > MaxLength {
		return URL{}, ErrTooLong
	}
	if u, ok := b.plain(ref); ok {
		return u, nil
	}
	u, err := b.full(ref)
	if err != nil {
		return URL{}, ErrSyntax
	}
	u.SetUsername("")
	u.SetPassword("")
	return b.parser.normalise(u)
}

// full joins a reference by all rules of the standard.
func (b *Base) full(ref string) (_ *url.Url, err error) {
	if b.whatwg == nil {
		if b.whatwg, err = b.parser.whatwg.Parse(b.url.href); err != nil {
			return nil, err
		}
	}
	return b.whatwg.Parse(ref)
}

// foreign reports whether ref starts with a scheme other than http and https.
func foreign(ref string) bool {
	for i := 0; i < len(ref); i++ {
		switch c := ref[i] | 0x20; {
		case c >= 'a' && c <= 'z':
		case ref[i] == ':' && i > 0:
			return !strings.EqualFold(ref[:i], "http") && !strings.EqualFold(ref[:i], "https")
		default:
			// Schemes with digits or signs, or a line break within: parsed.
			return false
		}
	}
	return false
}

func (p *Parser) normalise(u *url.Url) (URL, error) {
	scheme := u.Scheme()
	if scheme != "http" && scheme != "https" {
		return URL{}, ErrScheme
	}
	port := u.DecodedPort() // 0 for ":0", which it takes for none
	if u.Port() != "" {
		port, _ = strconv.Atoi(u.Port())
	}
	if u.Hostname() == "" || port <= 0 || port > 65535 {
		return URL{}, ErrSyntax
	}
	origin := scheme + "://" + u.Host()
	target, _, _ := strings.Cut(strings.TrimPrefix(u.Href(true), origin), "#")
	target = p.strip(target)
	if !strings.HasPrefix(target, "/") {
		return URL{}, ErrSyntax
	}
	if len(origin)+len(target) > MaxLength {
		return URL{}, ErrTooLong
	}
	normal := URL{href: origin + target, host: u.Hostname(), port: uint16(port), path: len(origin)}
	p.origins.learn(normal)
	return normal, nil
}
