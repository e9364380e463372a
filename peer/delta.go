package peer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"arborist/document"
	"arborist/merkle"
)

// A delta says how a document is made of another one, of which the reader has the
// text: runs that give the leaf hashes of the new document, then the chunks that the
// other one lacks.
//
//	delta = uint32 number of runs ‖ runs ‖ new chunks
//	run   = uint32 first ‖ uint32 count                     chunks of the old document
//	      | uint32 newRun ‖ uint32 count ‖ leaf hashes      new chunks
//	chunk = uint16 length ‖ bytes
//
// Numbers are big-endian. docs/protocol.md says which runs there are.

// newRun stands in place of the first chunk of a run: its chunks are new.
const newRun = 1<<32 - 1

// A deltaRun is some chunks in a row of a new document: count chunks of the old one
// from first on, or new ones.
type deltaRun struct {
	first, count int
	fresh        []merkle.Hash // leaf hashes of new chunks; nil: they are old ones
}

// deltaPays reports whether a delta with so many new chunks is worth being sent.
// It bounds what a delta can be, too.
func deltaPays(fresh int, chunks uint64) bool { return 2*uint64(fresh) <= chunks }

// planDelta returns the runs of the delta between two documents, and the places of
// the new chunks.
func planDelta(leaves, old []merkle.Hash) (runs []deltaRun, fresh []int) {
	places := make(map[merkle.Hash]int, len(old))
	for i, leaf := range old {
		if _, known := places[leaf]; !known {
			places[leaf] = i
		}
	}
	next := -1 // behind the place that the chunk before was taken from; -1: it is new
	for i, leaf := range leaves {
		at, known := places[leaf]
		if known && next >= 0 && next < len(old) && old[next] == leaf {
			at = next
		}
		last := len(runs) - 1
		switch {
		case !known && (i == 0 || next >= 0):
			runs = append(runs, deltaRun{count: 1, fresh: []merkle.Hash{leaf}})
		case !known:
			runs[last].count++
			runs[last].fresh = append(runs[last].fresh, leaf)
		case at == next:
			runs[last].count++
		default:
			runs = append(runs, deltaRun{first: at, count: 1})
		}
		if next = at + 1; !known {
			next, fresh = -1, append(fresh, i)
		}
	}
	return runs, fresh
}

// appendRuns appends the list of a delta.
func appendRuns(b []byte, runs []deltaRun) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(runs)))
	for _, r := range runs {
		first := uint32(newRun)
		if r.fresh == nil {
			first = uint32(r.first)
		}
		b = binary.BigEndian.AppendUint32(b, first)
		b = binary.BigEndian.AppendUint32(b, uint32(r.count))
		for _, leaf := range r.fresh {
			b = append(b, leaf[:]...)
		}
	}
	return b
}

// appendChunk appends a new chunk to a delta.
func appendChunk(b, chunk []byte) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(chunk))), chunk...)
}

// A deltaReader reads the delta between old, which is here, and a document of which
// a signed record has the header. It reads on only after what it has read is proven
// to be of that document.
type deltaReader struct {
	r      io.Reader
	header document.Header
	old    *document.Document

	runs  []deltaRun
	fresh int   // new chunks
	bytes int64 // of these, together
	buf   [4]byte
}

// list reads the runs, and proves them by the root.
func (d *deltaReader) list() error {
	runs, err := d.number()
	if err != nil {
		return err
	}
	left := d.header.Chunks
	var root merkle.Builder
	d.bytes = int64(d.header.Bytes)
	for range runs { // each takes of what is left
		run, err := d.run(left)
		if err != nil {
			return err
		}
		left -= uint64(run.count)
		for i := range run.count {
			leaf, err := d.leaf(run, i)
			if err != nil {
				return err
			}
			root.Append(leaf)
		}
		d.runs = append(d.runs, run)
	}
	if left > 0 {
		return fmt.Errorf("%w: its runs lack %d of %d chunks", ErrTruncated, left, d.header.Chunks)
	}
	if root.Root() != d.header.Root.Hash() {
		return fmt.Errorf("%w: the leaf hashes do not give the root %s", ErrTampered, d.header.Root)
	}
	if n := int64(d.fresh); d.bytes < n || d.bytes > n*(1<<16-1) {
		return fmt.Errorf("%w: %d bytes are left for %d new chunks of %s", ErrTampered, d.bytes, n, d.header.Root)
	}
	return nil
}

