package source

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"strings"
	"testing"

	"arborist/ingest"
)

// Whatever a file holds, reading it ends, and what it gives has a web address
// and keeps to the limit.
func FuzzArchive(f *testing.F) {
	record := func(kind, block string, fields ...string) string {
		return fmt.Sprintf("WARC/1.1\r\nWARC-Type: %s\r\nWARC-Target-URI: http://s.example/%s\r\nWARC-Date: 2020-02-03T04:05:06Z\r\n%s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
			kind, kind, strings.Join(fields, "\r\n"), len(block), block)
	}
	zipped := func(s string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write([]byte(s))
		z.Close()
		return b.String()
	}
	page := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>a"
	a := record("response", page, "Content-Type: application/http", "WARC-Payload-Digest: sha1:A")
	b := record("revisit", page, "Content-Type: application/http", "WARC-Payload-Digest: sha1:A", "WARC-Profile: x/identical-payload-digest")
	for _, seed := range []string{
		a + b, zipped(a) + zipped(b), zipped(a + b), zipped(a)[:60], "WARC/1.0\r\n", record("resource", "text", "Content-Type: text/plain", " folded"),
		record("response", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n", "Content-Type: application/http"),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		const limit = 64 << 10
		r := archiveRun{limit: limit, fail: func(string, error) {}, emit: func(raw ingest.Raw) error {
			if uri := raw.Location.URI; !strings.HasPrefix(strings.ToLower(uri), "http") || strings.Contains(uri, "#") || len(raw.Body) > limit+warcHeader {
				t.Errorf("%q with %d bytes", uri, len(raw.Body))
			}
			return nil
		}}
		in := bytes.NewReader(content)
		r.warc(context.Background(), "f", in, bytes.NewReader(content), int64(len(content)))
	})
}
