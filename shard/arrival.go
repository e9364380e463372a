package shard

import (
	"github.com/klauspost/compress/zstd"

	"arborist/document"
)

// An Arrival is an entry that comes from elsewhere.
type Arrival struct {
	document.Entry

	// Frames, which may be nil, are zstd frames that the caller has decoded: one
	// after the other they gave the text of the document. Those that are cut and
	// made as ours are stored as they came, because compressing a text again is
	// most of the work of storing it. The others are not.
	Frames [][]byte
}

// arrivals are entries of which nothing but the text is known.
func arrivals(entries []document.Entry) []Arrival {
	all := make([]Arrival, len(entries))
	for i, e := range entries {
		all[i].Entry = e
	}
	return all
}

// nextOf returns the frame that the next n bytes of a text came in, nil where
// it cannot be stored, and the frames behind it, nil where it is not known which
// bytes those are of.
func nextOf(came [][]byte, n int) (frame []byte, rest [][]byte) {
	if len(came) == 0 {
		return nil, nil
	}
	frame, rest = came[0], came[1:]
	var h zstd.Header
	if h.Decode(frame) != nil || h.Skippable || !h.HasFCS || h.FrameContentSize != uint64(n) {
		return nil, nil
	}
	if !isLikeOurs(&h, len(frame), n) {
		return nil, rest
	}
	return frame, rest
}

// isLikeOurs reports whether a zstd frame of so many bytes that holds n costs a
// later reader, and the disk, no more than one that we would make: one block,
// compressed to three quarters or less, no larger window, and nothing that needs
// more than the frame. A frame of very many blocks, each with tables of its
// own, would be decoded again for each reader, hundreds of times slower.
func isLikeOurs(h *zstd.Header, size, n int) bool {
	block := &h.FirstBlock
	return block.OK && block.Last && block.Compressed && h.HeaderSize+3+block.CompressedSize == size &&
		size <= n/4*3 && (h.SingleSegment || h.WindowSize <= codecWindow) && h.DictionaryID == 0 && !h.HasCheckSum
}
