package fetch_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"arborist/crawl/fetch"
	"arborist/crawl/fetch/fetchtest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// serve starts a server and a fetcher that may reach it.
func serve(t testing.TB, h http.HandlerFunc, cfg fetch.HTTPConfig) (*fetch.HTTP, string) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	cfg.Guard = fetchtest.Allow(addrOf(srv))
	return newHTTP(t, cfg), srv.URL
}

func addrOf(srv *httptest.Server) netip.AddrPort {
	return netip.MustParseAddrPort(srv.Listener.Addr().String())
}

// coded answers every request with body under the given codings.
func coded(body []byte, codings ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for _, c := range codings {
			w.Header().Add("Content-Encoding", c)
		}
		w.Write(body)
	}
}

func TestEveryContentCodingIsDecoded(t *testing.T) {
	text := []byte(strings.Repeat("<p>Straße, 木, and more of the same</p>\n", 3000))
	gz, br, zs := fetchtest.Gzip(text), fetchtest.Brotli(text), fetchtest.Zstd(text)
	for _, c := range []struct {
		name    string
		body    []byte
		codings []string
		want    []byte
	}{
		{"none", text, nil, text},
		{"identity", text, []string{"identity"}, text},
		{"gzip", gz, []string{"gzip"}, text},
		{"GZIP", gz, []string{"GZIP"}, text},
		{"x-gzip", gz, []string{"x-gzip"}, text},
		{"br", br, []string{"br"}, text},
		{"zstd", zs, []string{"zstd"}, text},
		{"zstd then gzip", fetchtest.Gzip(zs), []string{"zstd, gzip"}, text},
		{"br then identity then gzip, two headers", fetchtest.Gzip(br), []string{"br", "identity, gzip"}, text},
		{"two gzip members", append(fetchtest.Gzip(text[:100]), fetchtest.Gzip(text[100:])...), []string{"gzip"}, text},
		{"gzip with padding after it", append(bytes.Clone(gz), make([]byte, 512)...), []string{"gzip"}, text},
		{"gzip with the end of a line", append(bytes.Clone(gz), "\r\n"...), []string{"gzip"}, text},
		{"gzip with a tail of text", append(bytes.Clone(gz), "\n<!-- cached -->"...), []string{"gzip"}, text},
		{"two zstd frames", append(fetchtest.Zstd(text[:100]), fetchtest.Zstd(text[100:])...), []string{"zstd"}, text},
		{"empty body said to be gzip", nil, []string{"gzip"}, nil},
		{"empty gzip", fetchtest.Gzip(nil), []string{"gzip"}, nil},
		{"empty br", fetchtest.Brotli(nil), []string{"br"}, nil},
		{"empty zstd", fetchtest.Zstd(nil), []string{"zstd"}, nil},
	} {
		f, base := serve(t, coded(c.body, c.codings...), fetch.HTTPConfig{})
		for range 3 { // decoders are used again
			r, err := f.Fetch(t.Context(), fetch.Request{URL: base})
			if err != nil || !bytes.Equal(r.Body, c.want) {
				t.Errorf("%s: %d bytes, %v; want %d", c.name, len(r.Body), err, len(c.want))
			}
			if r.Wire != int64(len(c.body)) {
				t.Errorf("%s: %d bytes on the wire, sent %d", c.name, r.Wire, len(c.body))
			}
		}
	}
}

func TestBrokenCodingHasAClass(t *testing.T) {
	text := []byte(strings.Repeat("some text that does not repeat itself much: 0123456789\n", 200))
	for name, body := range map[string][]byte{"gzip": fetchtest.Gzip(text), "br": fetchtest.Brotli(text), "zstd": fetchtest.Zstd(text)} {
		flipped := bytes.Clone(body)
		flipped[len(flipped)/2] ^= 0x55
		for what, b := range map[string][]byte{
			"cut": body[:len(body)*2/3], "cut at the last byte": body[:len(body)-1], "only text": text, "flipped": flipped, "first byte": body[:1],
		} {
			f, base := serve(t, coded(b, name), fetch.HTTPConfig{})
			r, err := f.Fetch(t.Context(), fetch.Request{URL: base})
			if fetch.ClassOf(err) != fetch.Transient {
				t.Errorf("%s %s: %d bytes, %v", name, what, len(r.Body), err)
			}
		}
	}
	for _, coding := range []string{"compress", "deflate", "aes128gcm", "gzip, gzip, gzip", strings.Repeat("x", 5000)} {
		f, base := serve(t, coded(text, coding), fetch.HTTPConfig{})
		_, err := f.Fetch(t.Context(), fetch.Request{URL: base})
		if fetch.ClassOf(err) != fetch.Denied || len(err.Error()) > 500 {
			t.Errorf("%.30s: %v", coding, err)
		}
	}
}

// zeros is an endless body of one byte value.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func bomb(t testing.TB, size int64, open func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var b bytes.Buffer
	w := open(&b)
	if _, err := io.CopyN(w, zeros{}, size); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipTo(w io.Writer) io.WriteCloser {
	z, _ := gzip.NewWriterLevel(w, 1)
	return z
}
func brotliTo(w io.Writer) io.WriteCloser {
	return brotli.NewWriterOptions(w, brotli.WriterOptions{Quality: 1, LGWin: 24})
}
func zstdTo(w io.Writer) io.WriteCloser {
	z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(8<<20))
	return z
}

