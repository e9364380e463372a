// Package robots reads robots.txt files by RFC 9309 and keeps them per
// origin.
//
// [Parse] guarantees that every input gives rules: what is not understood is
// ignored, what goes beyond 500 KiB is not looked at, and deciding about one
// path takes time linear in the size of the file for each wildcard-free rule
// and at most a scan of the path for each piece between wildcards.
//
// [Cache] guarantees that an origin's rules are fetched once per lifetime
// however many ask, and that an origin whose rules could not be fetched is
// closed until they can: only an answer opens it.
//
// Where the RFC leaves room the choice is: a misspelt Disallow that Google's
// parser understands is honoured; Crawl-delay, which is not in the RFC, is
// read and capped.
package robots

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// MaxSize is how much of a robots.txt file is read, in bytes: the least that
// RFC 9309 lets a crawler read.
const MaxSize = 500 << 10

// MaxDelay caps Crawl-delay: one line must not stop a crawl for a day.
const MaxDelay = 5 * time.Minute

// Rules are the rules of one robots.txt file for one product token. They are
// safe for concurrent use.
type Rules struct {
	rules    []rule // longest first, Allow before Disallow
	delay    time.Duration
	hasDelay bool
	weight   int // bytes of the patterns
}

// A rule is one Allow or Disallow line.
type rule struct {
	allow   bool
	pattern pattern
}

// AllowAll gives the rules of a site without a robots.txt file.
func AllowAll() *Rules { return &Rules{} }

// DenyAll gives rules that allow nothing but /robots.txt itself.
func DenyAll() *Rules {
	return &Rules{rules: []rule{{pattern: compile("/")}}}
}

// Allowed reports whether the rules let pathAndQuery be fetched: a URL's path
// and query as they stand in the URL, beginning with a slash.
func (r *Rules) Allowed(pathAndQuery string) bool {
	allowed, _ := r.Match(pathAndQuery)
	return allowed
}

// Match is [Rules.Allowed] and gives the line that decided, as understood
// ("Disallow: /private/"); empty where none did.
func (r *Rules) Match(pathAndQuery string) (allowed bool, line string) {
	if pathAndQuery == "" || pathAndQuery[0] != '/' {
		pathAndQuery = "/" + pathAndQuery
	}
	// A crawler has read robots.txt by the time it could be told not to.
	if pathAndQuery == "/robots.txt" {
		return true, ""
	}
	forms := spellings(pathAndQuery)
	for i := range r.rules {
		if rl := &r.rules[i]; rl.pattern.matchesAny(forms) {
			if rl.allow {
				return true, "Allow: " + rl.pattern.text
			}
			return false, "Disallow: " + rl.pattern.text
		}
	}
	return true, ""
}

// CrawlDelay gives the pause that the site asks for between two requests, at
// most [MaxDelay], and whether it asks for one. A delay of 0 may be asked for.
func (r *Rules) CrawlDelay() (time.Duration, bool) { return r.delay, r.hasDelay }

// build sorts the rules so that the first match is the one that counts: most
// octets, and Allow before Disallow where equal.
func build(g group) *Rules {
	slices.SortStableFunc(g.rules, func(a, b rule) int {
		if c := cmp.Compare(b.pattern.octets(), a.pattern.octets()); c != 0 {
			return c
		}
		switch {
		case a.allow == b.allow:
			return strings.Compare(a.pattern.text, b.pattern.text)
		case a.allow:
			return -1
		}
		return 1
	})
	g.rules = slices.CompactFunc(g.rules, func(a, b rule) bool {
		return a.allow == b.allow && a.pattern.text == b.pattern.text
	})
	r := &Rules{rules: slices.Clip(g.rules), delay: g.delay, hasDelay: g.hasDelay}
	for i := range r.rules {
		r.weight += 64 + 2*len(r.rules[i].pattern.text)
	}
	return r
}
