// Package links finds where a page leads.
//
// One pass of a tag scanner collects the addresses in <a>, <area>,
// <iframe>, <frame>, <link rel=next|prev|alternate|canonical> and meta
// refresh, resolves them against <base href> or the page's own address, and
// reads what the page and the server ask of robots. The package guarantees
// that
//
//   - every address found is given once, in the order of the page, in the one
//     spelling of package weburl;
//   - addresses under rel=nofollow are not given, and none are where the page
//     or its X-Robots-Tag headers say nofollow;
//   - work is linear in the page's size and ends at [Limits], whatever the
//     page holds. A page that is cut short gives what was found until then and
//     says so.
//
// It does no I/O and keeps nothing of a page but memory to use again.
package links

import (
	"strings"
	"sync"
	"time"

	"arborist/crawl/internal/weburl"
)

// A Page is what links are looked for in.
type Page struct {
	URL         weburl.URL // final address, after redirects
	ContentType string     // as the server sent it
	Body        []byte     // not changed
	RobotsTag   []string   // X-Robots-Tag headers, as received
}

// Limits bound the work on one page. Zero values mean the defaults given.
type Limits struct {
	Time time.Duration // default 3 s
	Refs int           // distinct references, default 100,000
}

// Found is what a page leads to.
type Found struct {
	Links []weburl.URL // to follow; empty where NoFollow

	// NoIndex and NoFollow are what the page and the server ask for.
	NoIndex, NoFollow bool

	// Author is the page's word on who wrote it, one line of UTF-8, often empty.
	Author string

	// References that are not in Links, distinct by their text in the page.
	Nofollow int // under rel=nofollow alone
	Foreign  int // mailto:, javascript: and other schemes
	Broken   int // no browser would open them, or too long

	// Cut says why the search ended early, empty where it did not.
	Cut string
}

// A Finder finds links. It is safe for concurrent use.
type Finder struct {
	parser *weburl.Parser
	token  string
	limits Limits
	scans  sync.Pool // of *scan
}

// NewFinder returns a finder that reads addresses with parser and obeys robots
// rules for everyone and for the product token.
func NewFinder(parser *weburl.Parser, token string, limits Limits) *Finder {
	if limits.Time <= 0 {
		limits.Time = 3 * time.Second
	}
	if limits.Refs <= 0 {
		limits.Refs = 100_000
	}
	return &Finder{parser: parser, token: strings.ToLower(token), limits: limits}
}

// Find finds the links of an HTML or XHTML page.
func (f *Finder) Find(page Page) Found {
	deadline := time.Now().Add(f.limits.Time)
	text, enc := decode(page.Body, page.ContentType)
	s := f.scan()
	defer f.done(s)
	cut := s.read(text, isXHTML(page.ContentType), deadline)
	found := f.resolve(page.URL, s, enc, deadline)
	if found.Cut == "" {
		found.Cut = cut
	}
	found.Author = s.author
	header := headerDirectives(page.RobotsTag, f.token)
	found.NoIndex = s.robots.noIndex || header.noIndex
	found.NoFollow = s.robots.noFollow || header.noFollow
	if found.NoFollow {
		found.Links = nil
	}
	return found
}

// maxKept is the most references of a page whose memory is used again: that of
// nearly all.
const maxKept = 1 << 10

// scan gives a scan for a page, in memory of an earlier one where there is some.
func (f *Finder) scan() *scan {
	if s, ok := f.scans.Get().(*scan); ok {
		return s
	}
	return &scan{token: f.token, limit: f.limits.Refs, seen: map[string]bool{}, given: map[string]bool{}}
}

func (f *Finder) done(s *scan) {
	if len(s.seen) > maxKept {
		return
	}
	clear(s.seen)
	clear(s.given)
	clear(s.refs)
	f.scans.Put(&scan{token: s.token, limit: s.limit, seen: s.seen, given: s.given, refs: s.refs[:0]})
}

// Robots gives what the server's headers alone ask for: all there is for a
// page that is not HTML.
func (f *Finder) Robots(tags []string) (noIndex, noFollow bool) {
	d := headerDirectives(tags, f.token)
	return d.noIndex, d.noFollow
}

// resolve turns the references of s into addresses.
func (f *Finder) resolve(page weburl.URL, s *scan, enc queryEncoding, deadline time.Time) Found {
	found := Found{Nofollow: s.nofollow}
	base, err := f.parser.Base(page)
	if err != nil {
		found.Cut = "the page's own address cannot be read"
		return found
	}
	if s.base != "" {
		// A base that is no web address is no base, as in browsers.
		if u, err := base.Join(enc.apply(s.base)); err == nil {
			if b, err := f.parser.Base(u); err == nil {
				base = b
			}
		}
	}
	found.Links = make([]weburl.URL, 0, len(s.refs))
	for i, ref := range s.refs {
		if i%256 == 255 && time.Now().After(deadline) {
			found.Cut = cutTime
			break
		}
		u, err := base.Join(enc.apply(ref))
		switch {
		case err == weburl.ErrScheme:
			found.Foreign++
		case err != nil:
			found.Broken++
		case !s.given[u.String()]:
			s.given[u.String()] = true
			found.Links = append(found.Links, u)
		}
	}
	return found
}
