package source_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"arborist/ingest"
	"arborist/ingest/source"
	"arborist/internal/arbtest/ole"
	"arborist/internal/arbtest/ooxml"
)

// record gives a WARC record. fields are header lines beside the usual.
func record(kind, uri, block string, fields ...string) string {
	h := "WARC/1.0\r\nWARC-Type: " + kind + "\r\nWARC-Date: 2020-02-03T04:05:06Z\r\nWARC-Record-ID: <urn:uuid:" + uri + kind + ">\r\n"
	if uri != "" {
		h += "WARC-Target-URI: " + uri + "\r\n"
	}
	for _, f := range fields {
		h += f + "\r\n"
	}
	if !strings.Contains(h, "Content-Type:") {
		h += "Content-Type: application/http;msgtype=" + kind + "\r\n"
	}
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s\r\n\r\n", h, len(block), block)
}

func ok(body string, headers ...string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n" + strings.Join(append(headers, ""), "\r\n") + "\r\n" + body
}

func zipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return b.String()
}

func members(records ...string) string {
	var out string
	for _, r := range records {
		out += zipped(r)
	}
	return out
}

// a read archive: what it emitted, as "URI body", and what failed.
type readArchive struct {
	docs  []string
	raws  []ingest.Raw
	fails []string
	err   error
}

func readFile(t testing.TB, name, content string) readArchive {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return readPath(t, source.Archive{Path: path, MaxFile: 1 << 20})
}

func readPath(t testing.TB, a source.Archive) (r readArchive) {
	r.err = a.Documents(context.Background(), func(raw ingest.Raw) error {
		r.docs = append(r.docs, strings.TrimPrefix(raw.Location.URI, "http://s.example/")+" "+string(raw.Body))
		r.raws = append(r.raws, raw)
		return nil
	}, func(uri string, err error) { r.fails = append(r.fails, uri+": "+err.Error()) })
	return r
}

func wantDocs(t *testing.T, what string, r readArchive, docs string, fails ...string) {
	t.Helper()
	if got := strings.Join(r.docs, "|"); got != docs || r.err != nil {
		t.Errorf("%s: documents %q, error %v; want %q", what, got, r.err, docs)
	}
	if len(r.fails) != len(fails) {
		t.Errorf("%s: failures %q, want %q", what, r.fails, fails)
		return
	}
	for i, f := range fails {
		if !strings.Contains(r.fails[i], f) {
			t.Errorf("%s: failure %q, want %q", what, r.fails[i], f)
		}
	}
}

const s = "http://s.example/"

// What a server calls a document file says little; what else has the same first
// bytes is no document.
func TestDocumentFilesOfAnArchiveAreKnownByTheirBytes(t *testing.T) {
	docx := string(ooxml.Docx("<w:p><w:r><w:t>text</w:t></w:r></w:p>", nil))
	doc := string(ole.Doc{Paragraphs: []ole.Paragraph{{Text: "text\r"}}}.File())
	const paper = "%PDF-1.7\n"
	typed := func(kind, body string) string { return "HTTP/1.1 200 OK\r\nContent-Type: " + kind + "\r\n\r\n" + body }
	r := readFile(t, "a.warc", record("response", s+"a", typed("application/octet-stream", docx))+
		record("response", s+"b", typed("application/msword", doc))+
		record("response", s+"c", "HTTP/1.1 200 OK\r\n\r\n{\\rtf1 text}")+
		record("response", s+"d", typed("binary/octet-stream\r\nContent-Encoding: gzip", zipped(doc)))+
		record("resource", s+"e", "{\\rtf1 text}", "Content-Type: text/rtf")+
		record("response", s+"f", typed("application/pdf", paper))+
		record("response", s+"g", typed("application/octet-stream", paper))+
		record("response", s+"zip", typed("application/zip", string(ooxml.Zip(map[string]string{"a": "b"}))))+
		record("response", s+"msi", typed("application/octet-stream", string(ole.File(map[string][]byte{"Database": []byte("x")}))))+
		record("response", s+"js", typed("application/javascript", "{}"))+
		record("response", s+"odd", typed("application/json\r\nContent-Encoding: of-its-own", "{}"))+
		record("response", s+"pic", typed("image/png", docx)))
	for i, d := range r.docs {
		kind := map[string]string{docx: "docx", doc: "doc", paper: "pdf", `{\rtf1 text}`: "rtf"}
		r.docs[i] = d[:2] + kind[d[2:]]
	}
	wantDocs(t, "documents", r, "a docx|b doc|c rtf|d doc|e rtf|f pdf|g pdf")
}

