package extract

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"arborist/ingest/extract/internal/office"
)

type kind int

const (
	kindText kind = iota
	kindMarkdown
	kindHTML
	kindOffice
	kindPDF
)

// A mediaType is what the input is taken for.
type mediaType struct {
	kind    kind
	media   string // type/subtype
	charset string // as declared, may be empty
	xml     bool   // HTML in XML's syntax
}

// detect decides what body is: by its first bytes where they leave no doubt,
// then by what was declared, then by sniffing.
func detect(contentType string, body []byte) (mediaType, error) {
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		// A broken parameter does not make the type unknown.
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	t := mediaType{media: media, charset: params["charset"]}
	if office.Container(body) != "" {
		t.kind = kindOffice
		return t, nil
	}
	if isPDF(media, body) {
		t.kind = kindPDF
		return t, nil
	}
	if name := binaryName(t, body); name != "" {
		return t, unsupported(name)
	}
	switch {
	case media == "text/html" || media == "application/xhtml+xml":
		t.kind, t.xml = kindHTML, media != "text/html"
	case media == "text/markdown" || media == "text/x-markdown":
		t.kind = kindMarkdown
	case media == "text/xml" || media == "application/xml":
		if isXHTML(body) {
			t.kind, t.xml = kindHTML, true
			break
		}
		if media == "application/xml" {
			return t, unsupported(media)
		}
	case strings.HasPrefix(media, "text/"):
	case media == "" || media == "application/octet-stream" || !strings.Contains(media, "/") || isOfficeType(media):
		return sniff(t, body)
	default:
		return t, unsupported(media)
	}
	return t, nil
}

// sniff decides about bytes of which nothing is known.
func sniff(t mediaType, body []byte) (mediaType, error) {
	start := skipComments(body)
	media, _, _ := strings.Cut(http.DetectContentType(start), ";")
	if media == "text/plain" && startsWithTag(start) {
		media = "text/html" // the standard knows only some of the tags
	}
	t.media = media
	switch {
	case media == "text/html":
		t.kind = kindHTML
	case media == "text/xml" && isXHTML(body):
		t.kind, t.xml = kindHTML, true
	case !strings.HasPrefix(media, "text/"):
		return t, unsupported(media)
	}
	return t, nil
}

// skipComments returns what follows the comments and white space at the start
// of a page, or all of it where nothing does.
func skipComments(body []byte) []byte {
	rest := bytes.TrimSpace(bytes.TrimPrefix(body, utf8BOM))
	for bytes.HasPrefix(rest, []byte("<!--")) {
		end := bytes.Index(rest[:min(len(rest), 4096)], []byte("-->"))
		if end < 0 {
			break
		}
		rest = bytes.TrimSpace(rest[end+len("-->"):])
	}
	if len(rest) == 0 {
		return body
	}
	return rest
}

// startsWithTag reports whether text starts with a start tag of HTML.
func startsWithTag(text []byte) bool {
	z := html.NewTokenizer(bytes.NewReader(text[:min(len(text), 1024)]))
	if z.Next() != html.StartTagToken {
		return false
	}
	name, _ := z.TagName()
	tag := atom.Lookup(name)
	return tag != 0 && tag != atom.Svg && tag != atom.Math
}

// isPDF reports whether body is a PDF file. Where that was declared, other bytes may
// come before it, as programs accept.
func isPDF(media string, body []byte) bool {
	mark := []byte("%PDF-")
	return bytes.HasPrefix(body, mark) || media == "application/pdf" && bytes.Contains(body[:min(len(body), 1024)], mark)
}

func unsupported(what string) error {
	return fmt.Errorf("%w: %s: convert it to HTML, Markdown or plain text first", ErrUnsupported, what)
}

// isXHTML reports whether the start of an XML document names HTML's root.
func isXHTML(body []byte) bool {
	head := bytes.ToLower(body[:min(len(body), 1024)])
	return bytes.Contains(head, []byte("<html"))
}

// signatures are first bytes that no text starts with.
var signatures = []struct{ prefix, name string }{
	{"\x1f\x8b", "gzip archive"},
	{"BZh", "bzip2 archive"},
	{"\xfd7zXZ\x00", "xz archive"},
	{"\x28\xb5\x2f\xfd", "zstd archive"},
	{"7z\xbc\xaf\x27\x1c", "7z archive"},
	{"Rar!\x1a\x07", "RAR archive"},
	{"\x7fELF", "ELF program"},
	{"\x89PNG\r\n\x1a\n", "PNG image"},
	{"\xff\xd8\xff", "JPEG image"},
	{"GIF87a", "GIF image"},
	{"GIF89a", "GIF image"},
	{"SQLite format 3\x00", "SQLite database"},
	{"\x00asm", "WebAssembly module"},
}

// binaryName names what body is if it is binary, and is empty for text.
func binaryName(t mediaType, body []byte) string {
	for _, s := range signatures {
		if bytes.HasPrefix(body, []byte(s.prefix)) {
			return s.name
		}
	}
	if bytes.IndexByte(body[:min(len(body), 1024)], 0) < 0 || isUTF16(t.charset, body) {
		return ""
	}
	if name := http.DetectContentType(body); name != "application/octet-stream" && !strings.HasPrefix(name, "text/") {
		return name
	}
	return "binary data (it holds NUL bytes)"
}
