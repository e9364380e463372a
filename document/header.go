package document

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// headerVersion is the first line of every header.
const headerVersion = "arborist-document/1"

// maxHeader is more than any header takes: six lines, two of them names.
const maxHeader = 512

// ErrHeader is wrapped by every error of a header's text form.
var ErrHeader = errors.New("document: header is not valid")

// A Header binds a root to the number of chunks and bytes below it and to the
// formats they were made with. It is the only place from which a verifier may
// take the size of a document's tree.
type Header struct {
	Root    Root
	Chunks  uint64 // leaves of the tree, at least 1
	Bytes   uint64 // length of the canonical text, at least Chunks
	Norm    string // normalisation, see [NormName]
	Chunker string // boundaries, see [ChunkerName]
}

// Text returns the header's only spelling: six lines, each ended by a newline.
func (h Header) Text() []byte {
	// Not fmt: a proof verifier spends a fifth of its time here otherwise.
	b := make([]byte, 0, 192)
	b = append(b, headerVersion+"\nroot "...)
	b = appendCID(b, h.Root.Hash())
	b = append(b, "\nchunks "...)
	b = strconv.AppendUint(b, h.Chunks, 10)
	b = append(b, "\nbytes "...)
	b = strconv.AppendUint(b, h.Bytes, 10)
	b = append(b, "\nnorm "...)
	b = append(b, h.Norm...)
	b = append(b, "\nchunker "...)
	b = append(b, h.Chunker...)
	return append(b, '\n')
}

// ID returns the document ID: SHA-256 of the header's text.
func (h Header) ID() ID { return sha256.Sum256(h.Text()) }

// ParseHeader parses a header's text. It accepts exactly what [Header.Text]
// gives and wraps [ErrHeader] otherwise.
func ParseHeader(text []byte) (Header, error) {
	h, err := parseHeader(text)
	if err != nil {
		return Header{}, fmt.Errorf("%w: %w", ErrHeader, err)
	}
	return h, nil
}

func parseHeader(text []byte) (h Header, err error) {
	if len(text) > maxHeader {
		return h, fmt.Errorf("%d bytes, the longest has %d", len(text), maxHeader)
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) != 7 || lines[0] != headerVersion || lines[6] != "" {
		return h, fmt.Errorf("want six lines that start with %q", headerVersion)
	}
	value := [5]string{}
	for i, key := range []string{"root", "chunks", "bytes", "norm", "chunker"} {
		v, ok := strings.CutPrefix(lines[i+1], key+" ")
		if !ok {
			return h, fmt.Errorf("line %d does not start with %q", i+2, key+" ")
		}
		value[i] = v
	}
	if h.Root, err = ParseRoot(value[0]); err != nil {
		return h, err
	}
	if h.Chunks, err = strconv.ParseUint(value[1], 10, 64); err != nil {
		return h, fmt.Errorf("chunks: %w", err)
	}
	if h.Bytes, err = strconv.ParseUint(value[2], 10, 64); err != nil {
		return h, fmt.Errorf("bytes: %w", err)
	}
	h.Norm, h.Chunker = value[3], value[4]
	if err := h.check(); err != nil {
		return h, err
	}
	// Numbers with a sign or leading zeros parse too: one spelling only.
	if !bytes.Equal(h.Text(), text) {
		return h, errors.New("not in its only spelling")
	}
	return h, nil
}

// Check returns what [ParseHeader] would say of the header's text.
func (h Header) Check() error {
	if err := h.check(); err != nil {
		return fmt.Errorf("%w: %w", ErrHeader, err)
	}
	return nil
}

func (h Header) check() error {
	switch {
	case h.Root == Root{}:
		return errors.New("no root")
	case h.Chunks == 0:
		return errors.New("no chunks")
	case h.Bytes < h.Chunks:
		return fmt.Errorf("%d bytes cannot hold %d chunks", h.Bytes, h.Chunks)
	case h.Bytes > MaxBytes:
		return ErrTooLarge
	case !isName(h.Norm) || !isName(h.Chunker):
		return errors.New("norm and chunker are names of lower-case letters, digits and hyphens")
	}
	return nil
}

// isName reports whether s is a format name: 1 to 32 of a-z, 0-9 and "-".
func isName(s string) bool {
	if len(s) == 0 || len(s) > 32 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