func TestPagesOfAnArchiveAreRead(t *testing.T) {
	var br, zs bytes.Buffer
	w := brotli.NewWriter(&br)
	w.Write([]byte("<p>br"))
	w.Close()
	z, _ := zstd.NewWriter(&zs)
	z.Write([]byte("<p>zstd"))
	z.Close()
	digest := "WARC-Payload-Digest: sha1:AAAA"
	records := []string{
		record("warcinfo", "", "software: x\r\n", "Content-Type: application/warc-fields"),
		record("request", s+"a", "GET /a HTTP/1.1\r\nHost: s.example\r\n\r\n"),
		record("response", s+"a", ok("<p>a", `ETag: "v1"`, "Last-Modified: Mon, 02 Jan 2006 15:04:05 GMT"), digest),
		record("response", "<"+s+"b#part>", ok("<p>b")),
		record("response", s+"gone", "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\nno"),
		record("response", s+"pic", "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG"),
		record("response", s+"robots.txt", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nDisallow: /"),
		record("response", s+"gz", ok(zipped("<p>gz"), "Content-Encoding: gzip")),
		record("response", s+"br", ok(br.String(), "Content-Encoding: br")),
		record("response", s+"zstd", ok(zs.String(), "Content-Encoding: zstd")),
		record("response", s+"plainly", ok("<p>decoded already", "Content-Encoding: gzip")),
		record("response", s+"chunks", ok("5\r\n<p>ch\r\n4\r\nunks\r\n0\r\n\r\n", "Transfer-Encoding: chunked")),
		record("response", s+"nochunks", ok("<p>whole", "Transfer-Encoding: chunked")),
		record("response", s+"hidden", ok("<p>x", "X-Robots-Tag: noindex, nofollow")),
		record("response", s+"meta", ok("<meta name=robots content='NOINDEX'><p>x")),
		record("response", s+"other", ok("<p>other bot", "X-Robots-Tag: otherbot: nofollow, noindex")),
		record("resource", s+"res", "<p>resource", "Content-Type: text/html"),
		record("conversion", s+"conv", "converted", "Content-Type: text/plain"),
		record("metadata", s+"m", "a: b", "Content-Type: application/warc-fields"),
		record("response", s+"half", ok("<p>half"), "WARC-Truncated: length"),
		record("response", "dns:s.example", "1.2.3.4", "Content-Type: text/dns"),
		record("response", "http://user:pw@s.example/", ok("<p>secret")),
		record("revisit", s+"again", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: \"v2\"\r\n\r\n", digest, "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest", "WARC-Refers-To-Target-URI: "+s+"a"),
		record("revisit", s+"lost", "HTTP/1.1 200 OK\r\n\r\n", "WARC-Payload-Digest: sha1:BBBB", "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest", "WARC-Refers-To-Target-URI: "+s+"elsewhere"),
		record("revisit", s+"lost", "HTTP/1.1 200 OK\r\n\r\n", "WARC-Payload-Digest: sha1:BBBB", "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest", "WARC-Refers-To-Target-URI: "+s+"lost"),
		record("revisit", s+"same", "HTTP/1.1 304 Not Modified\r\n\r\n", "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified"),
		record("response", s+"odd", ok("x", "Content-Encoding: rot13")),
		record("response", s+"noise", "no HTTP at all"),
		record("response", s+"big", ok(strings.Repeat("x", 2<<20))),
		record("response", s+"bomb", ok(zipped(strings.Repeat("x", 2<<20)), "Content-Encoding: gzip")),
		record("response", s+"end", ok("<p>end")),
	}
	want := "a <p>a|b <p>b|gz <p>gz|br <p>br|zstd <p>zstd|plainly <p>decoded already|chunks <p>chunks|nochunks <p>whole|other <p>other bot|res <p>resource|conv converted|again <p>a|end <p>end"
	fails := []string{"s.example/lost: it is a revisit", "rot13", "noise: its HTTP answer", "big: document is too large", "bomb: document is too large"}
	var w2 bytes.Buffer
	wacz := zip.NewWriter(&w2)
	for _, e := range []struct {
		name   string
		method uint16
	}{{"archive/../../evil.warc.gz", zip.Store}, {"archive/b.warc.gz", zip.Deflate}, {"pages/pages.jsonl", zip.Store}} {
		f, err := wacz.CreateHeader(&zip.FileHeader{Name: e.name, Method: e.method})
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte(members(records[2], records[22])))
	}
	wacz.Close()

	for name, content := range map[string]string{
		"by-record.warc.gz": members(records...), "plain.warc": strings.Join(records, ""), "WHOLE.WARC.GZ": zipped(strings.Join(records, "")),
	} {
		wantFor, failsFor := want, fails
		if name == "WHOLE.WARC.GZ" { // no place in it can be found again
			wantFor, failsFor = strings.Replace(want, "|again <p>a", "", 1), append([]string{"again: it is a revisit"}, fails...)
		}
		wantDocs(t, name, readFile(t, name, content), wantFor, failsFor...)
	}
	r := readFile(t, "by-record.warc.gz", members(records...))
	l := r.raws[0].Location
	if l.Source != "warc" || l.ContentType != "text/html; charset=utf-8" || l.FetchedAt.Format("2006-01-02T15:04:05Z") != "2020-02-03T04:05:06Z" || l.Status != 200 || l.ETag != `"v1"` || l.Modified == "" {
		t.Errorf("location %+v", l)
	}
	if l := r.raws[11].Location; l.URI != s+"again" || l.ETag != `"v2"` {
		t.Errorf("location of the revisit %+v", l)
	}
	wantDocs(t, "wacz", readFile(t, "x.wacz", w2.String()), "a <p>a|again <p>a|a <p>a", "again: it is a revisit")
}

