package links

import (
	"bytes"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// declarationWindow is how far into a page, in bytes, its own word on its
// charset is looked for. Browsers look at the first 1024; real pages put
// licences and style sheets before it.
const declarationWindow = 4 << 10

// decode gives a page as UTF-8, and the encoding that browsers use for the
// query part of its links. In this order: byte order mark, the server's word,
// the bytes themselves where they are valid UTF-8, the page's own word,
// windows-1252.
func decode(body []byte, contentType string) ([]byte, queryEncoding) {
	if rest, ok := bytes.CutPrefix(body, []byte("\xef\xbb\xbf")); ok {
		return rest, queryEncoding{}
	}
	for _, bom := range []struct{ mark, label string }{{"\xff\xfe", "utf-16le"}, {"\xfe\xff", "utf-16be"}} {
		if rest, ok := bytes.CutPrefix(body, []byte(bom.mark)); ok {
			return decodeAs(rest, bom.label)
		}
	}
	if _, params, err := mime.ParseMediaType(contentType); err == nil && known(params["charset"]) {
		return decodeAs(body, params["charset"])
	}
	if utf8.Valid(body) {
		return body, queryEncoding{}
	}
	window := body[:min(len(body), declarationWindow)]
	for _, label := range []string{xmlDeclaration(window), metaDeclaration(window)} {
		if !known(label) {
			continue
		}
		if _, name := charset.Lookup(label); strings.HasPrefix(name, "utf-16") {
			label = "utf-8" // the declaration was readable, so it is not UTF-16
		}
		return decodeAs(body, label)
	}
	return decodeAs(body, "windows-1252")
}

// known reports whether a label names an encoding that can be read.
// "replacement" stands for those that browsers refuse to read at all.
func known(label string) bool {
	_, name := charset.Lookup(label)
	return name != "" && name != "replacement"
}

func decodeAs(body []byte, label string) ([]byte, queryEncoding) {
	enc, name := charset.Lookup(label)
	if name == "utf-8" {
		return body, queryEncoding{} // bad bytes are replaced where they matter
	}
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return body, queryEncoding{}
	}
	if strings.HasPrefix(name, "utf-16") || name == "x-user-defined" {
		return text, queryEncoding{}
	}
	return text, queryEncoding{enc}
}

// xmlDeclaration gives the encoding in <?xml … encoding="…"?>, or "".
func xmlDeclaration(window []byte) string {
	if !bytes.HasPrefix(window, []byte("<?xml")) {
		return ""
	}
	declaration, _, found := bytes.Cut(window, []byte("?>"))
	if !found {
		return ""
	}
	_, rest, _ := strings.Cut(string(declaration), "encoding")
	rest = strings.TrimLeft(rest, " \t\r\n")
	rest, found = strings.CutPrefix(rest, "=")
	rest = strings.TrimLeft(rest, " \t\r\n")
	if !found || rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return ""
	}
	label, _, _ := strings.Cut(rest[1:], rest[:1])
	return label
}

// metaDeclaration gives the first charset that a <meta> declares, or "".
func metaDeclaration(window []byte) string {
	z := html.NewTokenizer(bytes.NewReader(window))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return ""
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		name, more := z.TagName()
		if string(name) != "meta" {
			continue
		}
		var equiv, content string
		for more {
			var key, val []byte
			key, val, more = z.TagAttr()
			switch string(key) {
			case "charset":
				return string(val)
			case "http-equiv":
				equiv = string(val)
			case "content":
				content = string(val)
			}
		}
		if _, params, err := mime.ParseMediaType(content); err == nil && strings.EqualFold(equiv, "content-type") && params["charset"] != "" {
			return params["charset"]
		}
	}
}

// isXHTML reports whether a page is to be read by XML's rules for tags.
func isXHTML(contentType string) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	return kind == "application/xhtml+xml"
}

// A queryEncoding writes the query part of references as browsers do on a page
// in an old charset: servers of such pages expect their own bytes back. The
// zero value leaves everything as it is, for UTF-8.
type queryEncoding struct {
	enc encoding.Encoding
}

func (q queryEncoding) apply(ref string) string {
	if q.enc == nil {
		return ref
	}
	path, query, found := strings.Cut(ref, "?")
	if !found || isASCII(query) || len(query) > 4<<10 {
		return ref
	}
	encoder := q.enc.NewEncoder()
	var b strings.Builder
	b.WriteString(path + "?")
	for _, r := range query {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		// What the charset lacks comes as "&#…;", as the URL standard says.
		raw, err := encoder.String(string(r))
		if err != nil {
			return ref
		}
		for _, c := range []byte(raw) {
			if c >= utf8.RuneSelf || c == '&' || c == '#' || c == ';' {
				fmt.Fprintf(&b, "%%%02X", c)
			} else {
				b.WriteByte(c)
			}
		}
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
