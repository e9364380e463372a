package car

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sort"
)

const (
	// maxBlocks bounds the memory of an index: 1.5 GiB for 64 GiB of text.
	maxBlocks = 1 << 26
	// maxSame is how many blocks may share the start of their hash: chance
	// makes no two of 2^26 do so.
	maxSame = 16
)

// An entry says where a block is.
type entry struct {
	key    uint64 // the first bytes of its hash
	offset int64
	size   uint32
}

// An index is the entries of an archive in the order of keys.
type index []entry

func keyOf(hash []byte) uint64 { return binary.BigEndian.Uint64(hash) }

// find returns the entries that may be those of a block.
func (x index) find(l link) []entry {
	key := keyOf(l[4:])
	i := sort.Search(len(x), func(i int) bool { return x[i].key >= key })
	n := i
	for n < len(x) && n-i < maxSame && x[n].key == key {
		n++
	}
	return x[i:n]
}

// Open reads an archive of size bytes whole and verifies each of its blocks.
// Errors about its bytes wrap [ErrFormat] and say at which byte. An archive that
// is cut off is refused. Progress, which may be nil, hears how many bytes were read.
func Open(ctx context.Context, f io.ReaderAt, size int64, progress func(bytes int64)) (*Archive, error) {
	s := &scanner{in: bufio.NewReaderSize(io.NewSectionReader(f, 0, size), 256<<10)}
	head, err := s.frame(maxHeader)
	if err == io.EOF {
		return nil, formatErrorf("it is empty")
	}
	if err != nil {
		return nil, err
	}
	a := &Archive{file: f}
	if a.roots, err = decodeHeader(head); err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		if n%256 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if progress != nil {
				progress(s.at)
			}
		}
		start := s.at
		b, err := s.frame(linkSize + maxBlock)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(b) < linkSize {
			return nil, formatErrorf("the block at byte %d has no CID", start)
		}
		l, err := parseLink(b[:linkSize])
		if err != nil {
			return nil, formatErrorf("at byte %d: %w", start, err)
		}
		hash := sha256.Sum256(b[linkSize:])
		if linkOf(l.codec(), hash) != l {
			return nil, formatErrorf("the block at byte %d is not what its CID %s says", start, l)
		}
		if len(a.index) == maxBlocks {
			return nil, formatErrorf("it has over %d blocks; split it", maxBlocks)
		}
		a.index = append(a.index, entry{key: keyOf(hash[:]), offset: s.at - int64(len(b)-linkSize), size: uint32(len(b) - linkSize)})
	}
	slices.SortFunc(a.index, func(x, y entry) int { return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.offset, y.offset)) })
	return a, nil
}

// A scanner reads what stands behind lengths.
type scanner struct {
	in  *bufio.Reader
	at  int64
	buf []byte
}

// frame reads a length and as many bytes, valid until the next call. At the end
// of the archive it returns io.EOF.
func (s *scanner) frame(most int) ([]byte, error) {
	start := s.at
	var n uint64
	for shift := 0; ; shift += 7 {
		c, err := s.in.ReadByte()
		if err == io.EOF && shift == 0 {
			return nil, io.EOF
		}
		if err != nil {
			return nil, cut(err, start)
		}
		s.at++
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if c == 0 && shift > 0 {
				return nil, formatErrorf("the length at byte %d is not in its shortest form", start)
			}
			break
		}
		if shift >= 28 {
			return nil, formatErrorf("the length at byte %d is over %d", start, most)
		}
	}
	if n == 0 || n > uint64(most) {
		return nil, formatErrorf("the length at byte %d is %d, want 1 to %d", start, n, most)
	}
	s.buf = slices.Grow(s.buf[:0], int(n))[:n]
	if _, err := io.ReadFull(s.in, s.buf); err != nil {
		return nil, cut(err, start)
	}
	s.at += int64(n)
	return s.buf, nil
}

func cut(err error, start int64) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return formatErrorf("it is cut off in what starts at byte %d", start)
	}
	return err
}
