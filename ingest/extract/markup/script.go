package markup

import "bytes"

// pastScript goes to the end tag of a script. Within "<!--" and "-->" another
// <script> hides one end tag (13.2.5.17 to 13.2.5.31 of the HTML standard).
func (t *Tokenizer) pastScript() {
	for {
		i := bytes.IndexByte(t.page[t.pos:], '<')
		if i < 0 {
			t.pos = len(t.page)
			return
		}
		t.pos += i
		rest := t.page[t.pos:]
		switch {
		case len(rest) > 1 && rest[1] == '/':
			if t.named(t.pos+2, "script") {
				return
			}
			t.pos += 2
		case bytes.HasPrefix(rest, []byte("<!--")):
			t.pos += 2 // the dashes count for an end at once: <!-->
			if t.escapedScript() {
				return
			}
		default:
			t.pos++
		}
	}
}

// escapedScript goes through a script's "<!--", from its dashes on. It reports
// whether the script's end tag was met, or the end of the page.
func (t *Tokenizer) escapedScript() (ended bool) {
	dashes, hidden := 0, false
	for t.pos < len(t.page) {
		c := t.page[t.pos]
		switch {
		case c == '-':
			dashes++
			t.pos++
			continue
		case c == '>' && dashes >= 2:
			t.pos++
			return false
		case c == '<' && !hidden && t.named(t.pos+1, "script"):
			hidden = true
			t.pos += len("<script") // what ends the name is looked at again: it may be a ">"
		case c == '<' && t.pos+1 < len(t.page) && t.page[t.pos+1] == '/' && t.named(t.pos+2, "script"):
			if !hidden {
				return true
			}
			hidden = false
			t.pos += len("</script")
		default:
			t.pos++
			dashes = 0
			continue
		}
		dashes = 0
		t.pos++
	}
	return true
}
