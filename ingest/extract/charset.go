package extract

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"
)

// metaWindow is how far into a page a charset declaration is looked for.
const metaWindow = 4 << 10

var utf8BOM = []byte("\xef\xbb\xbf")

// decode gives the text as UTF-8. The charset is taken from, in this order: a
// byte order mark; what the server declared; the bytes, where all of them are
// valid UTF-8; what the page declares; else windows-1252, as browsers do.
func decode(t mediaType, body []byte) ([]byte, error) {
	if rest, ok := bytes.CutPrefix(body, utf8BOM); ok {
		return rest, nil
	}
	enc := bomEncoding(body)
	if enc == nil && t.charset != "" {
		enc, _ = charset.Lookup(t.charset)
	}
	if enc == nil {
		if utf8.Valid(body) {
			return body, nil
		}
		enc = metaEncoding(t, body)
	}
	if enc == encoding.Nop || enc == nil {
		return body, nil
	}
	text, _, err := transform.Bytes(enc.NewDecoder(), body)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", t.media, err)
	}
	return text, nil
}

func bomEncoding(body []byte) encoding.Encoding {
	for _, b := range []struct{ mark, name string }{{"\xff\xfe", "utf-16le"}, {"\xfe\xff", "utf-16be"}} {
		if bytes.HasPrefix(body, []byte(b.mark)) {
			enc, _ := charset.Lookup(b.name)
			return enc
		}
	}
	return nil
}

func isUTF16(declared string, body []byte) bool {
	return bomEncoding(body) != nil || strings.HasPrefix(strings.ToLower(declared), "utf-16")
}

// metaEncoding reads the page's own declaration. Bytes that reach it are not
// valid UTF-8.
func metaEncoding(t mediaType, body []byte) encoding.Encoding {
	if t.kind == kindHTML {
		enc, name, _ := charset.DetermineEncoding(body[:min(len(body), metaWindow)], "text/html")
		if name != "utf-8" {
			return enc
		}
	}
	enc, _ := charset.Lookup("windows-1252")
	return enc
}
