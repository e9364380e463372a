package peer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// maxWhole is how much text a frame may hold to be decoded by itself, and how
// many bytes it may have. A node sends frames of a quarter of that.
const maxWhole = 64 << 10

// A wholeFrames makes a decoder of single frames when it is first asked for. It is
// safe for concurrent use, and so is the decoder.
type wholeFrames struct {
	once sync.Once
	dec  *zstd.Decoder
	err  error
}

func (w *wholeFrames) decoder() (*zstd.Decoder, error) {
	w.once.Do(func() {
		w.dec, w.err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	})
	return w.dec, w.err
}

// A frameReader decodes the zstd frames of a body. Small frames of one block, as
// nodes send them, are decoded one by one and can be kept as they came. The first
// frame of another kind, and all that follows it, goes through a stream decoder.
type frameReader struct {
	in     *bufio.Reader
	whole  *zstd.Decoder // of single frames, shared
	stream *zstd.Decoder // nil up to that first frame

	buffer []byte // of plain
	plain  []byte // decoded and not read

	keeping bool
	kept    [][]byte
}

func newFrameReader(r io.Reader, whole *zstd.Decoder) *frameReader {
	return &frameReader{in: bufio.NewReaderSize(r, maxWhole), whole: whole}
}

// Read implements [io.Reader].
func (f *frameReader) Read(p []byte) (n int, err error) {
	for len(f.plain) == 0 && f.stream == nil {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	if f.stream != nil {
		return f.stream.Read(p)
	}
	n = copy(p, f.plain)
	f.plain = f.plain[n:]
	return n, nil
}

// next decodes a frame, or opens the stream decoder for it and what follows.
func (f *frameReader) next() error {
	head, err := f.in.Peek(zstd.HeaderMaxSize)
	if len(head) == 0 {
		return err
	}
	size, ok := wholeFrame(head)
	if !ok {
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		f.keeping = false
		f.stream, err = zstd.NewReader(f.in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		return err
	}
	frame, err := f.in.Peek(size)
	if err != nil {
		return unexpected(err)
	}
	if f.plain, err = f.whole.DecodeAll(frame, f.buffer[:0]); err != nil {
		return err
	}
	f.buffer = f.plain
	if f.keeping {
		f.kept = append(f.kept, bytes.Clone(frame))
	}
	_, err = f.in.Discard(size)
	return err
}

// wholeFrame returns the size of the frame that starts with head, where it can be
// decoded by itself.
func wholeFrame(head []byte) (size int, ok bool) {
	var h zstd.Header
	if h.Decode(head) != nil || h.Skippable || !h.FirstBlock.OK || !h.FirstBlock.Last {
		return 0, false
	}
	if size = h.HeaderSize + 3 + h.FirstBlock.CompressedSize; h.HasCheckSum {
		size += 4
	}
	// Where it says nothing about that: a block holds 128 KiB at most.
	return size, size <= maxWhole && (!h.HasFCS || h.FrameContentSize <= maxWhole)
}

// keep has the frames kept from here on, where one starts here.
func (f *frameReader) keep() {
	f.keeping, f.kept = f.stream == nil && len(f.plain) == 0, nil
}

// take ends the keeping and returns the frames in which everything came that was
// read since keep, nil where they hold anything else.
func (f *frameReader) take() [][]byte {
	kept := f.kept
	if !f.keeping || len(f.plain) > 0 {
		kept = nil
	}
	f.keeping, f.kept = false, nil
	return kept
}

func (f *frameReader) close() {
	if f.stream != nil {
		f.stream.Close()
	}
}

// unexpected turns the end of the input within a frame into [io.ErrUnexpectedEOF].
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
