package ingest

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"arborist/document"
)

// Limits of what a location may hold, in bytes. A record of a corpus log is at
// most 16 KiB with everything in it.
const (
	maxURI   = 4 << 10
	maxTitle = 512
	maxField = 1 << 10
)

// checkLocation makes a location fit for any store, or says why it cannot be.
func checkLocation(l document.Location) (document.Location, error) {
	switch {
	case l.URI == "":
		return l, fmt.Errorf("%w: it has no URI", ErrLocation)
	case len(l.URI) > maxURI:
		return l, fmt.Errorf("%w: its URI has %d bytes, the limit is %d", ErrLocation, len(l.URI), maxURI)
	case !utf8.ValidString(l.URI) || strings.ContainsFunc(l.URI, unicode.IsControl):
		return l, fmt.Errorf("%w: its URI holds control characters or is not UTF-8: percent-encode it", ErrLocation)
	}
	l.Title = cleanTitle(l.Title)
	for _, f := range []*string{&l.ContentType, &l.ETag, &l.Modified} {
		*f = cleanField(*f)
	}
	return l, nil
}

// cleanTitle gives a title of one line, valid UTF-8, at most maxTitle bytes.
func cleanTitle(s string) string {
	if len(s) > 8*maxTitle {
		s = s[:8*maxTitle] // before the work, which allocates
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= maxTitle {
		return s
	}
	s = s[:maxTitle-len("…")]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}

// cleanField empties a header field that no store could keep: a validator or
// type that is not sound is worth nothing.
func cleanField(s string) string {
	if len(s) > maxField || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return ""
	}
	return s
}
