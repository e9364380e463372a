package ingest

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"arborist/document"
)

// Limits of what a location may hold, in bytes. A record of a corpus log is at
// most 16 KiB with everything in it, and escaping may double its strings.
const (
	maxURI    = 4 << 10
	maxTitle  = 512
	maxField  = 1 << 10
	maxSource = 64
)

// checkLocation makes a location fit for any store, or says why it cannot be:
// a store that meets one it must refuse ends the run. now stands in for a time
// of fetching that is missing or beyond what can be written down.
func checkLocation(l document.Location, now time.Time) (document.Location, error) {
	switch {
	case l.URI == "":
		return l, fmt.Errorf("%w: it has no URI", ErrLocation)
	case len(l.URI) > maxURI:
		return l, fmt.Errorf("%w: its URI has %d bytes, the limit is %d: give it a shorter path", ErrLocation, len(l.URI), maxURI)
	case !utf8.ValidString(l.URI) || strings.ContainsFunc(l.URI, isControl):
		return l, fmt.Errorf("%w: its URI holds control characters or is not UTF-8: percent-encode it", ErrLocation)
	case len(l.Source) > maxSource || cleanField(l.Source) != l.Source:
		return l, fmt.Errorf("%w: its source %.80q is not a name of at most %d bytes", ErrLocation, l.Source, maxSource)
	}
	l.Title = cleanTitle(l.Title)
	for _, f := range []*string{&l.ContentType, &l.ETag, &l.Modified} {
		*f = cleanField(*f)
	}
	if l.FetchedAt.IsZero() || l.FetchedAt.UTC().Year() < 1 || l.FetchedAt.UTC().Year() > 9999 {
		l.FetchedAt = now
	}
	l.FetchedAt = l.FetchedAt.UTC().Truncate(time.Second)
	return l, nil
}

// isControl reports whether r ends a line or moves a cursor somewhere.
func isControl(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}

// cleanTitle gives a title of one line, valid UTF-8, at most maxTitle bytes.
func cleanTitle(s string) string {
	s = strings.ToValidUTF8(cutString(s, 8*maxTitle), "\uFFFD") // cut before the work, which allocates
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case isControl(r):
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= maxTitle {
		return s
	}
	return strings.TrimSpace(cutString(s, maxTitle-len("…"))) + "…"
}

// cutString returns at most n bytes of s, cut between characters.
func cutString(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// cleanField empties a header field that no store could keep: a validator or
// type that is not sound is worth nothing.
func cleanField(s string) string {
	if len(s) > maxField || !utf8.ValidString(s) || strings.ContainsFunc(s, isControl) {
		return ""
	}
	return s
}
