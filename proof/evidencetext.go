package proof

import (
	"bytes"
	"fmt"

	"arborist/merkle"
)

const (
	evidencePrefix  = "arborist-evidence/"
	evidenceVersion = evidencePrefix + "1"
)

// MarshalText returns the evidence's text form, the only one it has. It fails
// where e has none: where notes, kind, root and path cannot belong together. It
// does not verify the evidence.
func (e *Evidence) MarshalText() ([]byte, error) {
	if _, err := e.Claim(); err != nil {
		return nil, fmt.Errorf("write evidence: %w", err)
	}
	b := make([]byte, 0, 1024+len(e.Older)+len(e.Newer))
	b = append(b, evidenceVersion+"\nkind "...)
	b = append(b, e.Kind...)
	b = append(b, '\n')
	if e.contradicts() {
		b = append(b, "root "...)
		b = appendHash(b, e.Root)
		b = append(b, '\n')
	}
	for _, h := range e.Path {
		b = appendHash(b, h)
		b = append(b, '\n')
	}
	b = append(b, '\n')
	b = append(b, e.Older...)
	b = append(b, '\n')
	return append(b, e.Newer...), nil
}

// ParseEvidence parses an evidence file and accepts exactly what
// [Evidence.MarshalText] gives. It checks the form alone: [Evidence.Verify]
// checks what it shows. Errors wrap [ErrFormat], [ErrTruncated], [ErrVersion],
// [ErrTooLarge] or [ErrTampered].
func ParseEvidence(file []byte) (*Evidence, error) {
	e, err := parseEvidence(file)
	if err != nil {
		return nil, fmt.Errorf("parse evidence: %w", err)
	}
	return e, nil
}

func parseEvidence(file []byte) (*Evidence, error) {
	if len(file) > MaxEvidence {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(file), MaxEvidence)
	}
	t := textParser{rest: file}
	e, err := t.evidence()
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", t.line, err)
	}
	again, err := e.MarshalText()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, file) {
		return nil, fmt.Errorf("%w: second spelling of evidence", ErrFormat)
	}
	return e, nil
}

func (t *textParser) evidence() (*Evidence, error) {
	if err := t.version(evidencePrefix, evidenceVersion); err != nil {
		return nil, err
	}
	kind, err := t.value("kind")
	if err != nil {
		return nil, err
	}
	e := &Evidence{Kind: EvidenceKind(kind)}
	if e.contradicts() || e.Kind == ReplacedKey && bytes.HasPrefix(t.rest, []byte("root ")) {
		root, err := t.value("root")
		if err != nil {
			return nil, err
		}
		if e.Root, err = parseHash(root); err != nil {
			return nil, fmt.Errorf("%w: root: %w", ErrFormat, err)
		}
	}
	if e.Path, err = t.hashes(maxConsistency); err != nil {
		return nil, err
	}
	if e.Older, err = t.note(e.lines(t.rest)); err != nil {
		return nil, err
	}
	if line, err := t.next(); err != nil || len(line) > 0 {
		return nil, orFormat(err, "want an empty line between the notes, found %.40q", line)
	}
	if e.Newer, err = t.note(e.lines(t.rest)); err != nil {
		return nil, err
	}
	if len(t.rest) > 0 {
		return nil, fmt.Errorf("%w: %d bytes after the newer note", ErrFormat, len(t.rest))
	}
	return e, nil
}

// orFormat returns err, or where there is none an [ErrFormat] of this text.
func orFormat(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}

// version takes off the first line, which names a format and its version.
func (t *textParser) version(prefix, want string) error {
	start := t.rest[:min(len(t.rest), len(prefix))]
	if string(start) != prefix[:len(start)] {
		t.line = 1
		return fmt.Errorf("%w: it does not start with %q", ErrFormat, want)
	}
	first, err := t.next()
	if err != nil {
		return err
	}
	if string(first) == want {
		return nil
	}
	if n, ok := bytes.CutPrefix(first, []byte(prefix)); ok && isNumber(n) {
		return fmt.Errorf("%w: %.40q, this program knows %q", ErrVersion, first, want)
	}
	return fmt.Errorf("%w: its first line is not %q", ErrFormat, want)
}

// hashes takes off hashes, one a line and at most most, and the empty line that
// ends them.
func (t *textParser) hashes(most int) (path []merkle.Hash, err error) {
	for {
		line, err := t.next()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			return path, nil
		}
		if len(path) == most {
			return nil, fmt.Errorf("%w: the path has over %d hashes", ErrFormat, most)
		}
		h, err := parseHash(line)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		path = append(path, h)
	}
}

// lines is how many lines the text of the note has that starts here: three of
// a checkpoint or, in the kinds that have them, six of a rotation.
func (e *Evidence) lines(rest []byte) int {
	if e.Kind == RotationFork || e.Kind == RotationHead && isRotation(rest) {
		return 6
	}
	return 3
}

// note takes off a note whose text has so many lines: an empty one follows it,
// and its signature lines.
func (t *textParser) note(lines int) ([]byte, error) {
	start := t.rest
	for range lines + 1 {
		if _, err := t.next(); err != nil {
			return nil, err
		}
	}
	for bytes.HasPrefix(t.rest, []byte(sigPrefix)) {
		if _, err := t.next(); err != nil {
			return nil, err
		}
	}
	return bytes.Clone(start[:len(start)-len(t.rest)]), nil
}
