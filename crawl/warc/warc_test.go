package warc_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nlnwa/gowarc/v3"

	"arborist/crawl/fetch"
	"arborist/crawl/warc"
)

func exchange(path, body string) fetch.Exchange {
	return fetch.Exchange{
		URL: "http://example.org" + path, At: time.Date(2026, 11, 30, 10, 0, 0, 123456789, time.UTC), Method: http.MethodGet, Target: path,
		Request: http.Header{"Host": {"example.org"}, "User-Agent": {"Arborist"}, "Cookie": {"sid=HIDDEN"}, "Authorization": {"Basic HIDDEN"}},
		Status:  200, Body: []byte(body),
		Header: http.Header{
			"Content-Type": {"text/html"}, "Content-Length": {fmt.Sprint(len(body))}, "Set-Cookie": {"sid=HIDDEN", "b=HIDDEN"}, "X-Csrf-Token": {"HIDDEN"},
			"X-Amz-Security-Token": {"HIDDEN"}, "Www-Authenticate": {"Basic realm=HIDDEN"}, "X-Odd": {"a\r\nInjected: yes"}, "Vary": {"Accept", "Cookie"},
		},
	}
}

// read gives every record of a file as an independent reader sees it, which is
// as strict as it can be.
func read(t *testing.T, path string) (all []map[string]string) {
	t.Helper()
	r, err := gowarc.NewWarcFileReader(path, 0, gowarc.WithStrictValidation(), gowarc.WithBufferTmpDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("record %d of %s: %v", len(all), path, err)
		}
		for _, v := range rec.Validation {
			t.Errorf("record %d of %s: %v", len(all), path, v)
		}
		h := rec.WarcRecord.WarcHeader()
		m := map[string]string{"type": rec.WarcRecord.Type().String()}
		for _, name := range []string{gowarc.WarcTargetURI, gowarc.WarcDate, gowarc.WarcRecordID, gowarc.WarcConcurrentTo, gowarc.WarcRefersTo, gowarc.WarcRefersToTargetURI,
			gowarc.WarcProfile, gowarc.WarcTruncated, gowarc.WarcWarcinfoID, gowarc.WarcPayloadDigest, gowarc.ContentType} {
			m[name] = h.Get(name)
		}
		block, err := rec.WarcRecord.Block().RawBytes()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(block)
		if err != nil {
			t.Fatal(err)
		}
		m["block"] = string(b)
		all = append(all, m)
		rec.Close()
	}
}

func TestRecordsAreReadByAnotherReader(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	w, err := warc.Create(warc.Config{Dir: dir, UserAgent: "Arborist (+https://example.org)"})
	if err != nil {
		t.Fatal(err)
	}
	cut := exchange("/cut", "half a")
	cut.Cut = true
	for _, ex := range []fetch.Exchange{
		exchange("/a?x=1", "<p>one"), exchange("/b", "<p>two"), exchange("/c", "<p>one"), cut, exchange("/d", "half a"),
		{URL: "http://example.org/hosted", At: time.Now(), Status: 200, ContentType: "text/html; charset=utf-8", Body: []byte("<p>by a service")},
		{URL: "http://example.org/none", At: time.Now(), Method: http.MethodGet, Target: "/none", Status: 404, Header: http.Header{}},
	} {
		if err := w.Record(ex); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files := w.Files()
	if len(files) != 1 || !strings.HasSuffix(files[0], ".warc.gz") {
		t.Fatal(files)
	}
	got := read(t, files[0])
	var order []string
	for _, r := range got {
		order = append(order, r["type"]+" "+strings.TrimPrefix(r[gowarc.WarcTargetURI], "http://example.org"))
		if strings.Contains(r["block"], "HIDDEN") || strings.Contains(r["block"], "\nInjected") {
			t.Errorf("%s", r["block"])
		}
		if r["type"] != "warcinfo" && r[gowarc.WarcWarcinfoID] != got[0][gowarc.WarcRecordID] {
			t.Errorf("%s names warcinfo %s", r["type"], r[gowarc.WarcWarcinfoID])
		}
	}
	want := "warcinfo , response /a?x=1, request /a?x=1, response /b, request /b, revisit /c, request /c, response /cut, request /cut, response /d, request /d, resource /hosted, response /none, request /none"
	if strings.Join(order, ", ") != want {
		t.Errorf("records %q, want %q", order, want)
	}
	first, request, revisit := got[1], got[2], got[5]
	if !strings.HasPrefix(request["block"], "GET /a?x=1 HTTP/1.1\r\nHost: example.org\r\n") || request[gowarc.WarcConcurrentTo] != first[gowarc.WarcRecordID] {
		t.Errorf("request %q", request)
	}
	if !strings.HasPrefix(first["block"], "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(first["block"], "\r\n\r\n<p>one") || first[gowarc.WarcDate] != "2026-11-30T10:00:00.123456Z" {
		t.Errorf("response %q", first)
	}
	if revisit[gowarc.WarcRefersTo] != first[gowarc.WarcRecordID] || revisit[gowarc.WarcRefersToTargetURI] != "http://example.org/a?x=1" ||
		revisit[gowarc.WarcProfile] != gowarc.ProfileIdenticalPayloadDigestV1_1 || revisit[gowarc.WarcPayloadDigest] != first[gowarc.WarcPayloadDigest] || !strings.HasSuffix(revisit["block"], "\r\n\r\n") {
		t.Errorf("revisit %q", revisit)
	}
	if got[7][gowarc.WarcTruncated] == "" || got[9][gowarc.WarcTruncated] != "" {
		t.Error("an answer cut short is not marked, or another is")
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700, files[0]: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, want %v", path, info.Mode(), mode)
		}
	}
	// And by the tools at hand.
	if out, err := exec.Command("zcat", files[0]).Output(); err == nil && bytes.Count(out, []byte("WARC/1.1\r\n")) != len(got) {
		t.Errorf("zcat sees %d records, want %d", bytes.Count(out, []byte("WARC/1.1\r\n")), len(got))
	}
}

