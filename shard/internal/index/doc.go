// Package index is the full-text index of one shard file: an inverted index
// with positions, kept as immutable segments in rows of the file's own tables,
// and the ranked search over it.
//
// It guarantees:
//
//   - A search is exact: every passage that matches is counted and scored, and
//     a score is the same bits however the passages are spread over segments
//     and files, given the same [Statistics].
//   - Segments never change. A writer adds segments and drops them whole, within
//     the caller's transaction, so a reader's snapshot stays whole.
//   - Bytes that are no segment of ours give an error that wraps [ErrFormat],
//     never a panic, and never memory beyond a small multiple of their size.
//
// # Words
//
// A passage has a number, its words positions from 0. A segment covers a
// contiguous range of passages; ranges of segments are disjoint and ascend.
// A passage that becomes hidden stays in its segment. A segment of counts says
// how many passages fewer hold each of its terms, and one of the opposite sign
// takes that back, so counts stay exact and no postings are rewritten.
//
// # Rows
//
// All rows have a number of their own, used once. A segment owns a contiguous
// run of them:
//
//	parts     of long lists: postings and, beside each, their positions
//	blocks    of the dictionary: terms in order, each with its list or its parts
//	head      first terms of all blocks, and the length of each passage in words
//
// Integers are unsigned varints (protobuf's), terms at most 255 bytes. The
// layout is written down where it is encoded: block.go, list.go, dictionary.go, head.go.
package index