// Threat 17. The bombs hold far more than the limit of 10 MiB. What a fetch of
// one allocates in all (not only at one moment) is the body up to the limit and
// the decoder's window: 8 MiB at most for zstd, up to 16 MiB for br, which
// grows there by doubling.
func TestDecompressionBombStopsAtTheLimit(t *testing.T) {
	const unpacked = 128 << 20
	gz := bomb(t, unpacked, gzipTo)
	nothing := bytes.Repeat(fetchtest.Gzip(nil), 600_000) // 13 MB of empty members
	twice := fetchtest.Gzip(gz)                           // 10 GB of zeros reach 10 MB in one gzip, 30 KB in two
	bombs := map[string]struct {
		codings string
		body    []byte
		allowed uint64 // bytes allocated
	}{
		"gzip":         {"gzip", gz, 12 << 20},
		"gzip, gzip":   {"gzip, gzip", twice, 12 << 20},
		"br":           {"br", bomb(t, unpacked, brotliTo), 46 << 20},
		"zstd":         {"zstd", bomb(t, unpacked, zstdTo), 20 << 20},
		"empty gzips":  {"gzip", nothing, 2 << 20},
		"and packed":   {"gzip, gzip", fetchtest.Gzip(nothing), 2 << 20},
		"many members": {"gzip", bytes.Repeat(gz, 20), 12 << 20},
	}
	for name, b := range bombs {
		f, base := serve(t, coded(b.body, b.codings), fetch.HTTPConfig{})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := f.Fetch(t.Context(), fetch.Request{URL: base})
		runtime.ReadMemStats(&after)
		spent := after.TotalAlloc - before.TotalAlloc
		t.Logf("%-13s %8d bytes sent, unpacked at least %d: %5.1f MB allocated", name, len(b.body), unpacked, float64(spent)/1e6)
		if fetch.ClassOf(err) != fetch.ResourceLimit || !errors.Is(err, fetch.ErrTooLarge) || r.Body != nil {
			t.Errorf("%s: %d bytes, %v", name, len(r.Body), err)
		}
		if spent > b.allowed {
			t.Errorf("%s: %d bytes allocated", name, spent)
		}
	}
}

func TestZstdWindowIsBounded(t *testing.T) {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithWindowSize(64<<20), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	io.CopyN(z, rand.NewChaCha8([32]byte{}), 100)
	z.Flush() // no content size in the frame: the window counts
	z.Close()
	f, base := serve(t, coded(b.Bytes(), "zstd"), fetch.HTTPConfig{})
	if r, err := f.Fetch(t.Context(), fetch.Request{URL: base}); fetch.ClassOf(err) != fetch.ResourceLimit {
		t.Errorf("a window of 64 MiB: %d bytes, %v", len(r.Body), err)
	}
}

func TestLimitIsExact(t *testing.T) {
	const limit = 50_000
	for _, coding := range []string{"", "gzip", "br", "zstd"} {
		for size, ok := range map[int]bool{0: true, 1: true, limit - 1: true, limit: true, limit + 1: false, 3 * limit: false} {
			text := bytes.Repeat([]byte("x"), size)
			body := map[string]func([]byte) []byte{
				"": func(b []byte) []byte { return b }, "gzip": fetchtest.Gzip, "br": fetchtest.Brotli, "zstd": fetchtest.Zstd,
			}[coding](text)
			for _, chunked := range []bool{false, true} {
				f, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/html")
					if coding != "" {
						w.Header().Set("Content-Encoding", coding)
					}
					if chunked {
						w.(http.Flusher).Flush()
					} else {
						w.Header().Set("Content-Length", strconv.Itoa(len(body)))
					}
					w.Write(body)
				}, fetch.HTTPConfig{MaxBody: limit})
				r, err := f.Fetch(t.Context(), fetch.Request{URL: base})
				if ok && (err != nil || !bytes.Equal(r.Body, text)) || !ok && fetch.ClassOf(err) != fetch.ResourceLimit {
					t.Errorf("%q chunked %v, %d of %d bytes: %d, %v", coding, chunked, size, limit, len(r.Body), err)
				}
				// The same body with a prefix asked for.
				r, err = f.Fetch(t.Context(), fetch.Request{URL: base, Prefix: 1000})
				if err != nil || !bytes.Equal(r.Body, text[:min(size, 1000)]) || r.Truncated != (size > 1000) {
					t.Errorf("%q chunked %v, prefix of %d: %d, cut %v, %v", coding, chunked, size, len(r.Body), r.Truncated, err)
				}
			}
		}
	}
}

func TestAcceptEncodingNamesWhatIsDecoded(t *testing.T) {
	f, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("Accept-Encoding"))
	}, fetch.HTTPConfig{Types: []string{"text/*"}})
	r, err := f.Fetch(t.Context(), fetch.Request{URL: base})
	if err != nil || string(r.Body) != "gzip, br, zstd" {
		t.Errorf("%q, %v", r.Body, err)
	}
}