// What recrawl-check asks: is the page as it was?
func TestQuestionsAboutAPageAreArchivedAsWhatTheyAre(t *testing.T) {
	w, err := warc.Create(warc.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	head, same, sameGet := exchange("/head", ""), exchange("/same", ""), exchange("/same-get", "")
	head.Method, same.Method = http.MethodHead, http.MethodHead
	head.Header.Set("Content-Length", "4711")
	for _, ex := range []*fetch.Exchange{&same, &sameGet} {
		ex.Status = http.StatusNotModified
		ex.Header = http.Header{"Etag": {`"v1"`}}
	}
	for _, ex := range []fetch.Exchange{head, same, sameGet} {
		if err := w.Record(ex); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got := read(t, w.Files()[0])
	if len(got) != 7 {
		t.Fatalf("%d records", len(got))
	}
	if a, q := got[1], got[2]; a["type"] != "response" || a[gowarc.WarcTruncated] == "" || a[gowarc.WarcPayloadDigest] != "" ||
		!strings.Contains(a["block"], "Content-Length: 4711\r\n") || !strings.HasPrefix(q["block"], "HEAD /head HTTP/1.1\r\n") {
		t.Errorf("HEAD: %q, %q", a, q)
	}
	for i, method := range []string{"HEAD", "GET"} {
		a, q := got[3+2*i], got[4+2*i]
		if a["type"] != "revisit" || a[gowarc.WarcProfile] != gowarc.ProfileServerNotModifiedV1_1 || a[gowarc.WarcRefersToTargetURI] != a[gowarc.WarcTargetURI] ||
			!strings.HasPrefix(a["block"], "HTTP/1.1 304 Not Modified\r\n") || !strings.HasPrefix(q["block"], method+" /same") {
			t.Errorf("304: %q, %q", a, q)
		}
	}
}

func TestFilesAreRotatedAndNeverShared(t *testing.T) {
	dir := t.TempDir()
	create := func() *warc.Writer {
		w, err := warc.Create(warc.Config{Dir: dir, MaxSize: 4 << 10})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	a, b := create(), create() // two crawls at once
	var wg sync.WaitGroup
	for i := range 40 {
		for _, w := range []*warc.Writer{a, b} {
			wg.Go(func() {
				if err := w.Record(exchange(fmt.Sprint("/", i), fmt.Sprint("page ", i))); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	empty := create()
	seen := map[string]int{}
	for _, w := range []*warc.Writer{a, b, empty} {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		for _, f := range w.Files() {
			if info, err := os.Stat(f); err != nil || info.Size() > 4<<10 {
				t.Errorf("%s: %v bytes, %v", f, info.Size(), err)
			}
			for _, r := range read(t, f) {
				seen[r["type"]]++
			}
		}
	}
	if left, _ := os.ReadDir(dir); seen["response"] != 80 || seen["request"] != 80 || seen["warcinfo"] != len(left) || len(left) < 6 {
		t.Errorf("%v in %d files", seen, len(left))
	}
	if err := a.Record(exchange("/", "x")); err == nil {
		t.Error("a closed archive takes records")
	}
}

// What was recorded before a write failed stays readable, and nothing is
// written after it.
func TestAFailedWriteLeavesWholeRecords(t *testing.T) {
	if os.Getenv("WARC_TEST_LIMIT") == "" {
		// The shell's limit on the size of files stands for a full disk.
		cmd := exec.Command("sh", "-c", `ulimit -f 16; exec "$0" -test.run='^TestAFailedWriteLeavesWholeRecords$'`, os.Args[0])
		dir := t.TempDir()
		cmd.Env = append(os.Environ(), "WARC_TEST_LIMIT="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		files, _ := filepath.Glob(dir + "/*")
		if len(files) != 1 || len(read(t, files[0])) < 3 {
			t.Errorf("%v", files)
		}
		return
	}
	w, err := warc.Create(warc.Config{Dir: os.Getenv("WARC_TEST_LIMIT")})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		noise := make([]byte, 500)
		for j := range noise {
			noise[j] = byte(i*j*j + j)
		}
		if err := w.Record(exchange(fmt.Sprint("/", i), string(noise))); err != nil {
			if again := w.Record(exchange("/small", "x")); again == nil {
				t.Error("records are taken after one was lost")
			}
			if w.Close() == nil {
				t.Error("Close says that all is well")
			}
			return
		}
	}
	t.Error("the limit was never met")
}
