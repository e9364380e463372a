package peer

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/klauspost/compress/zstd"

	"arborist/document"
)

// fetchAs returns the body of a resource as it stands on the wire.
func fetchAs(t testing.TB, h http.Handler, path, coding string) []byte {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, PathPrefix+path, nil)
	r.Header.Set("Accept-Encoding", coding)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK || w.Header().Get("Content-Encoding") != coding {
		t.Fatalf("%s as %q: status %d, coding %q", path, coding, w.Code, w.Header().Get("Content-Encoding"))
	}
	return w.Body.Bytes()
}

func TestCompressedElementsDecodeToThePlainOnes(t *testing.T) {
	a := newNode(t).up(nil)
	entries := []document.Entry{
		entryOf(t, "doc:/short", "x"),                    // too short to be compressed
		entryOf(t, "doc:/long", textOf("long", 300<<10)), // many frames
		entryOf(t, "doc:/same", string(bytes.Repeat([]byte("again and "), 9000))),
	}
	a.publish("main", append(entries, entriesOf(t, "doc:/x", 20, 3<<10)...)...)
	paths := []string{a.origin("main") + "/pack/000.p/23"}
	for _, e := range entries {
		paths = append(paths, a.origin("main")+"/doc/"+e.Document.Root().String())
	}
	for _, path := range paths {
		plain := fetchAs(t, a.peer.Handler(), path, "")
		packed := fetchAs(t, a.peer.Handler(), path, "zstd")
		d, err := zstd.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(d)
		d.Close()
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s: %d bytes decode to %d, plain are %d: %v", path, len(packed), len(got), len(plain), err)
		}
		if len(plain) > 10_000 && len(packed) > len(plain)*3/4 {
			t.Errorf("%s: %d bytes were compressed to %d", path, len(plain), len(packed))
		}
	}
}

func TestPlainFramesHoldWhatTheyAreGiven(t *testing.T) {
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, n := range []int{1, 2, 255, 256, 257, maxHeader, 64 << 10} {
		content := bytes.Repeat([]byte{7}, n)
		if got, err := d.DecodeAll(plainFrame(content), nil); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: %d come back, %v", n, len(got), err)
		}
	}
}
