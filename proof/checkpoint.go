package proof

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"

	"arborist/merkle"
)

// A Checkpoint is the head of a corpus's log: which log, how many records and
// the root of the tree over them (C2SP tlog-checkpoint, without extension
// lines).
type Checkpoint struct {
	Origin string      // of a corpus: "PEER/NAME", which is also its key's name
	Size   uint64      // records, below 2^63
	Root   merkle.Hash // of the tree over Size records
}

// Text returns the checkpoint's only spelling: three lines, each ended by a
// newline. It is what is signed.
func (c Checkpoint) Text() []byte {
	b := make([]byte, 0, len(c.Origin)+70)
	b = append(b, c.Origin...)
	b = append(b, '\n')
	b = strconv.AppendUint(b, c.Size, 10)
	b = append(b, '\n')
	b = appendHash(b, c.Root)
	return append(b, '\n')
}

// ParseCheckpoint parses a checkpoint's text, unsigned, and accepts exactly
// what [Checkpoint.Text] gives for a valid one. It fails with [ErrFormat].
func ParseCheckpoint(text []byte) (Checkpoint, error) {
	c, err := parseCheckpoint(text)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("parse checkpoint: %w: %w", ErrFormat, err)
	}
	return c, nil
}

func parseCheckpoint(text []byte) (c Checkpoint, err error) {
	if len(text) > MaxName+100 {
		return c, ErrTooLarge
	}
	lines := bytes.Split(text, []byte("\n"))
	if len(lines) != 4 || len(lines[3]) != 0 {
		return c, fmt.Errorf("want three lines: origin, size and root")
	}
	c.Origin = string(lines[0])
	if err := checkName(c.Origin); err != nil {
		return c, err
	}
	if c.Size, err = parseNumber(lines[1]); err != nil {
		return c, fmt.Errorf("size: %w", err)
	}
	if c.Root, err = parseHash(lines[2]); err != nil {
		return c, fmt.Errorf("root: %w", err)
	}
	switch {
	case c.Root.IsZero():
		return c, fmt.Errorf("the root is zero")
	case c.Size == 0 && c.Root != merkle.EmptyRoot():
		return c, fmt.Errorf("size 0 has another root than the empty tree")
	case !bytes.Equal(c.Text(), text):
		return c, fmt.Errorf("second spelling")
	}
	return c, nil
}

// SignCheckpoint returns the note of c with one line of each signer, in their
// order: one, or the old and the new key while a corpus changes its key
// ([MakeRotation]). Every signer must be named after the origin. It fails with
// [ErrFormat] or [ErrOrigin].
func SignCheckpoint(c Checkpoint, signers ...*Signer) ([]byte, error) {
	for _, s := range signers {
		if c.Origin != s.Name() {
			return nil, fmt.Errorf("sign checkpoint: %w: origin %q, the key is for %q", ErrOrigin, c.Origin, s.Name())
		}
	}
	text := c.Text()
	if _, err := ParseCheckpoint(text); err != nil {
		return nil, fmt.Errorf("sign checkpoint: %w", err)
	}
	return SignNote(text, signers...)
}

// OpenCheckpoint returns the checkpoint that v has signed. The origin has to be
// the key's name. Errors wrap [ErrFormat], [ErrTooLarge], [ErrUnknownKey],
// [ErrSignature] or [ErrOrigin].
func OpenCheckpoint(note []byte, v *Verifier) (Checkpoint, error) {
	text, err := openNote(note, v)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("open checkpoint: %w", err)
	}
	c, err := ParseCheckpoint(text)
	if err != nil {
		return Checkpoint{}, err
	}
	if c.Origin != v.name {
		return Checkpoint{}, fmt.Errorf("open checkpoint: %w: origin %q, the key is for %q", ErrOrigin, c.Origin, v.name)
	}
	return c, nil
}

// ReadCheckpoint returns what a note claims, with its form checked but NO
// SIGNATURE: use it to find out whose key to ask for, never to believe it.
func ReadCheckpoint(note []byte) (Checkpoint, error) {
	text, _, err := splitNote(note)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("read checkpoint: %w", err)
	}
	return ParseCheckpoint(text)
}

// SplitOrigin splits the origin of a corpus, "PEER/NAME", into the publisher's
// peer ID and the corpus's name. It fails with [ErrFormat].
func SplitOrigin(origin string) (publisher, name string, err error) {
	publisher, name, ok := strings.Cut(origin, "/")
	if !ok || publisher == "" || name == "" {
		return "", "", fmt.Errorf("origin %q: %w: want PEER/NAME", origin, ErrFormat)
	}
	return publisher, name, nil
}

// hashText is the length of a hash in base64.
const hashText = 44

func appendHash(b []byte, h merkle.Hash) []byte { return base64.StdEncoding.AppendEncode(b, h[:]) }

// parseHash parses 32 bytes of base64 in the one spelling.
func parseHash(b []byte) (merkle.Hash, error) {
	var buf [hashText]byte
	if len(b) == hashText {
		// 44 characters that give 32 bytes hold none that the decoder skips.
		if n, err := strict64.Decode(buf[:], b); err == nil && n == merkle.HashSize {
			return merkle.Hash(buf[:merkle.HashSize]), nil
		}
	}
	return merkle.Hash{}, fmt.Errorf("%.60q is not 32 bytes in base64", b)
}

// parseNumber parses a decimal number below 2^63 without sign or leading zeros.
func parseNumber[T string | []byte](b T) (uint64, error) {
	n, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil || n > math.MaxInt64 || len(b) > 1 && b[0] == '0' || b[0] == '+' {
		return 0, fmt.Errorf("%.30q is not a number from 0 to 2^63-1 without leading zeros", b)
	}
	return n, nil
}

func isNumber(b []byte) bool {
	_, err := parseNumber(b)
	return err == nil
}
