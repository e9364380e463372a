package links

import (
	"io"
	"strings"
	"time"

	"golang.org/x/net/html"
)

const (
	cutTime = "looking for links took too long"
	cutRefs = "too many links"
)

// A scan collects raw references from the tags of one page. They are resolved
// afterwards, since <base> may come after the first of them.
type scan struct {
	token    string
	limit    int
	base     string
	hasBase  bool
	refs     []string        // in order, each once
	seen     map[string]bool // refs and those under nofollow; true: followed
	nofollow int             // in seen but not in refs
	robots   directives
}

// read runs the tokenizer over a page and says why it ended early, if it did.
func (s *scan) read(text []byte, xhtml bool, deadline time.Time) (cut string) {
	z := html.NewTokenizer(&timedReader{data: text, deadline: deadline})
	z.AllowCDATA(xhtml)
	for {
		switch z.Next() {
		case html.ErrorToken:
			if z.Err() != io.EOF {
				return cutTime
			}
			return ""
		case html.SelfClosingTagToken:
			s.tag(z)
			if xhtml {
				// <script/> is complete in XHTML; in HTML it is not.
				z.NextIsNotRawText()
			}
		case html.StartTagToken:
			s.tag(z)
		}
		if len(s.seen) > s.limit {
			return cutRefs
		}
	}
}

// A timedReader hands out a page and fails once its deadline has passed: the
// tokenizer itself cannot be stopped.
type timedReader struct {
	data     []byte
	deadline time.Time
}

func (r *timedReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	if time.Now().After(r.deadline) {
		return 0, io.ErrNoProgress
	}
	// Filling p matters: the tokenizer copies the token so far on each read,
	// and short reads would make that quadratic in the token's length.
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}

func (s *scan) tag(z *html.Tokenizer) {
	name, more := z.TagName()
	switch string(name) {
	case "noscript", "noframes":
		// Raw text to a browser that runs scripts and knows frames; we are
		// neither, and these hold links made for us.
		z.NextIsNotRawText()
		return
	case "a", "area", "link", "base", "iframe", "frame", "meta":
	default:
		return
	}
	if !more {
		return
	}
	tag := string(name)
	a := readAttributes(z)
	switch tag {
	case "a", "area":
		s.add(a.href, a.hasHref, a.rel)
	case "link":
		if leads(a.rel, a.kind) {
			s.add(a.href, a.hasHref, a.rel)
		}
	case "iframe", "frame":
		s.add(a.src, a.hasSrc, "")
	case "base":
		if a.hasHref && !s.hasBase { // the first one counts
			s.hasBase, s.base = true, a.href
		}
	case "meta":
		s.meta(a)
	}
}

// attributes are the ones that matter on any of our tags; the tokenizer drops
// repeated ones.
type attributes struct {
	href, src, rel, kind     string
	name, content, httpEquiv string
	hasHref, hasSrc          bool
}

func readAttributes(z *html.Tokenizer) (a attributes) {
	for more := true; more; {
		var key, val []byte
		key, val, more = z.TagAttr()
		switch string(key) {
		case "href":
			a.href, a.hasHref = string(val), true
		case "src":
			a.src, a.hasSrc = string(val), true
		case "rel":
			a.rel = string(val)
		case "type":
			a.kind = string(val)
		case "name":
			a.name = string(val)
		case "content":
			a.content = string(val)
		case "http-equiv":
			a.httpEquiv = string(val)
		}
	}
	return a
}

// add notes a reference. One that stands under nofollow in one place and free
// in another is followed.
func (s *scan) add(ref string, present bool, rel string) {
	if !present {
		return
	}
	ref = strings.Trim(ref, " \t\r\n\f")
	ref, _, _ = strings.Cut(ref, "#")
	follow := !hasToken(rel, "nofollow")
	followed, known := s.seen[ref]
	switch {
	case followed, known && !follow:
		return
	case follow:
		if known {
			s.nofollow--
		}
		s.refs = append(s.refs, ref)
	default:
		s.nofollow++
	}
	s.seen[ref] = follow
}

func (s *scan) meta(a attributes) {
	name := strings.ToLower(strings.Trim(a.name, " \t\r\n\f"))
	if name == "robots" || name == s.token {
		s.robots.read(a.content)
	}
	if strings.EqualFold(strings.TrimSpace(a.httpEquiv), "refresh") {
		if ref, ok := refreshTarget(a.content); ok {
			s.add(ref, true, "")
		}
	}
}

// leads reports whether a <link> of these relations and type leads to a page:
// not to a style sheet, and not to the same content as a feed.
func leads(rel, kind string) bool {
	if hasToken(rel, "stylesheet") {
		return false
	}
	kind, _, _ = strings.Cut(kind, ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "", "text/html", "application/xhtml+xml", "text/plain", "text/markdown":
	default:
		return false
	}
	for _, r := range []string{"next", "prev", "alternate", "canonical"} {
		if hasToken(rel, r) {
			return true
		}
	}
	return false
}

func hasToken(list, token string) bool {
	for len(list) > 0 {
		field := list
		if i := strings.IndexAny(list, " \t\r\n\f"); i >= 0 {
			field, list = list[:i], list[i+1:]
		} else {
			list = ""
		}
		if strings.EqualFold(field, token) {
			return true
		}
	}
	return false
}

// refreshTarget reads the content of a meta refresh as the HTML standard says
// ("shared declarative refresh steps"). One without an address reloads the
// page itself and leads nowhere.
func refreshTarget(content string) (string, bool) {
	const space = " \t\r\n\f"
	rest := strings.TrimLeft(content, space)
	digits := strings.TrimLeft(rest, "0123456789")
	if len(digits) == len(rest) && !strings.HasPrefix(rest, ".") {
		return "", false
	}
	rest = strings.TrimLeft(digits, "0123456789.")
	if rest == "" || !strings.ContainsRune(";,"+space, rune(rest[0])) {
		return "", false
	}
	rest = strings.TrimLeft(rest, space)
	if rest != "" && (rest[0] == ';' || rest[0] == ',') {
		rest = strings.TrimLeft(rest[1:], space)
	}
	if len(rest) >= 3 && strings.EqualFold(rest[:3], "url") {
		if after := strings.TrimLeft(rest[3:], space); strings.HasPrefix(after, "=") {
			rest = strings.TrimLeft(after[1:], space)
		}
	}
	if rest != "" && (rest[0] == '\'' || rest[0] == '"') {
		quote := rest[:1]
		rest, _, _ = strings.Cut(rest[1:], quote)
	}
	return rest, rest != ""
}
