package peer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"arborist/document"
)

// An alteration is something that a hostile source does to a resource.
type alteration struct {
	name  string
	alter func([]byte) []byte
	want  []error // any of them
}

func flipAt(at func(n int) int) func([]byte) []byte {
	return func(b []byte) []byte {
		b[at(len(b))] ^= 1
		return b
	}
}

var (
	first  = func(int) int { return 0 }
	middle = func(n int) int { return n / 2 }
	last   = func(n int) int { return n - 1 }
)

func common() []alteration {
	forged := []error{ErrTampered, ErrMalformed, ErrKey, ErrTruncated, ErrTooLarge}
	return []alteration{
		{"first bit", flipAt(first), forged},
		{"middle bit", flipAt(middle), forged},
		{"last bit", flipAt(last), forged},
		{"half of it", func(b []byte) []byte { return b[:len(b)/2] }, forged},
		{"one byte short", func(b []byte) []byte { return b[:len(b)-1] }, forged},
		{"empty", func([]byte) []byte { return nil }, forged},
		{"one byte more", func(b []byte) []byte { return append(b, 'x') }, forged},
		{"zeros", func(b []byte) []byte { return make([]byte, len(b)) }, append(forged, ErrMissing)},
		{"5 MiB of it", func(b []byte) []byte { return bytes.Repeat(b, 1+(5<<20)/len(b)) }, forged},
	}
}

// elementWith changes the length fields of the first element of a pack.
func elementWith(headerLen, textLen int64) func([]byte) []byte {
	return func(b []byte) []byte {
		n := int(binary.BigEndian.Uint16(b))
		if textLen >= 0 {
			binary.BigEndian.PutUint32(b[2+n:], uint32(textLen))
		}
		if headerLen >= 0 {
			binary.BigEndian.PutUint16(b, uint16(headerLen))
		}
		return b
	}
}

func TestNoAlteredResourceIsStored(t *testing.T) {
	outer := t
	a := newNode(t).up(listenTCP)
	a.publish("main", entriesOf(t, "doc:/x", 270, 200)...)
	honest := make(map[document.Root]bool)
	size := a.size(a.origin("main"))
	recs, err := a.shared.Corpora().Records(t.Context(), a.origin("main"), 0, size)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recs {
		honest[r.Header.Root] = true
	}
	foreign := newNode(t).up(nil)
	foreign.publish("main", entriesOf(t, "doc:/y", 270, 200)...)

	for _, k := range []struct {
		kind kind
		more []alteration
	}{
		{kindKey, nil},
		{kindCheckpoint, nil},
		{kindTile, nil},
		{kindEntries, []alteration{
			{"a record of 65535 bytes", func(b []byte) []byte { b[0], b[1] = 0xff, 0xff; return b }, []error{ErrTooLarge}},
			{"two records swapped", swapRecords, []error{ErrTampered}},
		}},
		{kindPack, []alteration{
			{"a text of 4 GiB", elementWith(-1, 1<<32-1), []error{ErrTampered}},
			{"a text of 0 bytes", elementWith(-1, 0), []error{ErrTampered}},
			{"a header of 64 KiB", elementWith(1<<16-1, -1), []error{ErrTampered}},
			{"the last element left out", func(b []byte) []byte { return b[:len(b)-elementLen(lastElement(b))] }, []error{ErrTruncated}},
			{"two elements swapped", swapElements, []error{ErrTampered}},
			{"the pack of another corpus", func([]byte) []byte {
				return hold(getRequest(resource{kind: kindPack, corpus: mustCorpus(t, foreign.origin("main")), width: 256}), foreign.peer.Handler()).body
			}, []error{ErrTampered}},
		}},
	} {
		// Only a bad pack leaves verified documents behind; the others leave
		// nothing, so that one follower can meet them all.
		var b *node
		for _, alt := range append(common(), k.more...) {
			t.Run(string(k.kind)+"/"+alt.name, func(t *testing.T) {
				change, hits := changing(ofKind(k.kind), alt.alter)
				evil := newRelay(t, a, change)
				if b == nil || k.kind == kindPack {
					b = newNode(outer).up(nil)
				}
				_, err := b.peer.Sync(t.Context(), evil.addr, a.origin("main"), nil)
				checkBlame(t, err, evil.host.ID().String(), string(k.kind), alt.want)
				if hits.Load() == 0 {
					t.Fatal("the sync never asked for the resource")
				}
				onlyHonest(t, b, honest)
			})
		}
		// The lies leave no trace: an honest source completes the sync.
		b.sync(a.addr(), a.origin("main"))
		if got := b.size(a.origin("main")); got != size || b.documents() != len(honest) {
			t.Errorf("after bad %ss, an honest sync gave %d records and %d documents, want %d and %d", k.kind, got, b.documents(), size, len(honest))
		}
	}
}

// checkBlame checks that an error names source and resource and says why.
func checkBlame(t *testing.T, err error, source, resource string, want []error) {
	t.Helper()
	var blamed *SourceError
	if !errors.As(err, &blamed) {
		t.Fatalf("error = %v, want a SourceError", err)
	}
	if blamed.Source != source || !strings.Contains(blamed.Resource, resource) {
		t.Errorf("the error blames %s for %s, want %s for %s", blamed.Source, blamed.Resource, source, resource)
	}
	for _, w := range want {
		if errors.Is(err, w) {
			return
		}
	}
	t.Errorf("error = %v, want one of %v", err, want)
}

