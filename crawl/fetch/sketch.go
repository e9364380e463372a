package fetch

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// A sketch is what a page shows without its scripts: enough to tell an
// unrendered shell or a consent wall from a page. It is made in one pass of
// the tokenizer, whose work is linear in the page.
type sketch struct {
	blocks   []string // runs of visible text, one a block element, white space collapsed
	text     int      // characters in blocks
	links    int      // <a href>
	scripts  int      // that a browser would run
	controls []string // labels of buttons, and of links and fields that act as such
	noscript string   // text for browsers without scripts
}

// sketchLimit is how many bytes of a page are looked at.
const sketchLimit = 512 << 10

// draw makes a sketch of a page and stops once it has seen enough characters.
func draw(body []byte, enough int) sketch {
	d := drawing{z: html.NewTokenizer(bytes.NewReader(body[:min(len(body), sketchLimit)]))}
	for d.text <= enough {
		switch d.z.Next() {
		case html.ErrorToken:
			d.endBlock()
			d.endControl()
			return d.done()
		case html.TextToken:
			d.words(string(d.z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			d.open()
		case html.EndTagToken:
			name, _ := d.z.TagName()
			d.closeTag(string(name))
		}
	}
	return d.done()
}

type drawing struct {
	sketch
	z       *html.Tokenizer
	block   strings.Builder
	without strings.Builder  // what sketch.noscript will be
	control *strings.Builder // label being read, nil outside of one
	hidden  string           // the element whose text is not shown, "" outside of one
}

func (d *drawing) done() sketch {
	d.noscript = d.without.String()
	return d.sketch
}

func (d *drawing) open() {
	raw, more := d.z.TagName()
	name := string(raw)
	attr := map[string]string{}
	for more {
		var k, v []byte
		k, v, more = d.z.TagAttr()
		attr[string(k)] = string(v)
	}
	if isBlock(name) {
		d.endBlock()
	}
	switch name {
	case "script":
		if runs(attr["type"]) {
			d.scripts++
		}
		d.hidden = name
	case "style", "template", "noscript", "title", "svg", "textarea", "select":
		d.hidden = name
	case "a":
		if _, ok := attr["href"]; ok {
			d.links++
		}
		d.startControl()
	case "button":
		d.startControl()
	case "input":
		if t := strings.ToLower(attr["type"]); t == "submit" || t == "button" {
			d.controls = append(d.controls, collapse(attr["value"]))
		}
	}
}

func (d *drawing) closeTag(name string) {
	switch {
	case name == d.hidden:
		d.hidden = ""
	case name == "a", name == "button":
		d.endControl()
	}
	if isBlock(name) {
		d.endBlock()
	}
}

func (d *drawing) words(s string) {
	switch {
	case d.hidden == "noscript":
		d.without.WriteString(s)
	case d.hidden != "":
	case d.control != nil:
		d.control.WriteString(s)
	default:
		d.block.WriteString(s)
	}
}

func (d *drawing) startControl() {
	d.endControl()
	d.control = new(strings.Builder)
}

// endControl keeps a label as a control and its text as part of the block.
func (d *drawing) endControl() {
	if d.control == nil {
		return
	}
	label := collapse(d.control.String())
	d.control = nil
	if label != "" {
		d.controls = append(d.controls, label)
		d.text += utf8.RuneCountInString(label)
	}
}

func (d *drawing) endBlock() {
	s := collapse(d.block.String())
	d.block.Reset()
	if s != "" {
		d.blocks = append(d.blocks, s)
		d.text += utf8.RuneCountInString(s)
	}
}

func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

// runs reports whether a script of this type is run, and not data.
func runs(kind string) bool {
	kind, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(kind)), ";")
	return kind == "" || kind == "module" || strings.HasSuffix(kind, "javascript") || strings.HasSuffix(kind, "ecmascript")
}

func isBlock(name string) bool {
	switch name {
	case "p", "div", "li", "ul", "ol", "dl", "dt", "dd", "table", "tr", "td", "th", "section", "article", "main",
		"aside", "header", "footer", "nav", "form", "fieldset", "label", "blockquote", "pre", "br", "hr", "body",
		"h1", "h2", "h3", "h4", "h5", "h6", "figure", "figcaption", "details", "summary", "dialog":
		return true
	}
	return false
}
