package links

import (
	"bytes"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"arborist/ingest/extract/markup"
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
	given    map[string]bool // addresses that refs led to; those that differ have texts that differ
	robots   directives
	author   string
}

// read goes through the tags of a page and says why it ended early, if it did.
func (s *scan) read(text []byte, xhtml bool, deadline time.Time) (cut string) {
	t := tagsOf(text, xhtml)
	for n := 1; ; n++ {
		tag, attrs, ok := t.next()
		if !ok {
			return ""
		}
		s.tag(tag, attrs)
		if len(s.seen) > s.limit {
			return cutRefs
		}
		if n%256 == 0 && time.Now().After(deadline) {
			return cutTime
		}
	}
}

func (s *scan) tag(tag tagName, attrs []markup.Attribute) {
	a := readAttributes(attrs)
	switch tag {
	case linkTag:
		s.add(a.href, a.rel)
	case relTag:
		if leads(a.rel, a.kind) {
			s.add(a.href, a.rel)
		}
	case frameTag:
		s.add(a.src, nil)
	case baseTag:
		if a.href != nil && !s.hasBase { // the first one counts
			s.hasBase, s.base = true, string(markup.Unescape(a.href))
		}
	case metaTag:
		s.meta(a)
	}
}

// attributes are the ones that matter on any of our tags, as they stand; of
// repeated ones the first counts, and nil are those that are not there.
type attributes struct {
	href, src, rel, kind     []byte
	name, content, httpEquiv []byte
}

func readAttributes(attrs []markup.Attribute) (a attributes) {
	for _, r := range attrs {
		var to *[]byte
		switch {
		case named(r.Name, "href"):
			to = &a.href
		case named(r.Name, "src"):
			to = &a.src
		case named(r.Name, "rel"):
			to = &a.rel
		case named(r.Name, "type"):
			to = &a.kind
		case named(r.Name, "name"):
			to = &a.name
		case named(r.Name, "content"):
			to = &a.content
		case named(r.Name, "http-equiv"):
			to = &a.httpEquiv
		default:
			continue
		}
		if *to == nil {
			*to = r.Value
		}
	}
	return a
}

// named compares an attribute's name, which is ASCII in lower case, with one as
// it stands.
func named(key []byte, name string) bool {
	if len(key) != len(name) {
		return false
	}
	for i, c := range key {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != name[i] {
			return false
		}
	}
	return true
}

// add notes the reference that an attribute holds, if there is one. One that
// stands under nofollow in one place and free in another is followed.
func (s *scan) add(attribute, rel []byte) {
	if attribute != nil {
		s.note(markup.Unescape(attribute), !hasToken(markup.Unescape(rel), "nofollow"))
	}
}

func (s *scan) note(ref []byte, follow bool) {
	ref = bytes.Trim(ref, " \t\r\n\f")
	ref, _, _ = bytes.Cut(ref, []byte("#"))
	followed, known := s.seen[string(ref)] // without a copy, as for most
	if followed || known && !follow {
		return
	}
	text := string(ref)
	s.seen[text] = follow
	switch {
	case !follow:
		s.nofollow++
		return
	case known:
		s.nofollow--
	}
	s.refs = append(s.refs, text)
}

func (s *scan) meta(a attributes) {
	name := strings.ToLower(strings.Trim(string(markup.Unescape(a.name)), " \t\r\n\f"))
	if name == "robots" || name == s.token {
		content := string(markup.Unescape(a.content))
		s.robots.read(content, content)
	}
	if name == "author" && s.author == "" { // the first one counts
		s.author = OneLine(string(markup.Unescape(a.content)))
	}
	if strings.EqualFold(strings.TrimSpace(string(markup.Unescape(a.httpEquiv))), "refresh") {
		if ref, ok := refreshTarget(string(markup.Unescape(a.content))); ok {
			s.note([]byte(ref), true)
		}
	}
}

// maxLine bounds a line, in bytes.
const maxLine = 200

// OneLine gives a name as one line of printable UTF-8, cut where it is long.
func OneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	for len(text) > maxLine {
		_, last := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-last]
	}
	return text
}

// leads reports whether a <link> of these relations and type leads to a page:
// not to a style sheet, and not to the same content as a feed.
func leads(rel, kind []byte) bool {
	rel = markup.Unescape(rel)
	if hasToken(rel, "stylesheet") {
		return false
	}
	mediaType, _, _ := strings.Cut(string(markup.Unescape(kind)), ";")
	switch strings.ToLower(strings.TrimSpace(mediaType)) {
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

func hasToken(list []byte, token string) bool {
	for len(list) > 0 {
		field := list
		if i := bytes.IndexAny(list, " \t\r\n\f"); i >= 0 {
			field, list = list[:i], list[i+1:]
		} else {
			list = nil
		}
		if strings.EqualFold(string(field), token) {
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
