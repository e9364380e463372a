package shard

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestFramesGiveBackTheirChunks(t *testing.T) {
	c := new(codec)
	for _, text := range []string{"x", "short", strings.Repeat("A line of a text that is said again and again.\n\n", 2000), strings.Repeat("日本語の文章。", 3000)} {
		d := newDocument(t, text)
		next := 0
		err := c.frames(d, nil, func(first int, data []byte) error {
			var frame storedText
			if err := c.decode(&frame, data); err != nil {
				return err
			}
			if n := frame.Chunks(); first != next || n == 0 || n > frameChunks {
				t.Errorf("a frame of %d chunks from %d on, want from %d", n, first, next)
			}
			for i := range frame.Chunks() {
				if !bytes.Equal(frame.Chunk(i), d.Chunk(first+i)) {
					t.Errorf("chunk %d differs", first+i)
				}
			}
			next += frame.Chunks()
			return nil
		})
		if err != nil || next != d.Chunks() {
			t.Errorf("%d of %d chunks, %v", next, d.Chunks(), err)
		}
	}
}

// FuzzFrames decodes any bytes: within the cap, or ErrCorrupt.
func FuzzFrames(f *testing.F) {
	c := new(codec)
	for _, texts := range [][]string{{"a"}, {"alpha", "beta"}, {strings.Repeat("again ", 200), "x"}} {
		var lengths []int
		for _, t := range texts {
			lengths = append(lengths, len(t))
		}
		data, err := c.encode(lengths, []byte(strings.Join(texts, "")), nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("\x01\xff\xff\x3f\x01\x28\xb5\x2f\xfd\x84"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var frame storedText
		if err := c.decode(&frame, data); err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		text, ends := frame.text, frame.ends
		if len(ends) == 0 || ends[len(ends)-1] != len(text) || len(text) > maxFrame {
			t.Fatalf("%d bytes, ends %v", len(text), ends)
		}
	})
}
