// Package car writes documents as CARv1 archives (https://ipld.io/specs/transport/car/carv1/)
// that IPFS tools can import, pin and walk, and reads them back.
//
// It guarantees:
//
//   - Honest names. Every block is what its CID hashes: CIDv1, sha2-256, raw for
//     chunks (0x00‖text) and headers, dag-cbor for what links them.
//   - Nothing unverified. A document that [Archive.Each] gives was put together
//     from verified blocks, cut and hashed again, and has the header that names it.
//   - Bounds. Reading takes 24 bytes of memory for each block of the archive and
//     that of one document, whatever the archive claims.
//
// # Blocks
//
// All maps have the keys that stand here and no others, in the order of dag-cbor
// (shorter keys first); numbers and lengths have their shortest form.
//
//	manifest     {"chunks": [link…], "format": "arborist-document/1", "header": link,
//	             "locations": [{"uri", "title", "source", "fetched"}…]}
//	collection   {"format": "arborist-collection/1", "documents": [link…]}
//	list         {"links": [link…]}
//
// A header is the text of [document.Header]; its CID is the document ID. A chunk's
// CID is that of its leaf in the document's Merkle tree. Fetched is in Unix seconds.
// Where there would be over [maxLinks] links, "chunks" and "documents" hold links to
// lists, each full but the last, and are then called "lists".
//
// The archive's one root is its collection. An archive made by another tool may
// have several roots, manifests too, and its blocks in any order.
package car

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"

	"arborist/document"
)

const (
	// maxLinks keeps a block below the megabyte that IPFS tools take.
	maxLinks = 8192
	// maxBlock is the largest block that is read, in bytes.
	maxBlock = 2 << 20
	// maxHeader is the longest header of an archive: about 1,700 roots.
	maxHeader = 64 << 10
	// maxLocations is how many places of one document are written.
	maxLocations = 1024

	formatDocument   = "arborist-document/1"
	formatCollection = "arborist-collection/1"
)

// ErrFormat is wrapped by every error about the bytes of an archive.
var ErrFormat = errors.New("not an archive of documents in CARv1 form")

func formatErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrFormat, fmt.Errorf(format, args...))
}

// An Item is a document with the places where it was found. Of a location only
// URI, title, source and time are kept.
type Item struct {
	Document  *document.Document
	Locations []document.Location
}

// The codecs of blocks (https://github.com/multiformats/multicodec).
const (
	codecRaw     = 0x55
	codecDagCBOR = 0x71
)

// linkSize is the length of a CID: version, codec, hash code, length, hash.
const linkSize = 4 + sha256.Size

// A link is the CID of a block, in binary.
type link [linkSize]byte

func linkTo(codec byte, block []byte) link {
	return linkOf(codec, sha256.Sum256(block))
}

func linkOf(codec byte, hash [sha256.Size]byte) (l link) {
	l[0], l[1], l[2], l[3] = 1, codec, 0x12, sha256.Size
	copy(l[4:], hash[:])
	return l
}

// parseLink takes a CID of the two kinds that archives of ours have.
func parseLink(b []byte) (l link, err error) {
	if len(b) != linkSize || b[0] != 1 || b[1] != codecRaw && b[1] != codecDagCBOR || b[2] != 0x12 || b[3] != sha256.Size {
		return l, formatErrorf("a CID that is not CIDv1 of raw or dag-cbor with sha2-256: %x", b[:min(len(b), linkSize)])
	}
	return link(b), nil
}

func (l link) codec() byte { return l[1] }

// String returns the CID's text form: base32, lower case.
func (l link) String() string {
	return "b" + base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding).EncodeToString(l[:])
}
