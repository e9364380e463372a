package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"arborist/crawl/egress"
)

func TestRetryAfterIsReadInBothFormsAndCapped(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "120": 2 * time.Minute, " 5 ": 5 * time.Second, "86400": 24 * time.Hour,
		"86401": 24 * time.Hour, "99999999999999999999999": 24 * time.Hour,
		"-5": 0, "1.5": 0, "soon": 0, "1e3": 0, "0x10": 0,
		"Mon, 30 Nov 2026 12:01:30 GMT":  90 * time.Second,
		"Monday, 30-Nov-26 12:01:30 GMT": 90 * time.Second,
		"Mon Nov 30 12:01:30 2026":       90 * time.Second,
		"Mon, 30 Nov 2026 11:00:00 GMT":  0,
		"Fri, 01 Jan 2100 00:00:00 GMT":  24 * time.Hour,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestEveryStatusIsAnAnswerOrHasAClass(t *testing.T) {
	for code := range 1000 {
		e := StatusError("http://e.org/", code, nil)
		var want Class
		switch {
		case slices.Contains([]int{401, 402, 403, 407, 451}, code):
			want = Denied
		case slices.Contains([]int{408, 425, 429}, code), code >= 500, code < 200:
			want = Transient
		}
		if (e == nil) != (want == "") || e != nil && (e.Class != want || e.Status != code) {
			t.Errorf("%d: %+v, want class %q", code, e, want)
		}
	}
	h := http.Header{"Retry-After": {"7"}}
	if e := StatusError("u", 429, h); e.RetryAfter != 7*time.Second || e.Error() != "fetch u: status 429 too many requests" {
		t.Errorf("%+v %v", e, e)
	}
	if e := StatusError("u", 403, h); e.RetryAfter != 0 {
		t.Errorf("a final refusal waits %v", e.RetryAfter)
	}
}

func TestErrorNamesTheURLWithoutItsPassword(t *testing.T) {
	for url, want := range map[string]string{
		"http://e.org/a@b":                         "fetch http://e.org/a@b: why",
		"http://u:secret@e.org/":                   "fetch http://***@e.org/: why",
		"http://u:se@cret@e.org":                   "fetch http://***@e.org: why",
		"http://e.org?u:p@q":                       "fetch http://e.org?u:p@q: why",
		"nonsense":                                 "fetch nonsense: why",
		"http://e.org/" + strings.Repeat("a", 999): "fetch http://e.org/" + strings.Repeat("a", 187) + "…: why",
	} {
		if got := (&Error{URL: url, Reason: "why"}).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	cause := errors.New("cause")
	e := &Error{URL: "u", Class: Denied, Reason: "why", Err: cause}
	if e.Error() != "fetch u: why: cause" || !errors.Is(e, cause) || ClassOf(e) != Denied {
		t.Error(e)
	}
	if ClassOf(nil) != "" || ClassOf(context.Canceled) != "" {
		t.Error("an error of no class has one")
	}
}

func TestTypeIsReadWithoutItsParameters(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "text/html": "text/html", "Text/HTML; Charset=x": "text/html", "text/html;": "text/html", "text/html; a=b; a=b": "text/html",
		"text/html, text/html": "text/html, text/html", " image/PNG ": "image/png", "text/html; charset": "text/html", ";": "", "a b/c;d": "a b/c",
	} {
		if got := mediaType(header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
	for kind, want := range map[string]bool{
		"text/html": true, "": true, "application/xhtml+xml": true, "text/markdown": true, "text/plain": true,
		"text/css": false, "image/png": false, "application/octet-stream": false, "application/pdf": false, "text": false, "text/": false,
	} {
		if wanted(kind, PageTypes()) != want {
			t.Errorf("%q wanted: %v", kind, !want)
		}
	}
	if !wanted("image/png", []string{"image/*"}) || wanted("image", []string{"text/*"}) || wanted("", []string{"/*"}) {
		t.Error("a family is not matched as it should")
	}
}

func TestReadUpToNeverTakesMoreThanItIsGiven(t *testing.T) {
	for _, size := range []int{0, 1, 99, 100, 101, 16 << 10, 16<<10 + 1, 300_000} {
		data := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		for _, limit := range []int64{1, 100, 16 << 10, 299_999, 300_000, 1 << 30} {
			for _, hint := range []int64{0, int64(size), 5, 1 << 20} {
				for name, r := range map[string]io.Reader{
					"plain": bytes.NewReader(data), "one byte": iotest.OneByteReader(bytes.NewReader(data)), "with EOF": iotest.DataErrReader(bytes.NewReader(data)),
				} {
					if name == "one byte" && size > 20_000 {
						continue
					}
					room := make([]byte, []int{0, 100, 400_000}[(size+int(hint))%3])
					pieces, more, err := readUpTo(r, limit, min(hint, limit), room)
					got := join(pieces, limit)
					want := data[:min(int64(size), limit)]
					if err != nil || more != (int64(size) > limit) || !bytes.Equal(got, want) {
						t.Fatalf("%s: size %d limit %d hint %d: %d bytes, more %v, %v", name, size, limit, hint, len(got), more, err)
					}
					held := 0
					for _, p := range pieces {
						if len(room) == 0 || len(p) > 0 && &p[0] != &room[0] {
							held += cap(p)
						}
					}
					if len(room) > int(limit) && held > 0 && size > 0 {
						t.Fatalf("size %d, limit %d, hint %d: %d bytes held beside %d of room", size, limit, hint, held, len(room))
					}
					if int64(held) > limit+1 {
						t.Fatalf("%d bytes held for a limit of %d", held, limit)
					}
				}
			}
		}
	}
	if _, _, err := readUpTo(iotest.ErrReader(io.ErrUnexpectedEOF), 10, 0, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an end that came too soon is lost: %v", err)
	}
	if _, _, err := readUpTo(stuck{}, 10, 0, nil); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// What a decoder makes of arbitrary bytes stays within the limit, whatever
// the coding, and so does what it reads.
func FuzzDecodedBodyStaysWithinItsLimit(f *testing.F) {
	f.Add("gzip", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x00\x00\xff\xff"))
	f.Add("br", []byte("\x0b\x02\x80hello\x03"))
	f.Add("br", []byte("\x06"))
	f.Add("zstd", []byte("\x28\xb5\x2f\xfd\x04\x00\x01\x00\x00\x99\xe9\xd8\x51"))
	f.Add("zstd, gzip", []byte("\x1f\x8b"))
	f.Add("identity", []byte("text"))
	var d decoders
	f.Fuzz(func(t *testing.T, coding string, body []byte) {
		const limit = 4096
		raw := &counted{r: bytes.NewReader(body), what: "body", limit: limit}
		r, done, err := d.open([]string{coding}, raw, limit)
		if err != nil {
			return
		}
		defer done()
		pieces, more, err := readUpTo(r, limit, 0, nil)
		if got := len(join(pieces, limit)); err == nil && (got > limit || more && got != limit) {
			t.Errorf("%d bytes, more %v", got, more)
		}
		if raw.n > limit+1 {
			t.Errorf("%d bytes taken from the wire", raw.n)
		}
	})
}

func TestAnOriginThatPassedOpensNoOther(t *testing.T) {
	h := NewHTTP(HTTPConfig{Guard: &egress.Guard{Hosts: []string{"a.org"}}})
	defer h.Close()
	for _, c := range []struct {
		url    string
		passes bool
	}{
		{"http://a.org/x", true}, {"http://a.org/y", true}, {"http://b.org/x", false}, {"http://a.org:22/x", false},
		{"http://u:p@a.org/x", false}, {"ftp://a.org/x", false}, {"https://a.org/x", true}, {"http://a.org/z", true},
	} {
		tg, err := h.target(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.check(tg); (err == nil) != c.passes {
			t.Errorf("%s: %v", c.url, err)
		}
	}
}

// Whatever the URL, the target either is refused or goes to the host that the
// guard judges, and with the path and query that it has by WHATWG rules.
func FuzzTargetIsWhatTheURLSays(f *testing.F) {
	for _, s := range []string{
		"http://e.org/", "http://e.org/a%zz?b#c", "http://e.org//a%zz", "https://e.org:443?", "http://0x7f.1/\\..\\a", "http://[::1]:8080/%2F",
		"http:e.org", "http://u@e.org/", "http://e.org/\x00", "http://ü.org/ü?ü", "http://e.org/*", "http://e.org/%",
	} {
		f.Add(s)
	}
	h := NewHTTP(HTTPConfig{})
	defer h.Close()
	f.Fuzz(func(t *testing.T, raw string) {
		tg, err := parseTarget(raw)
		if err != nil {
			return
		}
		parsed, err := whatwg.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if tg.url.Host != parsed.Host() || tg.url.Scheme != parsed.Scheme() {
			t.Errorf("%q goes to %s://%s", raw, tg.url.Scheme, tg.url.Host)
		}
		if s := parsed.Scheme(); s != "http" && s != "https" {
			return // the guard refuses it
		}
		want := parsed.Pathname() + parsed.Search()
		got := strings.TrimPrefix(tg.url.RequestURI(), tg.url.Scheme+"://"+tg.url.Host)
		if got != want && got != want+"?" {
			t.Errorf("%q asks for %q, want %q", raw, got, want)
		}
		// The second time, its origin is known.
		for range 2 {
			if short, err := h.target(raw); err != nil || short.text != tg.text || short.url.String() != tg.url.String() {
				t.Errorf("%q: %+v, %v; want %+v", raw, short, err, tg)
			}
		}
		if strings.ContainsAny(got, " \r\n\t\x00") {
			t.Errorf("%q asks for %q", raw, got)
		}
		if to := tg.resolve("?x"); to != "" {
			if u, err := url.Parse(to); err == nil && u.Host != tg.url.Host {
				t.Errorf("%q: a query leads to %q", raw, to)
			}
		}
	})
}

// Each of the words that a wall is looked for by is found wherever it stands,
// and nothing that only begins like one.
func TestFirstLookForWallsMissesNoWord(t *testing.T) {
	words := []string{"cookie", "COOKIE", "consent", "Consent", "CONSENT", "Datenschutz", "personal", "Personal", "confidentialité"}
	for _, w := range words {
		for _, page := range []string{w, "kKzpPC" + w, w + "kKzpPC", "zutu " + w + " kiz"} {
			if !speaksOfConsent([]byte(page)) {
				t.Errorf("%q was missed", page)
			}
		}
	}
	if page := "ki zut person Persona nsen CON fidential"; speaksOfConsent([]byte(page)) {
		t.Errorf("found a word in %q", page)
	}
}
