package car

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// A File is what an archive is written to: its header, which names the root,
// is written last.
type File interface {
	io.Writer
	io.WriterAt
}

// A Writer writes an archive, document by document.
type Writer struct {
	file      File
	out       *bufio.Writer
	documents []link
	bytes     int64
	buf       []byte
}

// NewWriter starts an archive at the start of an empty file.
func NewWriter(f File) (*Writer, error) {
	w := &Writer{file: f, out: bufio.NewWriterSize(f, 256<<10)}
	// The place of the header: a root of zeros has its length.
	return w, w.write(frame(nil, encodeHeader([]link{{}})))
}

// Add writes a document. Of its locations at most 1,024 are kept.
func (w *Writer) Add(item Item) error {
	d := item.Document
	chunks := make([]link, d.Chunks())
	for i := range chunks {
		w.buf = append(append(w.buf[:0], 0), d.Chunk(i)...) // 0x00‖chunk: a leaf of RFC 9162
		chunks[i] = linkTo(codecRaw, w.buf)
		if err := w.block(chunks[i], w.buf); err != nil {
			return err
		}
	}
	m := manifest{header: linkOf(codecRaw, d.Header().ID())}
	if err := w.block(m.header, d.Header().Text()); err != nil {
		return err
	}
	var err error
	if m.chunks, m.lists, err = w.lists(chunks); err != nil {
		return err
	}
	m.locations = item.Locations[:min(len(item.Locations), maxLocations)]
	block := m.encode()
	if len(block) > maxBlock {
		return fmt.Errorf("write document %s: its locations take %d bytes, at most %d fit into a block", d.Root(), len(block), maxBlock)
	}
	l := linkTo(codecDagCBOR, block)
	w.documents = append(w.documents, l)
	return w.block(l, block)
}

// lists returns links as they are or, where they are too many for a block,
// links to lists of them.
func (w *Writer) lists(all []link) (links []link, lists bool, err error) {
	if len(all) <= maxLinks {
		return all, false, nil
	}
	for part := range slices.Chunk(all, maxLinks) {
		block := encodeList(part)
		l := linkTo(codecDagCBOR, block)
		if err := w.block(l, block); err != nil {
			return nil, false, err
		}
		links = append(links, l)
	}
	return links, true, nil
}

// Finish ends the archive and returns the CID of its root. The file is the
// caller's to sync and close. An archive that was not finished has no root and
// is refused by every reader.
func (w *Writer) Finish() (root string, err error) {
	var c collection
	if c.documents, c.lists, err = w.lists(w.documents); err != nil {
		return "", err
	}
	block := c.encode()
	l := linkTo(codecDagCBOR, block)
	if err := w.block(l, block); err != nil {
		return "", err
	}
	if err := w.out.Flush(); err != nil {
		return "", err
	}
	if _, err := w.file.WriteAt(frame(nil, encodeHeader([]link{l})), 0); err != nil {
		return "", err
	}
	return l.String(), nil
}

// Documents returns how many documents were added.
func (w *Writer) Documents() int { return len(w.documents) }

// Bytes returns the length of the archive so far.
func (w *Writer) Bytes() int64 { return w.bytes }

func (w *Writer) block(l link, block []byte) error {
	head := binary.AppendUvarint(nil, uint64(linkSize+len(block)))
	if err := w.write(append(head, l[:]...)); err != nil {
		return err
	}
	return w.write(block)
}

// frame puts the length before a block.
func frame(b, block []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(block))), block...)
}

func (w *Writer) write(b []byte) error {
	n, err := w.out.Write(b)
	w.bytes += int64(n)
	return err
}