// What comes before the damage is read, and the damage is said, with its place.
func TestAnArchiveIsReadUpToItsCut(t *testing.T) {
	a, b, c := record("response", s+"a", ok("<p>a")), record("response", s+"b", ok("<p>b"+strings.Repeat(" and on", 50))), record("response", s+"c", ok("<p>c"))
	whole := members(a, b, c)
	first := len(zipped(a))
	for cut := first + 1; cut < len(whole)-len(zipped(c)); cut += 7 {
		r := readFile(t, "cut.warc.gz", whole[:cut])
		if len(r.docs) < 1 || len(r.docs) > 2 || len(r.fails) != 1 || r.err != nil || !strings.Contains(r.fails[0], "cut.warc.gz: archive is cut off or damaged at byte") {
			t.Fatalf("cut at %d: %q, %q, %v", cut, r.docs, r.fails, r.err)
		}
	}
	plain := a + b + c
	for cut := len(a) + 10; cut < len(a)+len(b)-4; cut += 11 {
		r := readFile(t, "cut.warc", plain[:cut])
		if len(r.docs) != 1 || len(r.fails) != 1 || r.err != nil {
			t.Fatalf("plain, cut at %d: %q, %q, %v", cut, r.docs, r.fails, r.err)
		}
	}
	spoilt := []byte(whole)
	spoilt[first+40] ^= 0x55
	if r := readFile(t, "spoilt.warc.gz", string(spoilt)); len(r.docs) > 2 || len(r.fails) != 1 || r.err != nil {
		t.Errorf("one byte changed: %q, %q, %v", r.docs, r.fails, r.err)
	}
	for name, header := range map[string]string{
		"endless line":    "WARC/1.0\r\nX: " + strings.Repeat("a", 100<<10),
		"endless header":  "WARC/1.0\r\n" + strings.Repeat("X: a\r\n", 10_000),
		"long line":       "WARC/1.0\r\nX: " + strings.Repeat("a", 100<<10) + "\r\nContent-Length: 0\r\n\r\n\r\n\r\n",
		"no length":       "WARC/1.0\r\nWARC-Type: response\r\n\r\nabc",
		"negative length": "WARC/1.0\r\nContent-Length: -5\r\n\r\nabc",
		"no header line":  "WARC/1.0\r\nnonsense\r\n\r\n",
		"other version":   "WARC/9.0\r\nContent-Length: 0\r\n\r\n",
		"lying length":    "WARC/1.0\r\nContent-Length: 999999999999\r\n\r\nabc",
	} {
		r := readFile(t, "x.warc.gz", members(a)+zipped(header))
		if len(r.docs) != 1 || len(r.fails) != 1 || r.err != nil {
			t.Errorf("%s: %q, %q, %v", name, r.docs, r.fails, r.err)
		}
	}
}

