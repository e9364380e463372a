package fetch

import "strings"

const (
	shellText  = 200 // characters that a page shows at least, else its scripts are to write it
	shellLinks = 10  // a page with so many links is a page, however short its text
	askedText  = 600 // where the page itself says that it needs scripts
)

// IsShell reports whether an HTML page is an unrendered shell, whose text only
// its scripts would write: it has a script that a browser runs and
//
//   - shows fewer than 200 characters and fewer than 10 links; or
//   - asks in <noscript> for JavaScript and shows fewer than 600 characters.
//
// A short page that has a script for another reason is taken for a shell as
// well. That costs a rendering and changes nothing: its text stays the same.
func IsShell(body []byte) bool {
	s := draw(body, askedText)
	switch {
	case s.scripts == 0 || s.text >= askedText:
		return false
	case s.text < shellText:
		return s.links < shellLinks
	default:
		return strings.Contains(strings.ToLower(s.noscript), "javascript")
	}
}
