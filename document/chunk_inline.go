package document

import (
	"bytes"
	"unicode/utf8"
)

// bestInLine returns the best cut of a window [low, high] in which no line
// starts: after a sentence, else after a word, else before a character, else
// inside an indentation.
func bestInLine(text []byte, low, high int) int {
	p := bestAfterSpace(text, low, high, endsSentence)
	p.offerStops(text, low, high)
	if !p.any {
		p = bestAfterSpace(text, low, high, endsWord)
	}
	if !p.any {
		p.offerCharacters(text, low, high)
	}
	if !p.any {
		p.offerBlanks(text, low, high)
	}
	if !p.any {
		return high // no canonical text gets here
	}
	return p.at
}

// bestAfterSpace returns the best cut that follows a single space whose text
// before it ends as asked.
func bestAfterSpace(text []byte, low, high int, ends func(before []byte) bool) picker {
	var p picker
	for at := low; ; at++ {
		n := bytes.IndexByte(text[at-1:high], ' ')
		if n < 0 {
			return p
		}
		at += n
		if ends(text[:at-1]) && !isBlank(text[at]) {
			p.offer(text, at)
		}
	}
}

func endsWord(before []byte) bool { return !isBlank(before[len(before)-1]) }

func endsSentence(before []byte) bool {
	switch before[len(before)-1] {
	case '.', '!', '?':
		return true
	}
	return endsInStop(before)
}

// endsInStop reports whether b ends in a full stop, exclamation or question
// mark of East Asian text, which no space needs to follow.
func endsInStop(b []byte) bool {
	if b[len(b)-1] < 0x80 {
		return false
	}
	switch string(b[len(b)-3:]) {
	case "。", "！", "？":
		return true
	}
	return false
}

func (p *picker) offerStops(text []byte, low, high int) {
	for at := low; at <= high; at++ {
		if high-at >= 8 && load8(text, at-1)&highBits == 0 {
			at += 7 // ASCII
		} else if endsInStop(text[:at]) && !isBlank(text[at]) {
			p.offer(text, at)
		}
	}
}

func (p *picker) offerCharacters(text []byte, low, high int) {
	for at := low; at <= high; at++ {
		if utf8.RuneStart(text[at]) && !isBlank(text[at]) {
			p.offer(text, at)
		}
	}
}

func (p *picker) offerBlanks(text []byte, low, high int) {
	for at := low; at <= high; at++ {
		if text[at] == ' ' || text[at] == '\t' {
			p.offer(text, at)
		}
	}
}