// onlyHonest checks that the log has not moved and that every stored document
// is one of the publisher's.
func onlyHonest(t *testing.T, n *node, honest map[document.Root]bool) {
	t.Helper()
	infos, err := n.shared.Corpora().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range infos {
		if c.Size != 0 {
			t.Errorf("corpus %s moved to size %d", c.Origin, c.Size)
		}
	}
	stored := 0
	for root := range honest {
		has, err := n.shared.Has(t.Context(), []document.Root{root})
		if err != nil {
			t.Fatal(err)
		}
		if has[0] {
			stored++
		}
	}
	if got := n.documents(); got != stored {
		t.Errorf("%d documents stored, %d of them the publisher's", got, stored)
	}
}

func swapRecords(b []byte) []byte {
	n := 2 + int(binary.BigEndian.Uint16(b))
	m := 2 + int(binary.BigEndian.Uint16(b[n:]))
	return bytes.Join([][]byte{b[n : n+m], b[:n], b[n+m:]}, nil)
}

func elementLen(b []byte) int {
	n := 2 + int(binary.BigEndian.Uint16(b))
	return n + 4 + int(binary.BigEndian.Uint32(b[n:]))
}

func lastElement(b []byte) []byte {
	for len(b) > elementLen(b) {
		b = b[elementLen(b):]
	}
	return b
}

func swapElements(b []byte) []byte {
	n := elementLen(b)
	m := elementLen(b[n:])
	return bytes.Join([][]byte{b[n : n+m], b[:n], b[n+m:]}, nil)
}

func mustCorpus(t testing.TB, origin string) CorpusID {
	t.Helper()
	id, err := ParseCorpusID(origin)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func getRequest(r resource) *http.Request {
	req, err := http.NewRequest(http.MethodGet, "http://peer"+PathPrefix+r.path(), nil)
	if err != nil {
		panic(err)
	}
	req.RemoteAddr = "127.0.0.1:1"
	return req
}

func TestSourcesThatFailAreNamed(t *testing.T) {
	a := newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 3, 400)...)
	status := func(code int) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(code) }
	}
	for _, c := range []struct {
		name  string
		reply func(w http.ResponseWriter)
		want  error
	}{
		{"nothing there", status(404), ErrMissing},
		{"gone", status(410), ErrMissing},
		{"broken", status(500), ErrUnavailable},
		{"no content", status(204), ErrUnavailable},
		{"part of it", status(206), ErrUnavailable},
		{"redirect", func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://127.0.0.1:9/")
			w.WriteHeader(302)
		}, ErrUnavailable},
		{"broken off", func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }, ErrUnavailable},
		{"broken off inside", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("begin"))
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, ErrTruncated},
		{"huge header", func(w http.ResponseWriter) {
			w.Header().Set("X-Pad", strings.Repeat("x", 1<<20))
		}, ErrUnavailable},
		{"a coding not asked for", func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "br")
			w.Write([]byte("x"))
		}, ErrMalformed},
		{"endless", func(w http.ResponseWriter) {
			buf := make([]byte, 64<<10)
			for {
				if _, err := w.Write(buf); err != nil {
					return
				}
			}
		}, ErrTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			evil := newRelay(t, a, func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
				if strings.HasSuffix(path, "/checkpoint") {
					c.reply(w)
					return
				}
				honest.ServeHTTP(w, r)
			})
			b := newNode(t).up(nil)
			_, err := b.peer.Sync(t.Context(), evil.addr, a.origin("main"), nil)
			checkBlame(t, err, evil.host.ID().String(), "checkpoint", []error{c.want})
			if b.documents() != 0 {
				t.Error("documents were stored")
			}
		})
	}
}

func TestCompressedLiesAreRefusedInLittleMemory(t *testing.T) {
	a := newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 3, 400)...)
	encode := func(opts []zstd.EOption, content []byte) []byte {
		e, err := zstd.NewWriter(nil, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return e.EncodeAll(content, nil)
	}
	for _, c := range []struct {
		name string
		body []byte
		want []error
	}{
		{"a bomb of zeros", encode(nil, make([]byte, 256<<20)), []error{ErrTampered, ErrMissing}},
		{"a window of 64 MiB", encode([]zstd.EOption{zstd.WithWindowSize(64 << 20), zstd.WithSingleSegment(false)}, bytes.Repeat([]byte("x"), 65<<20)), []error{ErrMalformed}},
		{"not zstd", []byte("this is not zstd at all"), []error{ErrMalformed}},
		{"cut", encode(nil, []byte(textOf("x", 4000)))[:40], []error{ErrTruncated, ErrMalformed, ErrTampered}},
	} {
		t.Run(c.name, func(t *testing.T) {
			evil := newRelay(t, a, func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
				if ofKind(kindPack)(path) || ofKind(kindDoc)(path) {
					w.Header().Set("Content-Encoding", "zstd")
					w.Write(c.body)
					return
				}
				honest.ServeHTTP(w, r)
			})
			b := newNode(t).up(nil)
			grown := heapGrowth(func() {
				_, err := b.peer.Sync(t.Context(), evil.addr, a.origin("main"), nil)
				checkBlame(t, err, evil.host.ID().String(), "", c.want)
			})
			if grown > 32<<20 {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
			if b.documents() != 0 {
				t.Error("documents were stored")
			}
		})
	}
}

func TestClaimedSizesAllocateNothing(t *testing.T) {
	h := document.Header{Root: document.Root{1}, Chunks: 1, Bytes: document.MaxBytes, Norm: document.NormName, Chunker: document.ChunkerName}
	element := append(appendElementHead(nil, h), "all that there is"...)
	grown := heapGrowth(func() {
		for range 32 {
			_, _, err := (&packReader{r: bytes.NewReader(element)}).next(h)
			if !errors.Is(err, ErrTruncated) {
				t.Fatalf("error = %v, want ErrTruncated", err)
			}
		}
	})
	if grown > 16<<20 {
		t.Errorf("32 claims of 64 MiB allocated %d MiB", grown>>20)
	}
}
