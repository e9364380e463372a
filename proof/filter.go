package proof

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"

	"arborist/merkle"
)

// filterVersion is the first line of a filter's text. Its second line is no
// number, so that no reader of checkpoints, ours or another's, takes it for one.
const filterVersion = "arborist-filter/1"

// A FilterHead is a publisher's word which filter (package document/filter) is
// that of the first records of a log. It stands beside the checkpoint and not in
// it, because every proof carries the checkpoint.
type FilterHead struct {
	Head Checkpoint  // of the log that the filter was built of
	Sum  merkle.Hash // SHA-256 of the filter's bytes
}

// SumFilter returns what stands for a filter in its head.
func SumFilter(b []byte) merkle.Hash { return sha256.Sum256(b) }

// Text returns the only spelling of what is signed: five lines, each ended by a
// newline.
func (f FilterHead) Text() []byte {
	b := append([]byte(nil), filterVersion+"\norigin "...)
	origin, rest, _ := bytes.Cut(f.Head.Text(), []byte("\n"))
	size, rest, _ := bytes.Cut(rest, []byte("\n"))
	b = append(append(b, origin...), "\nsize "...)
	b = append(append(b, size...), "\nroot "...)
	b = append(append(b, rest...), "filter "...)
	return append(appendHash(b, f.Sum), '\n')
}

// SignFilter returns the signed note of f, with one line of each signer as
// [SignCheckpoint]. It fails with [ErrFormat] or [ErrOrigin].
func SignFilter(f FilterHead, signers ...*Signer) ([]byte, error) {
	for _, s := range signers {
		if f.Head.Origin != s.Name() {
			return nil, fmt.Errorf("sign filter: %w: origin %q, the key is for %q", ErrOrigin, f.Head.Origin, s.Name())
		}
	}
	text := f.Text()
	if _, err := parseFilterHead(text); err != nil {
		return nil, fmt.Errorf("sign filter: %w", err)
	}
	return SignNote(text, signers...)
}

// OpenFilter returns what v has signed about a filter. Errors wrap [ErrFormat],
// [ErrVersion], [ErrTooLarge], [ErrUnknownKey], [ErrSignature] or [ErrOrigin].
func OpenFilter(note []byte, v *Verifier) (FilterHead, error) {
	text, err := openNote(note, v)
	if err != nil {
		return FilterHead{}, fmt.Errorf("open filter: %w", err)
	}
	f, err := parseFilterHead(text)
	if err != nil {
		return FilterHead{}, fmt.Errorf("open filter: %w", err)
	}
	if f.Head.Origin != v.name {
		return FilterHead{}, fmt.Errorf("open filter: %w: origin %q, the key is for %q", ErrOrigin, f.Head.Origin, v.name)
	}
	return f, nil
}

func parseFilterHead(text []byte) (f FilterHead, err error) {
	lines := strings.Split(string(text), "\n")
	if lines[0] != filterVersion {
		if n, ok := strings.CutPrefix(lines[0], "arborist-filter/"); ok && isNumber([]byte(n)) {
			return f, fmt.Errorf("%w: %.40q, this program knows %q", ErrVersion, lines[0], filterVersion)
		}
		return f, fmt.Errorf("%w: its first line is not %q", ErrFormat, filterVersion)
	}
	if len(lines) != 6 {
		return f, fmt.Errorf("%w: want five lines: version, origin, size, root and filter", ErrFormat)
	}
	var values [4]string
	for i, key := range []string{"origin ", "size ", "root ", "filter "} {
		v, ok := strings.CutPrefix(lines[1+i], key)
		if !ok {
			return f, fmt.Errorf("%w: line %d does not start with %q", ErrFormat, i+2, key)
		}
		values[i] = v
	}
	if f.Head, err = parseCheckpoint([]byte(strings.Join(values[:3], "\n") + "\n")); err != nil {
		return f, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if f.Sum, err = parseHash([]byte(values[3])); err != nil {
		return f, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if !bytes.Equal(f.Text(), text) {
		return f, fmt.Errorf("%w: second spelling", ErrFormat)
	}
	return f, nil
}
