package document

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"arborist/merkle"
)

func TestDocumentSatisfiesItsHeader(t *testing.T) {
	for name, text := range sampleTexts(t) {
		d, err := New(text)
		if name == "empty" {
			if !errors.Is(err, ErrEmpty) {
				t.Errorf("New of no text: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		h := d.Header()
		var joined []byte
		var b merkle.Builder
		for i := range d.Chunks() {
			if s := d.Span(i); !bytes.Equal(d.Text()[s.Start:s.End], d.Chunk(i)) {
				t.Errorf("%s: chunk %d is not its span", name, i)
			}
			joined = append(joined, d.Chunk(i)...)
			b.Append(merkle.LeafHash(d.Chunk(i)))
		}
		if !bytes.Equal(joined, text) || h.Bytes != uint64(len(text)) || h.Chunks != b.Size() || h.Root.Hash() != b.Root() ||
			d.Root() != h.Root || d.Tree().Root() != h.Root.Hash() || h.Norm != "norm-v2" || h.Chunker != "block-v1" {
			t.Errorf("%s: the document is not what its header says: %+v", name, h)
		}
		again, err := Verify(h, bytes.Clone(text))
		if err != nil || again.Header() != h {
			t.Errorf("%s: Verify: %v", name, err)
		}
	}
}

// TestSpellingDoesNotNameContent: text that differs in what norm-v2 removes is
// one document.
func TestSpellingDoesNotNameContent(t *testing.T) {
	a, err := New([]byte("# Café\n\nOne two.\n"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := New([]byte("\uFEFF\r\n# Cafe\u0301  \r\n\r\n\r\n\r\nOne\u00a0 two.\x00"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Header() != b.Header() {
		t.Errorf("%+v and %+v differ: %q, %q", a.Header(), b.Header(), a.Text(), b.Text())
	}
}

func TestNewKeepsNoSlice(t *testing.T) {
	text := []byte("canonical text")
	d, err := New(text)
	if err != nil {
		t.Fatal(err)
	}
	text[0] = 'X'
	if string(d.Text()) != "canonical text" {
		t.Errorf("the document changed with its argument: %q", d.Text())
	}
}

func TestNewRefusesWhatIsTooLarge(t *testing.T) {
	if _, err := New(bytes.Repeat([]byte("x"), MaxBytes+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("New of a byte over the limit: %v", err)
	}
	if _, err := New(bytes.Repeat([]byte(" "), MaxBytes+1)); !errors.Is(err, ErrEmpty) {
		t.Errorf("New of spaces: %v", err)
	}
}

func TestVerifyRefusesWhatDoesNotMatch(t *testing.T) {
	text := Normalize([]byte(strings.Repeat("# Heading\n\nText of it, é.\n\n", 100)))
	d, err := New(text)
	if err != nil {
		t.Fatal(err)
	}
	header := func(change func(h *Header)) Header {
		h := d.Header()
		change(&h)
		return h
	}
	other := bytes.Clone(text)
	other[5] ^= 1
	ill := bytes.Clone(text)
	ill[5] = 0xFF
	// A publisher can make a header of any text; it must not pass as a document.
	raw := append([]byte("\r\n"), text...)
	forged, err := fromCanonical(raw)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		header Header
		text   []byte
	}{
		{"text that is not canonical with a header of its own", forged.Header(), raw},
		{"another byte", d.Header(), other},
		{"ill-formed text", d.Header(), ill},
		{"cut text", d.Header(), text[:len(text)-1]},
		{"longer text", d.Header(), append(bytes.Clone(text), 'x')},
		{"no text", d.Header(), nil},
		{"cut text with its length", header(func(h *Header) { h.Bytes-- }), text[:len(text)-1]},
		{"no text with its length", header(func(h *Header) { h.Bytes = 0 }), nil},
		{"text that is not canonical", header(func(h *Header) { h.Bytes++ }), append(bytes.Clone(text), '\n')},
		{"another root", header(func(h *Header) { h.Root[3] ^= 1 }), text},
		{"more chunks", header(func(h *Header) { h.Chunks++ }), text},
		{"unknown norm", header(func(h *Header) { h.Norm = "norm-v1" }), text},
		{"unknown chunker", header(func(h *Header) { h.Chunker = "block-v2" }), text},
		{"empty header", Header{}, text},
	}
	for _, test := range tests {
		if got, err := Verify(test.header, test.text); !errors.Is(err, ErrMismatch) || got != nil {
			t.Errorf("%s: Verify = %v, %v", test.name, got, err)
		}
	}
}

// TestEveryBitOfADocumentCounts flips random bits of text and header.
func TestEveryBitOfADocumentCounts(t *testing.T) {
	text := sampleTexts(t)["cjk"][:5000]
	text = Normalize(text)
	d, err := New(text)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		flipped := bytes.Clone(text)
		i := rapid.IntRange(0, len(text)*8-1).Draw(t, "bit")
		flipped[i/8] ^= 1 << (i % 8)
		if _, err := Verify(d.Header(), flipped); !errors.Is(err, ErrMismatch) {
			t.Fatalf("bit %d: %v", i, err)
		}
	})
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte("text"), uint64(1))
	f.Add([]byte("text \n"), uint64(2))
	f.Fuzz(func(t *testing.T, text []byte, chunks uint64) {
		d, err := New(text)
		if err != nil {
			return
		}
		if _, err := Verify(d.Header(), text); (err == nil) != IsNormal(text) {
			t.Fatalf("Verify(%q) = %v", text, err)
		}
		h := d.Header()
		h.Chunks = chunks
		if _, err := Verify(h, d.Text()); (err == nil) != (chunks == uint64(d.Chunks())) {
			t.Fatalf("Verify with %d chunks = %v", chunks, err)
		}
	})
}
