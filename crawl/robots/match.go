package robots

import "strings"

// A pattern is the path of a rule in the spelling that paths are compared in
// (see normalize).
type pattern struct {
	text  string // normalized; * is the wildcard, a $ at the end the anchor
	parts []string
	end   bool // anchored at the end of the path
}

// compile reads the value of a rule.
func compile(value string) pattern {
	body, end := strings.CutSuffix(value, "$")
	body = normalize(body, true)
	// Runs of wildcards mean the same as one, and one at the very end means
	// nothing unless the end is anchored (where it undoes the anchor).
	p := pattern{text: body, parts: strings.Split(body, "*"), end: end}
	if end {
		p.text += "$"
	}
	return p
}

// octets is the length by which rules are ranked.
func (p *pattern) octets() int { return len(p.text) }

func (p *pattern) matchesAny(paths []string) bool {
	for _, path := range paths {
		if p.matches(path) {
			return true
		}
	}
	return false
}

// matches takes each part at its first place after the one before: with only
// prefixes, wildcards and an end anchor that is enough, so nothing is tried
// twice.
func (p *pattern) matches(path string) bool {
	rest, ok := strings.CutPrefix(path, p.parts[0])
	if !ok {
		return false
	}
	if len(p.parts) == 1 {
		return !p.end || rest == ""
	}
	last := len(p.parts) - 1
	for _, part := range p.parts[1:last] {
		if part == "" {
			continue
		}
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	if p.end {
		return strings.HasSuffix(rest, p.parts[last])
	}
	return strings.Contains(rest, p.parts[last])
}

// normalize gives a path or pattern in one spelling (RFC 9309 section 2.2.2):
// unreserved characters as themselves, everything else that is not a
// delimiter percent-encoded with upper-case digits, delimiters as they came,
// since / and %2F are different paths. In a query the characters : / ? @
// mean the same either way, so there they lose their encoding.
//
// A literal * or $ of a path is always encoded; in a pattern a * is the
// wildcard and a $ (but for the anchor, which the caller has taken off) is
// literal.
func normalize(s string, isPattern bool) string {
	if plainPath(s, isPattern) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	inQuery := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		encoded := false
		if c == '%' {
			if v, ok := unhex(s, i); ok {
				c, encoded = v, true
				i += 2
			}
		}
		switch {
		case unreserved(c):
			b.WriteByte(c)
		case encoded && inQuery && strings.IndexByte(":/?@", c) >= 0:
			b.WriteByte(c)
		case !encoded && c == '*' && isPattern:
			b.WriteByte(c)
		case !encoded && strings.IndexByte("!&'()+,;=:/?@#[]", c) >= 0:
			b.WriteByte(c)
			inQuery = inQuery || c == '?'
		default:
			const hex = "0123456789ABCDEF"
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

// plainPath reports whether s is in normal form already, as most are.
func plainPath(s string, isPattern bool) bool {
	for i := range len(s) {
		c := s[i]
		if !unreserved(c) && c != '/' && !(c == '*' && isPattern) {
			return false
		}
	}
	return true
}

// spellings gives the forms in which a path is held against patterns: its
// normal form, and where that differs the form that keeps encoded delimiters
// of the query, for a pattern that names one after a wildcard.
func spellings(path string) []string {
	full := normalize(path, false)
	head, query, ok := strings.Cut(path, "?")
	if !ok || !strings.Contains(query, "%") {
		return []string{full}
	}
	kept := normalize(head, false) + "?" + normalize(query, false)
	if kept == full {
		return []string{full}
	}
	return []string{full, kept}
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}

// unhex reads the two hexadecimal digits after the % at s[i].
func unhex(s string, i int) (byte, bool) {
	if i+2 >= len(s) {
		return 0, false
	}
	hi, ok1 := digit(s[i+1])
	lo, ok2 := digit(s[i+2])
	return hi<<4 | lo, ok1 && ok2
}

func digit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
