package report

import (
	"fmt"
	"io"
	"os"

	"arborist/proof"
)

// readFile reads a file of at most limit bytes, or standard input for "-". It
// never holds more than one byte above the limit.
func readFile(name string, limit int64, stdin io.Reader) ([]byte, error) {
	r, label := stdin, "standard input"
	if name != "-" || stdin == nil {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read proof: %w", err)
		}
		defer f.Close()
		r, label = f, name
	}
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", label, err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("read %q: %w: over %d bytes", label, proof.ErrTooLarge, limit)
	}
	return b, nil
}

// readRotations reads a rotations file. Its errors name the file, so that its
// faults are not taken for the proof's.
func readRotations(name string) ([]proof.Rotation, error) {
	b, err := readFile(name, proof.MaxRotationFile, nil)
	if err != nil {
		return nil, err
	}
	chain, err := proof.ParseRotations(b)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w: %w", name, errRotationFile, err)
	}
	return chain, nil
}
