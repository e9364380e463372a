package pdf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The protocol of a worker. It says [Ready] once it can read. A request is the
// length of a file and its bytes; the answer is a [Title], where the file has
// one, a [Page] for each page in order, and an [End]; or, instead of the rest, one of
// [Damaged], [Encrypted] and [OverLimit]. After the last of these the worker ends.
//
// A frame is one byte that says its kind, its length and its bytes. Lengths are
// four bytes, the highest first.
const (
	Ready     = 'R' // [Protocol]
	Title     = 'T' // as the file's properties have it, UTF-8
	Page      = 'P' // text of a page as PDFium gives it, UTF-8
	End       = 'E' // empty
	Damaged   = 'd' // why
	Encrypted = 'e' // empty
	OverLimit = 'l' // which
)

// Protocol is what a worker of this version says of itself.
const Protocol = "arborist-pdf/1"

var errFrame = errors.New("not a frame of a worker")

// WriteFrame writes one frame.
func WriteFrame(w io.Writer, kind byte, payload []byte) error {
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(payload)))
	_, err := w.Write(append(head, payload...))
	return err
}

// readFrame reads one frame of at most limit bytes. What is not there is not
// allocated, whatever the frame says of its length.
func readFrame(r io.Reader, limit int) (kind byte, payload []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	payload, err = readSized(r, binary.BigEndian.Uint32(head[1:]), limit)
	return head[0], payload, err
}

// WriteRequest writes a file for the worker to read.
func WriteRequest(w io.Writer, file []byte) error {
	if _, err := w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(file)))); err != nil {
		return err
	}
	_, err := w.Write(file)
	return err
}

// ReadRequest reads what WriteRequest wrote, at most limit bytes of it. It
// returns io.EOF where no further request comes.
func ReadRequest(r io.Reader, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	return readSized(r, binary.BigEndian.Uint32(head[:]), limit)
}

func readSized(r io.Reader, size uint32, limit int) ([]byte, error) {
	if int64(size) > int64(limit) {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", errFrame, size, limit)
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, int64(size)); errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	} else if err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
