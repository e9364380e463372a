package source

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/net/html"

	"arborist/document"
	"arborist/ingest"
	"arborist/ingest/extract"
)

// WARC is the name of archives as a source in a document's location.
const WARC = "warc"

// A page is what a record's block holds, still encoded.
type page struct {
	header textproto.MIMEHeader
	body   []byte
}

// readMessage reads an HTTP answer. ok is false where its status is not 200.
func readMessage(block []byte) (p page, ok bool, err error) {
	in := textproto.NewReader(bufio.NewReader(bytes.NewReader(block)))
	first, err := in.ReadLine()
	if err != nil {
		return p, false, errors.New("its HTTP answer has no status line")
	}
	_, status, _ := strings.Cut(first, " ")
	status, _, _ = strings.Cut(strings.TrimSpace(status), " ")
	code, err := strconv.Atoi(status)
	if err != nil || !strings.HasPrefix(first, "HTTP/") {
		return p, false, fmt.Errorf("its HTTP answer begins with %.40q", first)
	}
	p.header, err = in.ReadMIMEHeader()
	if err != nil {
		return p, false, fmt.Errorf("its HTTP header: %w", err)
	}
	if code != http.StatusOK {
		return p, false, nil
	}
	p.body, err = io.ReadAll(in.R)
	if err != nil {
		return p, false, err
	}
	if strings.EqualFold(p.header.Get("Transfer-Encoding"), "chunked") {
		// Some writers keep the chunks, some the header alone.
		whole, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(p.body)))
		if err == nil {
			p.body = whole
		}
	}
	return p, true, nil
}

// decoded gives the body without its content codings, of at most limit bytes, which
// are taken from a budget.
func (p page) decoded(limit int64, b *budget) ([]byte, error) {
	body := p.body
	codings := strings.Split(strings.Join(p.header.Values("Content-Encoding"), ","), ",")
	if len(codings) > 3 {
		return nil, errors.New("too many content codings on top of each other")
	}
	for i := len(codings) - 1; i >= 0; i-- {
		var r io.Reader
		var err error
		switch c := strings.ToLower(strings.TrimSpace(codings[i])); c {
		case "", "identity":
			continue
		case "gzip", "x-gzip":
			if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
				continue // decoded by the writer, which kept the header
			}
			r, err = gzip.NewReader(bytes.NewReader(body))
		case "br":
			r = brotli.NewReader(bytes.NewReader(body))
		case "zstd":
			var z *zstd.Decoder
			z, err = zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8<<20))
			if err == nil {
				defer z.Close()
				r = z
			}
		default:
			return nil, fmt.Errorf("content coding %.30q is not understood", c)
		}
		if err != nil {
			return nil, err
		}
		if body, err = io.ReadAll(io.LimitReader(&spend{r, b}, limit+1)); err != nil {
			return nil, fmt.Errorf("decode its body: %w", err)
		}
		if int64(len(body)) > limit {
			return nil, fmt.Errorf("%w: over %d bytes when decoded", ingest.ErrTooLarge, limit)
		}
	}
	return body, nil
}

// readable reports whether documents are made of this content type, and
// possible whether they are of what is declared so if it is a document file.
func readable(contentType string) (readable, possible bool) {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind, _, _ = strings.Cut(strings.ToLower(contentType), ";")
	}
	switch kind = strings.TrimSpace(kind); kind {
	case "text/html", "application/xhtml+xml", "text/plain", "text/markdown", "text/x-markdown":
		return true, true
	}
	family, _, _ := strings.Cut(kind, "/")
	return false, family == "application" || family == "binary" || family == "" || kind == "text/rtf"
}

// noIndex reports whether a page asks not to be kept, in its header or in
// <meta name=robots> near its start.
func noIndex(header textproto.MIMEHeader, body []byte) bool {
	for _, v := range header.Values("X-Robots-Tag") {
		if !strings.Contains(v, ":") && asksNoIndex(v) {
			return true
		}
	}
	z := html.NewTokenizer(bytes.NewReader(body[:min(len(body), 64<<10)]))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return false
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			if string(name) == "body" {
				return false
			}
			if string(name) != "meta" {
				continue
			}
			attr := map[string]string{}
			for more {
				var k, v []byte
				k, v, more = z.TagAttr()
				attr[string(k)] = string(v)
			}
			who := strings.ToLower(strings.TrimSpace(attr["name"]))
			if (who == "robots" || who == "arborist") && asksNoIndex(attr["content"]) {
				return true
			}
		}
	}
}

func asksNoIndex(directives string) bool {
	for d := range strings.SplitSeq(strings.ToLower(directives), ",") {
		if d = strings.TrimSpace(d); d == "noindex" || d == "none" {
			return true
		}
	}
	return false
}

// document makes a document of a page found at uri.
func (p page) document(uri, date string, limit int64, b *budget) (raw ingest.Raw, keep bool, err error) {
	kind := p.header.Get("Content-Type")
	declared, _ := readable(kind)
	body, err := p.decoded(limit, b)
	if !declared && (err != nil || !extract.IsDocument(body)) {
		return raw, false, nil
	}
	if err != nil {
		return raw, false, err
	}
	if noIndex(p.header, body) {
		return raw, false, nil
	}
	at, err := time.Parse(time.RFC3339, date)
	if err != nil {
		at = time.Time{} // the run's own time
	}
	return ingest.Raw{Body: body, Recorded: true, Location: document.Location{
		URI: uri, Source: WARC, FetchedAt: at.UTC().Truncate(time.Second), ContentType: kind,
		Status: http.StatusOK, ETag: p.header.Get("ETag"), Modified: p.header.Get("Last-Modified"),
	}}, true, nil
}
