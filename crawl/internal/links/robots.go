package links

import "strings"

// directives are what a page or a header asks of robots. Several of them add
// up: the strictest wins.
type directives struct {
	noIndex, noFollow bool
}

// read takes in a list of directives; unknown ones are ignored. Commas are the
// standard's separators, the others are common mistakes.
func (d *directives) read(list string) {
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
		for part := range strings.SplitSeq(tag, ",") {
			if name, rest, found := strings.Cut(part, ":"); found && !hasValue(name) {
				ours = strings.EqualFold(strings.TrimSpace(name), token)
				part = rest
			}
			if ours {
				d.read(part)
			}
		}
	}
	return d
}

// hasValue reports whether what stands before a colon is a directive with a
// value and not the name of a robot.
func hasValue(name string) bool {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview":
		return true
	}
	// The time of an unavailable_after date: "25 Jun 2030 15:00:00 PST".
	return strings.ContainsAny(strings.TrimSpace(name), " \t")
}
