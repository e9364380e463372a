package pdf

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestFramesComeAsTheyWereWritten(t *testing.T) {
	var b bytes.Buffer
	for _, payload := range []string{"", "text", strings.Repeat("x", 100)} {
		if err := WriteFrame(&b, Page, []byte(payload)); err != nil {
			t.Fatal(err)
		}
		if err := WriteRequest(&b, []byte(payload)); err != nil {
			t.Fatal(err)
		}
		kind, got, err := readFrame(&b, 100)
		if kind != Page || string(got) != payload || err != nil {
			t.Errorf("%c %q, %v", kind, got, err)
		}
		if got, err = ReadRequest(&b, 100); string(got) != payload || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := ReadRequest(&b, 100); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestFramesThatLieAreErrors(t *testing.T) {
	for name, c := range map[string]struct {
		bytes string
		want  error
	}{
		"nothing":        {"", io.EOF},
		"half a head":    {"P\x00\x00", io.ErrUnexpectedEOF},
		"half a payload": {"P\x00\x00\x00\x05text", io.ErrUnexpectedEOF},
		"no payload":     {"P\x00\x00\x00\x05", io.ErrUnexpectedEOF},
		"too long":       {"P\x00\x00\x00\x65" + strings.Repeat("x", 101), errFrame},
		"endless":        {"P\xff\xff\xff\xff", errFrame},
	} {
		if _, _, err := readFrame(strings.NewReader(c.bytes), 100); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What is only claimed is not allocated.
	if n := testing.AllocsPerRun(1, func() { readFrame(strings.NewReader("P\x7f\xff\xff\xff"), math.MaxInt32) }); n > 20 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzAnswer has a worker say anything: what comes of it is bounded, and an
// error of a known kind.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("T\x00\x00\x00\x01tP\x00\x00\x00\x02a\x02P\x00\x00\x00\x01bE\x00\x00\x00\x00"))
	f.Add([]byte("d\x00\x00\x00\x01x"))
	f.Add([]byte("P\x00\x00\x00\x05\xff\xfe\r\n\xefE\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		r := bytes.NewReader(answer)
		var c collected
		for !c.done {
			kind, payload, err := readFrame(r, MaxText)
			if err == nil {
				err = c.add(kind, payload)
			}
			if err == nil {
				continue
			}
			for _, known := range []error{io.EOF, io.ErrUnexpectedEOF, errFrame, ErrFormat, ErrEncrypted, ErrLimit} {
				if errors.Is(err, known) {
					return
				}
			}
			t.Fatalf("an error of no kind: %v", err)
		}
		d := c.document()
		if bytes.ContainsAny(d.Text, "\x00\x02\r") || strings.ContainsAny(d.Title, "\n\r") || len(d.Text) > 4*len(answer) || !bytes.Equal(d.Text, bytes.TrimSpace(d.Text)) {
			t.Fatalf("%q, %q", d.Title, d.Text)
		}
	})
}
