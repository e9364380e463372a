package weburl

import (
	"strings"
	"sync"
	"sync/atomic"
)

// Nearly all references on real pages are plain: letters, digits and the signs
// that the standard leaves as they are, below an origin that is known already.
// For these the result is put together here, in a tenth of the time; whatever
// needs a rule of the standard is left to the full parser.
// FuzzPlainAgreesWithTheFullParser holds the one to the other.

// maxOrigins bounds the origins that are remembered.
const maxOrigins = 4096

// origins are the spellings of origins that came out of the full parser.
type origins struct {
	known sync.Map // origin to URL of that origin
	size  atomic.Int64
}

func (o *origins) learn(u URL) {
	if _, ok := o.known.Load(u.Origin()); ok || o.size.Load() >= maxOrigins {
		return
	}
	origin := strings.Clone(u.Origin())
	if _, loaded := o.known.LoadOrStore(origin, URL{href: origin, host: strings.Clone(u.host), port: u.port, path: len(origin)}); !loaded {
		o.size.Add(1)
	}
}

// plain reads an absolute address of a known origin.
func (p *Parser) plain(raw string) (URL, bool) {
	colon := strings.Index(raw, "://")
	if colon < 0 {
		return URL{}, false
	}
	slash := strings.IndexByte(raw[colon+3:], '/')
	if slash < 0 {
		return URL{}, false
	}
	origin, target := raw[:colon+3+slash], raw[colon+3+slash:]
	known, ok := p.origins.known.Load(origin)
	if !ok || !plainTarget(target) || strings.Contains(target, "/.") {
		return URL{}, false
	}
	u := known.(URL)
	stripped := p.strip(target)
	if len(stripped) == len(target) {
		u.href = raw
	} else {
		u.href = origin + stripped
	}
	return u, true
}

// plain joins a reference that is a path, with or without a query, below the
// base's own origin, or an address of a known one.
func (b *Base) plain(ref string) (URL, bool) {
	switch {
	case b.url.path == 0:
		return URL{}, false
	case ref == "":
		return b.url, true // the page itself, as "#part" of it
	case strings.HasPrefix(ref, "//"), !plainTarget(ref):
		return b.parser.plain(ref)
	}
	path, query, hasQuery := strings.Cut(ref, "?")
	folder := "" // of the base, where the path is relative to it
	switch {
	case path == "":
		path = b.url.Path()
	case path[0] != '/':
		folder, path = climb(b.url.Path(), path)
	}
	if strings.HasPrefix(path, ".") || strings.Contains(path, "/.") {
		folder, path = "", withoutDots(folder+path)
	}
	if hasQuery {
		path = b.parser.strip(path + "?" + query)
	}
	if b.url.path+len(folder)+len(path) > MaxLength {
		return URL{}, false
	}
	u := b.url
	u.href = b.url.Origin() + folder + path
	return u, true
}

// climb gives the folder that a relative path is in, seen from a page, and the
// path within it: "/a/b" and "../c" are "/" and "c".
func climb(page, ref string) (folder, rest string) {
	folder = page[:strings.LastIndexByte(page, '/')+1]
	for strings.HasPrefix(ref, "../") {
		ref = ref[len("../"):]
		if up := strings.TrimSuffix(folder, "/"); up != "" {
			folder = up[:strings.LastIndexByte(up, '/')+1]
		}
	}
	return folder, ref
}

// plainTarget reports whether every byte of a path and query stands for itself.
func plainTarget(s string) bool {
	inQuery := false
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '/' || c == '.' || c == '-' || c == '_' || c == '~' || c == '=' || c == '&' || c == '+' || c == ',' || c == ';' || c == '!' || c == '*' || c == '(' || c == ')' || c == '@' || c == '$':
		case c == '?' && !inQuery:
			inQuery = true
		case c == ':' && inQuery:
		default:
			return false
		}
	}
	return true
}

// withoutDots resolves the segments "." and ".." of a path.
func withoutDots(path string) string {
	var kept []string
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		switch s {
		case ".":
		case "..":
			if len(kept) > 0 {
				kept = kept[:len(kept)-1]
			}
		default:
			kept = append(kept, s)
			continue
		}
		if i == len(segments)-1 {
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}

// strip takes the tracking parameters from a path with its query.
func (p *Parser) strip(target string) string {
	path, query, found := strings.Cut(target, "?")
	if !found {
		return target
	}
	kept, changed := p.tracking.strip(query)
	switch {
	case !changed:
		return target
	case kept == "":
		return path
	}
	return path + "?" + kept
}