func TestWhatIsNoArchiveIsRefused(t *testing.T) {
	for name, content := range map[string]string{
		"text.warc": "hello there", "text.warc.gz": zipped("hello there\n\n"), "page.warc.gz": "<html>", "text.wacz": "PK but no", "empty.wacz": "PK\x05\x06" + strings.Repeat("\x00", 18),
	} {
		if r := readFile(t, name, content); !errors.Is(r.err, source.ErrArchive) || len(r.docs) > 0 {
			t.Errorf("%s: %v, %q", name, r.err, r.fails)
		}
	}
	if r := readFile(t, "empty.warc", ""); r.err != nil || len(r.docs)+len(r.fails) > 0 {
		t.Errorf("empty: %v, %q", r.err, r.fails)
	}
	dir := t.TempDir()
	os.WriteFile(dir+"/real.warc", nil, 0o600)
	os.Symlink(dir+"/real.warc", dir+"/link.warc")
	for path, want := range map[string]error{dir + "/link.warc": source.ErrNotRegular, dir + "/none.warc": os.ErrNotExist, dir: source.ErrNotRegular} {
		if r := readPath(t, source.Archive{Path: path}); !errors.Is(r.err, want) {
			t.Errorf("%s: %v, want %v", path, r.err, want)
		}
	}
}

// A small file that decompresses without end is given up.
func TestABombIsGivenUp(t *testing.T) {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	fmt.Fprintf(z, "WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 999999999999\r\n\r\n")
	zeros := make([]byte, 1<<20)
	for range 300 {
		z.Write(zeros)
	}
	z.Close()
	r := readFile(t, "bomb.warc.gz", members(record("response", s+"a", ok("<p>a")))+b.String())
	if len(r.docs) != 1 || len(r.fails) != 1 || !strings.Contains(r.fails[0], "far more") || r.err != nil {
		t.Errorf("%q, %q, %v", r.docs, r.fails, r.err)
	}
}

// What each page may be is bounded, and so is what all of them come to.
func TestPagesThatTogetherAreABombAreGivenUp(t *testing.T) {
	page := strings.Repeat("<p>a text that is long", 40_000) // 880 kB, of which 300 are over 256 MiB
	revisits := record("response", s+"a", ok(page), "WARC-Payload-Digest: sha1:AAAA")
	codings := ""
	for i := range 320 {
		uri := fmt.Sprint(s, i)
		revisits += record("revisit", uri, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", "WARC-Payload-Digest: sha1:AAAA", "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest", "WARC-Refers-To-Target-URI: "+s+"a")
		codings += record("response", uri, ok(zipped(page), "Content-Encoding: gzip"))
	}
	for name, content := range map[string]string{"revisits.warc": revisits, "codings.warc": codings} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		emitted, failed := 0, 0
		err := source.Archive{Path: path, MaxFile: 1 << 20}.Documents(t.Context(), func(ingest.Raw) error { emitted++; return nil }, func(_ string, err error) {
			if failed++; !errors.Is(err, source.ErrBomb) {
				t.Errorf("%s: %v", name, err)
			}
		})
		if err != nil || emitted < 200 || emitted*len(page) > 256<<20+len(page) || failed == 0 {
			t.Errorf("%s: %d pages of %d KB, %d failures, %v", name, emitted, len(page)>>10, failed, err)
		}
	}
}

func TestAnArchiveStopsWhenToldTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.warc")
	os.WriteFile(path, []byte(record("response", s+"a", ok("a"))+record("response", s+"b", ok("b"))), 0o600)
	stop := errors.New("enough")
	err := source.Archive{Path: path}.Documents(context.Background(), func(ingest.Raw) error { return stop }, func(string, error) {})
	if !errors.Is(err, stop) {
		t.Errorf("error of emit: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := (source.Archive{Path: path}).Documents(ctx, func(ingest.Raw) error { return nil }, func(string, error) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
