package links

import "bytes"

// An attributeReader goes through the attributes of a tag, from the end of its
// name on, by the rules of the HTML standard (13.2.5.32 to 13.2.5.40).
type attributeReader struct {
	text       []byte
	pos        int
	key, value []byte // of the current attribute, as they stand

	// At the end: whether the tag's ">" was found, with pos behind it, and
	// whether a slash stands before it that is part of no value.
	whole, selfClosing bool
	valueEnd           int // of the latest attribute with a name
}

// next goes to the next attribute and reports whether there is one. Its name
// may be empty, after a stray slash.
func (a *attributeReader) next() bool {
	if a.pos == 0 {
		a.valueEnd = -1
	}
	a.space()
	if a.pos >= len(a.text) {
		return false
	}
	if a.text[a.pos] == '>' {
		a.pos++
		a.whole = true
		slash := a.pos - 2
		a.selfClosing = slash >= 0 && a.text[slash] == '/' && slash != a.valueEnd-1
		return false
	}
	from := a.pos
	if a.text[a.pos] == '=' {
		a.pos++ // a name may begin with one
	}
	for a.pos < len(a.text) && a.text[a.pos] != '=' && !endsName(a.text[a.pos]) {
		a.pos++
	}
	a.key = a.text[from:a.pos]
	a.readValue()
	return true
}

func (a *attributeReader) space() {
	for a.pos < len(a.text) && isSpace(a.text[a.pos]) {
		a.pos++
	}
}

func (a *attributeReader) readValue() {
	a.value = a.text[a.pos:a.pos]
	end := a.pos
	defer func() {
		if len(a.key) > 0 {
			a.valueEnd = end
		}
	}()
	a.space()
	if a.pos >= len(a.text) {
		return
	}
	switch a.text[a.pos] {
	case '/':
		a.pos++
		return
	case '=':
		a.pos++
	default:
		return
	}
	a.space()
	if a.pos >= len(a.text) || a.text[a.pos] == '>' {
		return
	}
	from := a.pos
	if quote := a.text[a.pos]; quote == '"' || quote == '\'' {
		from++
		if i := bytes.IndexByte(a.text[from:], quote); i >= 0 {
			end, a.pos = from+i, from+i+1
		} else {
			end, a.pos = len(a.text), len(a.text)
		}
	} else {
		for a.pos < len(a.text) && !isSpace(a.text[a.pos]) && a.text[a.pos] != '>' {
			a.pos++
		}
		end = a.pos
	}
	a.value = a.text[from:end]
}
