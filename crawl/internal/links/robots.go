package links

import (
	"strings"
	"time"
)

// directives are what a page or a header asks of robots. Several of them add
// up: the strictest wins.
type directives struct {
	noIndex, noFollow bool
}

// read takes in a list of directives; unknown ones are ignored. Commas are the
// standard's separators, the others are common mistakes. A date in the list may go
// on behind it, where it was cut at a comma: on is the list with what follows.
func (d *directives) read(list, on string) {
	if i := strings.Index(strings.ToLower(list), unavailableAfter); i >= 0 && i+len(unavailableAfter) <= len(on) {
		if name, date, found := strings.Cut(on[i+len(unavailableAfter):], ":"); found && strings.TrimSpace(name) == "" && expired(date, time.Now()) {
			d.noIndex = true
		}
	}
	for _, word := range strings.FieldsFunc(list, func(r rune) bool {
		return r == ',' || r == ';' || r == ' ' || r == '\t' || r == '\r' || r == '\n' || r == '\f'
	}) {
		d.word(word)
	}
}

func (d *directives) word(word string) {
	switch strings.ToLower(word) {
	case "noindex":
		d.noIndex = true
	case "nofollow":
		d.noFollow = true
	case "none":
		d.noIndex, d.noFollow = true, true
	}
}

// headerDirectives reads X-Robots-Tag headers. A header may name the robot
// that it is for ("googlebot: noindex, nofollow"); then it counts only where
// that is us.
func headerDirectives(tags []string, token string) (d directives) {
	for _, tag := range tags {
		ours := true
		for on := tag; on != ""; {
			part, rest, _ := strings.Cut(on, ",")
			list := part
			if name, behind, found := strings.Cut(part, ":"); found && !hasValue(name) {
				ours = strings.EqualFold(strings.TrimSpace(name), token)
				list = behind
			}
			if ours {
				d.read(list, on[len(part)-len(list):])
			}
			on = rest
		}
	}
	return d
}

// hasValue reports whether what stands before a colon is a directive with a
// value and not the name of a robot.
func hasValue(name string) bool {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case unavailableAfter, "max-snippet", "max-image-preview", "max-video-preview":
		return true
	}
	// The time of an unavailable_after date: "25 Jun 2030 15:00:00 PST".
	return strings.ContainsAny(strings.TrimSpace(name), " \t")
}
