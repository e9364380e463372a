package document

import "bytes"

// A lineStart is a place where a line starts that is not blank.
type lineStart struct {
	at    int
	class lineClass
}

// A lineScanner finds the line starts of a text in order and keeps those of
// the current window: the text is read once, and the memory does not depend on
// its length.
type lineScanner struct {
	text  []byte
	at    int         // where the next line starts
	found []lineStart // not yet below a window

	fence        []byte // the marker that opened the fence around at, or nil
	afterBlank   bool   // the line before is blank
	afterFence   bool   // the line before that is not blank closed a fence
	afterHeading bool   // the line before that is not blank is a heading
}

// window returns the line starts in [low, high]. Neither bound may be lower
// than in the call before. The result is valid until the next call.
func (s *lineScanner) window(low, high int) []lineStart {
	below := 0
	for below < len(s.found) && s.found[below].at < low {
		below++
	}
	s.found = append(s.found[:0], s.found[below:]...)
	for s.at <= high && s.at < len(s.text) {
		if l, ok := s.next(); ok && l.at >= low {
			s.found = append(s.found, l)
		}
	}
	end := len(s.found)
	for end > 0 && s.found[end-1].at > high {
		end--
	}
	return s.found[:end]
}

// next reads a line. It reports false for a blank one.
func (s *lineScanner) next() (lineStart, bool) {
	line := s.text[s.at:]
	if n := bytes.IndexByte(line, '\n'); n >= 0 {
		line = line[:n]
	}
	start := lineStart{at: s.at, class: classLine}
	s.at += len(line) + 1
	if len(line) == 0 {
		s.afterBlank = true
		return start, false
	}
	marker, rest := fenceMarker(line)
	heading := isHeading(line)
	if s.fence != nil && s.afterBlank && heading && bytes.HasPrefix(line, []byte("##")) {
		// A lost fence must not turn the rest of the text inside out.
		s.fence, s.afterFence = nil, true
	}
	if s.fence != nil {
		if len(marker) >= len(s.fence) && marker[0] == s.fence[0] && len(rest) == 0 {
			s.fence, s.afterFence = nil, true
		}
		s.afterBlank = false
		return start, true
	}
	opens := marker != nil && (marker[0] == '~' || bytes.IndexByte(rest, '`') < 0)
	switch {
	case s.afterHeading: // a heading stays with what it is the heading of
	case heading:
		start.class = classHeading
	case s.afterBlank, s.afterFence, opens:
		start.class = classBlock
	}
	if opens {
		s.fence = marker
	}
	s.afterBlank, s.afterFence, s.afterHeading = false, false, heading
	return start, true
}

// isHeading reports whether a line that is not empty is an ATX heading: 1 to 6 "#", then a
// space or nothing.
func isHeading(line []byte) bool {
	if line[0] != '#' {
		return false
	}
	rest := bytes.TrimLeft(line, "#")
	n := len(line) - len(rest)
	return n <= 6 && (len(rest) == 0 || rest[0] == ' ')
}

// fenceMarker returns the run of at least three "`" or "~" that starts a line,
// which is not empty, after its indentation, and what follows it. The marker is nil where there is
// none.
func fenceMarker(line []byte) (marker, rest []byte) {
	switch line[0] {
	case ' ', '\t':
		if line = bytes.TrimLeft(line, " \t"); len(line) == 0 {
			return nil, nil
		}
	case '`', '~':
	default:
		return nil, nil // nearly always
	}
	n := 0
	for n < len(line) && line[n] == line[0] {
		n++
	}
	if n < 3 || line[0] != '`' && line[0] != '~' {
		return nil, nil
	}
	return line[:n], line[n:]
}
