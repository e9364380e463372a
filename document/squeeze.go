package document

import "bytes"

// squeeze does the white space steps, in place. The only white space that it
// gets is SPACE, TAB and LF.
func squeeze(text []byte) []byte {
	for { // white space and byte order marks stand in front in any order
		text = bytes.TrimLeft(text, " \t\n")
		rest, found := bytes.CutPrefix(text, []byte(byteOrderMark))
		if !found {
			break
		}
		text = rest
	}
	out := text[:0]
	newlines := 0 // not yet written: no line ends may be left at the end
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		if line = bytes.TrimRight(line, " \t"); len(line) > 0 {
			out = append(out, "\n\n"[:min(newlines, 2)]...)
			out = squeezeLine(out, line)
			newlines = 0
		}
		newlines++
	}
	return out
}

// squeezeLine appends a line that does not end in white space, which may
// overlap with what lies behind out.
func squeezeLine(out, line []byte) []byte {
	start, end := 0, 0
	for isBlank(line[end]) {
		end++ // the indentation is copied as it is
	}
	for end < len(line) {
		end = blankRun(line, end)
		out = append(out, line[start:end]...)
		start = end
		for start < len(line) && isBlank(line[start]) {
			start++
		}
		if start > end {
			out = append(out, ' ')
		}
		end = start
	}
	return out
}

// blankRun returns where in line, from i, white space starts that is not a
// single space, or the length of the line.
func blankRun(line []byte, i int) int {
	for i < len(line) {
		if i+8 <= len(line) {
			if x := load8(line, i); isPrintable8(x) {
				if spaces := spaces8(x); spaces&(spaces<<8) == 0 && line[i+7] != ' ' {
					i += 8
					continue
				}
			}
		}
		if line[i] == '\t' || line[i] == ' ' && isBlank(line[i+1]) {
			return i
		}
		i++
	}
	return i
}
