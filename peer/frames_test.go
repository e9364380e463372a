package peer

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"arborist/document"
)

func framesOf(t testing.TB, body io.Reader) *frameReader {
	t.Helper()
	whole, err := new(wholeFrames).decoder()
	if err != nil {
		t.Fatal(err)
	}
	f := newFrameReader(body, whole)
	t.Cleanup(f.close)
	return f
}

func encodeZstd(t testing.TB, content []byte, opts ...zstd.EOption) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.EncodeAll(content, nil)
}

// mixedBody returns frames of all kinds and what they hold.
func mixedBody(t testing.TB) (frames [][]byte, content []byte) {
	t.Helper()
	text := []byte(textOf("mixed", 300<<10))
	add := func(frame, part []byte) {
		frames, content = append(frames, frame), append(content, part...)
	}
	add(plainFrame([]byte{0, 0}), []byte{0, 0})
	add(encodeZstd(t, text[:100]), text[:100])
	add(encodeZstd(t, text[:16<<10], zstd.WithEncoderCRC(false)), text[:16<<10])
	add(encodeZstd(t, nil, zstd.WithZeroFrames(true)), nil)
	add([]byte{0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3}, nil) // is skipped
	add(encodeZstd(t, text[100:200]), text[100:200])
	add(encodeZstd(t, text), text)
	add(plainFrame(text[:300]), text[:300])
	return frames, content
}

func TestFramesOfAllKindsGiveWhatAStreamDecoderGives(t *testing.T) {
	frames, content := mixedBody(t)
	body := bytes.Join(frames, nil)
	for name, r := range map[string]io.Reader{"at once": bytes.NewReader(body), "byte by byte": iotest.OneByteReader(bytes.NewReader(body))} {
		if got, err := io.ReadAll(framesOf(t, r)); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes, want %d, %v", name, len(got), len(content), err)
		}
	}
	// A cut between two frames is seen by who counts what came; any other is seen here.
	ends := map[int]bool{0: true}
	at := 0
	for _, f := range frames {
		at += len(f)
		ends[at] = true
	}
	for n := 0; n < len(body); n += 1 + n/500 {
		if _, err := io.ReadAll(framesOf(t, bytes.NewReader(body[:n]))); (err == nil) != ends[n] {
			t.Fatalf("cut after %d bytes of %d: %v", n, len(body), err)
		}
	}
	broken := errors.New("broken")
	if _, err := io.ReadAll(framesOf(t, io.MultiReader(bytes.NewReader(body[:200]), iotest.ErrReader(broken)))); !errors.Is(err, broken) {
		t.Errorf("an error of the connection = %v", err)
	}
}

func TestFramesAreKeptWhereTheyHoldNothingElse(t *testing.T) {
	text := []byte(textOf("kept", 40<<10))
	head := plainFrame([]byte("head"))
	one, two := encodeZstd(t, text[:16<<10]), encodeZstd(t, text[16<<10:])
	large := encodeZstd(t, bytes.Repeat(text, 4))
	for name, c := range map[string]struct {
		frames [][]byte
		size   int
		want   [][]byte
	}{
		"frames of their own":         {[][]byte{head, one, two, head}, len(text), [][]byte{one, two}},
		"the end of the last one too": {[][]byte{head, one, two, head}, len(text) - 1, nil},
		"one that is too large":       {[][]byte{head, large}, 4 * len(text), nil},
		"head and text in one":        {[][]byte{encodeZstd(t, append([]byte("head"), text[:1000]...))}, 1000, nil},
	} {
		f := framesOf(t, bytes.NewReader(bytes.Join(c.frames, nil)))
		for _, n := range []int{4, c.size} {
			f.keep()
			if _, err := io.ReadFull(f, make([]byte, n)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got := f.take()
			if n == c.size && !slices.EqualFunc(got, c.want, bytes.Equal) {
				t.Errorf("%s: %d frames kept, want %d", name, len(got), len(c.want))
			}
		}
	}
}

func FuzzFramesGiveWhatAStreamDecoderGives(f *testing.F) {
	frames, _ := mixedBody(f)
	for _, frame := range frames[:6] {
		f.Add(frame)
	}
	f.Add(bytes.Join(frames[:6], nil))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		const most = 1 << 20
		want, wantErr := io.ReadAll(io.LimitReader(d, most))
		got, err := io.ReadAll(io.LimitReader(framesOf(t, bytes.NewReader(body)), most))
		if wantErr == nil && (err != nil || !bytes.Equal(got, want)) {
			t.Errorf("%d bytes and %v, a stream decoder gives %d", len(got), err, len(want))
		}
		if wantErr != nil && err == nil {
			t.Errorf("%d bytes, a stream decoder fails with %v", len(got), wantErr)
		}
	})
}

// A source that compresses better than we do saves us room and work: what it sent
// is what is stored, and what is sent on.
func TestTextIsStoredInTheFramesThatItCameIn(t *testing.T) {
	a := newNode(t).up(nil)
	entries := entriesOf(t, "doc:/x", 8, 20<<10)
	a.publish("main", entries...)
	var sent [][]byte // as they came from a, but compressed as well as can be
	better := newRelay(t, a, func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
		if !ofKind(kindPack)(path) {
			honest.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		honest.ServeHTTP(answer, r)
		w.Header().Set("Content-Encoding", "zstd")
		f := framesOf(t, answer.Body)
		for f.next() == nil {
			frame := encodeZstd(t, f.plain, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderCRC(false))
			if len(f.plain) > maxHeader {
				sent = append(sent, frame)
			}
			w.Write(frame)
		}
	})
	b := newNode(t).up(nil)
	if _, err := b.peer.Sync(t.Context(), better.addr, a.origin("main"), nil); err != nil {
		t.Fatal(err)
	}
	var headers []document.Header
	for _, e := range entries {
		headers = append(headers, e.Document.Header())
	}
	docs, err := b.shared.Stored(t.Context(), headers, true)
	if err != nil {
		t.Fatal(err)
	}
	var stored [][]byte
	for _, doc := range docs {
		stored = append(stored, doc.Parts...)
	}
	if len(sent) < len(entries) || !slices.EqualFunc(stored, sent, bytes.Equal) {
		t.Errorf("%d frames are stored, %d were sent, or they differ", len(stored), len(sent))
	}
}
