package links

import "arborist/ingest/extract/markup"

// A tagName is one that matters here.
type tagName int

const (
	otherTag tagName = iota
	linkTag          // a, area
	relTag           // link
	frameTag         // iframe, frame
	baseTag
	metaTag
)

// nameOf gives what a tag is to us.
func nameOf(name []byte) tagName {
	if len(name) > len("iframe") {
		return otherTag
	}
	var lower [len("iframe")]byte
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	switch string(lower[:len(name)]) {
	case "a", "area":
		return linkTag
	case "link":
		return relTag
	case "frame", "iframe":
		return frameTag
	case "base":
		return baseTag
	case "meta":
		return metaTag
	}
	return otherTag
}

// tags finds the start tags of a page that may hold a reference. A tag that the
// end of the page cuts off is none. What stands in noscript and noframes is read:
// we run no scripts and know no frames, and these hold links made for us.
type tags struct{ tokens *markup.Tokenizer }

func tagsOf(text []byte, xhtml bool) tags {
	t := tags{markup.New(text)}
	t.tokens.XML = xhtml
	return t
}

// next gives the next tag that matters, with its attributes. It reports false at
// the end of the page.
func (t tags) next() (tag tagName, attrs []markup.Attribute, ok bool) {
	for {
		switch t.tokens.Next() {
		case markup.StartTag:
			if tag := nameOf(t.tokens.Data); tag != otherTag {
				return tag, t.tokens.Attributes(), true
			}
		case markup.End, markup.Cut:
			return otherTag, nil, false
		}
	}
}
