package links

import (
	"strings"
	"time"
)

// unavailableAfter is the directive with which a page says until when it may be
// found: from then on it asks for what noindex asks.
const unavailableAfter = "unavailable_after"

// maxDate is more than any date has bytes.
const maxDate = 64

// expired reports whether text, which may hold more behind a comma, begins with a
// date that is past. The date has the form of RFC 822, RFC 850 or ISO 8601; of what
// is no date nothing is known, and it has not passed.
func expired(text string, now time.Time) bool {
	text = strings.TrimSpace(text)
	if len(text) > maxDate {
		text = text[:maxDate]
	}
	for comma := 0; comma >= 0 && comma <= len(text); { // "Friday, 25-Jun-30 …" has one itself
		end := strings.IndexByte(text[comma:], ',')
		date := text
		if end >= 0 {
			date = text[:comma+end]
		}
		if until, ok := parseDate(strings.TrimSpace(date)); ok {
			return now.After(until)
		}
		if end < 0 || comma > 0 {
			return false
		}
		comma += end + 1
	}
	return false
}

func parseDate(s string) (time.Time, bool) {
	for _, layout := range [...]string{
		"2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700", "2 Jan 06 15:04:05 MST", "2 Jan 2006 15:04 MST", time.RFC850, time.RFC1123, time.RFC1123Z, time.RFC822, time.RFC822Z,
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly, "2 Jan 2006",
	} {
		if at, err := time.Parse(layout, s); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
