package warc

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"arborist/crawl/fetch"
)

const (
	samePayload = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
	notModified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
)

// A record is one WARC record before it is written.
type record struct {
	kind, id, date string
	fields         []string // further header lines
	block          []byte
}

func (r *record) add(name, value string) {
	r.fields = append(r.fields, name+": "+line(value))
}

// member gives the record as a gzip member of its own.
func (r record) member() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprintf(z, "WARC/1.1\r\nWARC-Type: %s\r\nWARC-Record-ID: %s\r\nWARC-Date: %s\r\n", r.kind, r.id, r.date)
	for _, f := range r.fields {
		fmt.Fprintf(z, "%s\r\n", f)
	}
	fmt.Fprintf(z, "WARC-Block-Digest: %s\r\nContent-Length: %d\r\n\r\n", digestOf(r.block), len(r.block))
	z.Write(r.block)
	z.Write([]byte("\r\n\r\n"))
	z.Close() // writes to memory, where nothing fails
	return b.Bytes()
}

// recordsOf gives the records of an exchange, the answer's first. again names
// the record that has the same body already.
func recordsOf(ex fetch.Exchange, digest, info string, again *origin) []record {
	answer := record{kind: "response", id: newID(), date: stamp(ex.At)}
	answer.add("WARC-Target-URI", ex.URL)
	answer.add("WARC-Warcinfo-ID", info)
	if ex.Header == nil {
		answer.kind = "resource"
		answer.add("Content-Type", ex.ContentType)
		answer.add("WARC-Payload-Digest", digest)
		answer.block = ex.Body
		return []record{answer}
	}
	request := record{kind: "request", id: newID(), date: answer.date}
	request.add("WARC-Target-URI", ex.URL)
	request.add("WARC-Warcinfo-ID", info)
	request.add("WARC-Concurrent-To", answer.id)
	request.add("Content-Type", "application/http;msgtype=request")
	request.block = message(line(ex.Method+" "+ex.Target)+" HTTP/1.1", ex.Request, nil)

	answer.add("WARC-Concurrent-To", request.id)
	answer.add("Content-Type", "application/http;msgtype=response")
	status := strings.TrimSpace(fmt.Sprintf("HTTP/1.1 %03d %s", ex.Status, http.StatusText(ex.Status)))
	body := ex.Body
	head := ex.Method == http.MethodHead
	if !head && ex.Status != http.StatusNotModified {
		answer.add("WARC-Payload-Digest", digest)
	}
	switch {
	case ex.Status == http.StatusNotModified:
		answer.kind = "revisit"
		answer.add("WARC-Profile", notModified)
		answer.add("WARC-Refers-To-Target-URI", ex.URL)
	case again != nil:
		answer.kind, body = "revisit", nil
		answer.add("WARC-Profile", samePayload)
		answer.add("WARC-Refers-To", again.id)
		answer.add("WARC-Refers-To-Target-URI", again.uri)
		answer.add("WARC-Refers-To-Date", again.date)
	case ex.Cut, head: // a reader must not take a header alone for an empty page
		answer.add("WARC-Truncated", "unspecified")
	}
	answer.block = message(status, ex.Header, body)
	return []record{answer, request}
}

// message gives an HTTP message without its secrets, headers sorted by name.
func message(first string, header http.Header, body []byte) []byte {
	var b bytes.Buffer
	b.WriteString(first + "\r\n")
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if Secret(name) {
			continue
		}
		for _, v := range header[name] {
			b.WriteString(line(name) + ": " + line(v) + "\r\n")
		}
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}

// Secret reports whether a header may carry what identifies a session or a
// person: cookies, credentials, tokens, keys. Such headers are not archived.
func Secret(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"cookie", "auth", "token", "secret", "session", "csrf", "xsrf", "api-key", "apikey", "password", "credential", "signature"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// line keeps a value to one line: what strangers sent must not add a field.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\r' || r == '\n' || r == 0 {
			return ' '
		}
		return r
	}, s)
}

// digestOf gives a labelled digest. SHA-256, since with SHA-1 a site could make
// one page pass for another.
func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// newID gives a record ID: a random UUID (RFC 9562, version 4).
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("<urn:uuid:%x-%x-%x-%x-%x>", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
