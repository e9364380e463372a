package crawl

import (
	"bytes"
	"mime"
)

// inDisguise says why a body is no page that came without a content type, or as
// plain text, and is a feed or a sitemap; "" where it is none, or has a type of
// its own, by which the fetcher knows it.
func inDisguise(contentType string, body []byte) string {
	if kind, _, _ := mime.ParseMediaType(contentType); kind != "" && kind != "text/plain" {
		return ""
	}
	switch rootElement(body) {
	case "rss", "feed", "RDF":
		return reasonFeed
	case "urlset", "sitemapindex":
		return reasonSitemap
	}
	return ""
}

// rootElement gives the name, without its prefix, of the element that an XML
// document begins with, "" where what stands there is none.
func rootElement(body []byte) string {
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	for {
		body = bytes.TrimLeft(body, " \t\r\n")
		var end string
		switch {
		case bytes.HasPrefix(body, []byte("<?")):
			end = "?>"
		case bytes.HasPrefix(body, []byte("<!--")):
			end = "-->"
		case bytes.HasPrefix(body, []byte("<!")):
			end = ">"
		case bytes.HasPrefix(body, []byte("<")):
			name := body[1:]
			if i := bytes.IndexAny(name, " \t\r\n/>"); i >= 0 {
				name = name[:i]
			} else {
				return ""
			}
			return string(name[bytes.IndexByte(name, ':')+1:])
		default:
			return ""
		}
		_, rest, found := bytes.Cut(body, []byte(end))
		if !found {
			return ""
		}
		body = rest
	}
}