// run reads a run of at most left chunks.
func (d *deltaReader) run(left uint64) (run deltaRun, err error) {
	start, err := d.number()
	if err != nil {
		return run, err
	}
	n, err := d.number()
	if err != nil {
		return run, err
	}
	first, count := uint64(start), uint64(n)
	switch {
	case count == 0:
		return run, fmt.Errorf("%w: a run without chunks", ErrMalformed)
	case count > left:
		return run, fmt.Errorf("%w: runs of more than the %d chunks of %s", ErrTooLarge, d.header.Chunks, d.header.Root)
	case first != newRun && first+count > uint64(d.old.Chunks()):
		return run, fmt.Errorf("%w: chunks %d to %d of a document that has %d", ErrMalformed, first, first+count, d.old.Chunks())
	case first != newRun:
		return deltaRun{first: int(first), count: int(count)}, nil
	}
	if d.fresh += int(count); !deltaPays(d.fresh, d.header.Chunks) {
		return run, fmt.Errorf("%w: over half of the %d chunks of %s are new", ErrTooLarge, d.header.Chunks, d.header.Root)
	}
	run = deltaRun{count: int(count), fresh: make([]merkle.Hash, count)}
	for i := range run.fresh {
		if _, err := io.ReadFull(d.r, run.fresh[i][:]); err != nil {
			return run, truncated(err)
		}
	}
	return run, nil
}

// leaf returns the leaf hash of a chunk of a run. Those of the old document leave
// less for the new ones.
func (d *deltaReader) leaf(run deltaRun, i int) (merkle.Hash, error) {
	if run.fresh != nil {
		return run.fresh[i], nil
	}
	span := d.old.Span(run.first + i)
	d.bytes -= int64(span.End - span.Start)
	return d.old.Tree().Node(0, uint64(run.first+i))
}

// text reads the new chunks and returns the text of the document.
func (d *deltaReader) text() ([]byte, error) {
	text, left := make([]byte, 0, d.header.Bytes), d.bytes
	for _, run := range d.runs {
		if run.fresh == nil {
			from, to := d.old.Span(run.first).Start, d.old.Span(run.first+run.count-1).End
			text = append(text, d.old.Text()[from:to]...)
			continue
		}
		for _, leaf := range run.fresh {
			if _, err := io.ReadFull(d.r, d.buf[:2]); err != nil {
				return nil, truncated(err)
			}
			n := int64(binary.BigEndian.Uint16(d.buf[:2]))
			if left -= n; left < 0 {
				return nil, fmt.Errorf("%w: new chunks of more than %d bytes", ErrTooLarge, d.bytes)
			}
			chunk := text[len(text) : len(text)+int(n)]
			if _, err := io.ReadFull(d.r, chunk); err != nil {
				return nil, truncated(err)
			}
			if merkle.LeafHash(chunk) != leaf {
				return nil, fmt.Errorf("%w: a chunk of %s has another hash than its leaf", ErrTampered, d.header.Root)
			}
			text = text[:len(text)+int(n)]
		}
	}
	switch n, err := io.ReadFull(d.r, d.buf[:1]); {
	case n > 0:
		return nil, fmt.Errorf("%w: bytes follow the last chunk", ErrMalformed)
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return text, nil
}

// number reads a number.
func (d *deltaReader) number() (uint32, error) {
	_, err := io.ReadFull(d.r, d.buf[:])
	return binary.BigEndian.Uint32(d.buf[:]), truncated(err)
}
