package shard

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"arborist/document"
)

// cutAsOurs returns the text of each frame that a document is stored in.
func cutAsOurs(t *testing.T, d *document.Document) (texts [][]byte) {
	t.Helper()
	c := new(codec)
	err := c.frames(d, nil, func(_ int, data []byte) error {
		var frame storedText
		err := c.decode(&frame, data)
		texts = append(texts, frame.text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func zstdFrame(t *testing.T, text []byte, opts ...zstd.EOption) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil, append([]zstd.EOption{zstd.WithEncoderCRC(false)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	return enc.EncodeAll(text, nil)
}

// inBlocks returns a frame that holds text as blocks of so many bytes, each as
// it is, whose last one is followed by an empty one.
func inBlocks(text []byte, size int) []byte {
	b := []byte{0x28, 0xB5, 0x2F, 0xFD, 1<<5 | 2<<6, byte(len(text)), byte(len(text) >> 8), byte(len(text) >> 16), 0}
	for part := range slices.Chunk(text, size) {
		head := len(part) << 3
		b = append(append(b, byte(head), byte(head>>8), byte(head>>16)), part...)
	}
	return append(b, 1, 0, 0)
}

// bestFrames are the frames of a document, cut as ours. Each encoder of that level
// takes much fresh memory, which is slow under the race detector.
func bestFrames(t *testing.T, d *document.Document) (frames [][]byte) {
	t.Helper()
	for _, text := range cutAsOurs(t, d) {
		frames = append(frames, zstdFrame(t, text, zstd.WithEncoderLevel(zstd.SpeedBestCompression)))
	}
	return frames
}

// asItCame reports whether a document whose frame number one came as this one, and
// whose others came as given, is stored in it, and in the others.
func asItCame(t *testing.T, d *document.Document, frames [][]byte, one []byte) (one1, others bool) {
	t.Helper()
	came := slices.Clone(frames)
	came[1] = one
	c := new(codec)
	var text []byte
	var i, same int
	err := c.frames(d, came, func(_ int, data []byte) error {
		var frame storedText
		err := c.decode(&frame, data)
		text = append(text, frame.text...)
		switch taken := bytes.HasSuffix(data, came[i]); {
		case i == 1:
			one1 = taken
		case taken:
			same++
		}
		i++
		return err
	})
	if err != nil || !bytes.Equal(text, d.Text()) {
		t.Fatalf("the frames give another text, or %v", err)
	}
	return one1, same == len(came)-1
}

func TestOnlyFramesThatCostNoMoreThanOursAreStoredAsTheyCame(t *testing.T) {
	d := newDocument(t, strings.Repeat("Every line of this text says a little, and says it again.\n\nThen there is another one. ", 900))
	text := cutAsOurs(t, d)[1]
	best := zstd.WithEncoderLevel(zstd.SpeedBestCompression)
	frames := bestFrames(t, d)
	good := zstdFrame(t, text, best)
	if one, others := asItCame(t, d, frames, good); !one || !others {
		t.Errorf("a good frame: stored as it came %v, the others %v", one, others)
	}
	var stream bytes.Buffer
	enc, err := zstd.NewWriter(&stream, zstd.WithEncoderCRC(false))
	if err != nil {
		t.Fatal(err)
	}
	enc.Write(text[:9])
	enc.Flush()
	enc.Write(text[9:])
	enc.Close()
	const singleSegment, window8MiB = 1 << 5, 13 << 3
	withWindow := slices.Concat(good[:4], []byte{good[4] &^ singleSegment, window8MiB}, good[5:])
	withDictionary := slices.Concat(good[:4], []byte{good[4] | 1}, []byte{7}, good[5:])
	for name, f := range map[string]struct {
		frame  []byte
		others bool // are stored as they came
	}{
		"with a check sum":          {zstdFrame(t, text, best, zstd.WithEncoderCRC(true)), true},
		"with a larger window":      {withWindow, true},
		"with a dictionary":         {withDictionary, true},
		"of many blocks":            {inBlocks(text, 100), true},
		"not compressed":            {inBlocks(text, 1<<16), true},
		"with bytes behind it":      {append(bytes.Clone(good), 0), true},
		"followed by another":       {append(bytes.Clone(good), inBlocks(nil, 1)...), true},
		"that is cut":               {good[:len(good)-1], true},
		"that says no size":         {stream.Bytes(), false},
		"of another size":           {zstdFrame(t, text[:len(text)-1], best), false},
		"that is skipped":           {slices.Concat([]byte{0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0}, text[:4]), false},
		"of nothing":                {nil, false},
		"that is no frame":          {bytes.Repeat([]byte{7}, 100), false},
		"that is hardly compressed": {plainBut(t, text), true},
	} {
		one, others := asItCame(t, d, frames, f.frame)
		if one && len(f.frame) > 0 {
			t.Errorf("a frame %s is stored as it came", name)
		}
		// The first came before, so it is always taken.
		if others != f.others {
			t.Errorf("beside a frame %s: the others as they came %v, want %v", name, others, f.others)
		}
	}
}

// plainBut returns a frame of one compressed block of text that takes over three
// quarters of it: of another text that is as long, since only sizes are looked at.
func plainBut(t *testing.T, text []byte) []byte {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	other := make([]byte, len(text))
	for i := range other {
		other[i] = byte(r.IntN(80)) // 6.3 bits each
	}
	frame := zstdFrame(t, other, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	var h zstd.Header
	if err := h.Decode(frame); err != nil || !h.FirstBlock.Compressed || len(frame) < len(text)*3/4 {
		t.Fatalf("choose another text: %d bytes of %d, %+v, %v", len(frame), len(text), h, err)
	}
	return frame
}

func TestWhatCameInFramesIsReadBackAndChecked(t *testing.T) {
	s := newShared(t, 2)
	var entries []Arrival
	for i, e := range generated(t, 12) {
		a := Arrival{Entry: e}
		if i%3 > 0 {
			a.Frames = bestFrames(t, e.Document)
		}
		if i%3 == 2 {
			a.Frames = a.Frames[:len(a.Frames)-1] // some lack
		}
		entries = append(entries, a)
	}
	if _, err := s.Receive(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	for i, e := range entries {
		d, err := s.Document(t.Context(), e.Document.Root())
		if err != nil || !bytes.Equal(d.Text(), e.Document.Text()) {
			t.Errorf("document %d: %v", i, err)
		}
	}
	mustCheck(t, s)
	if err := s.Index(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	mustCheck(t, s)
}
