package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	"arborist/proof"
)

// readFile reads a file of at most limit bytes, or standard input for "-". It
// never holds more than one byte above the limit.
func readFile(name string, limit int64, stdin io.Reader) ([]byte, error) {
	r := stdin
	if name != "-" || stdin == nil {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
		defer f.Close()
		r = f
	}
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // its file is named here, standard input too
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", label(name), err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("read %s: %w: over %d bytes", label(name), proof.ErrTooLarge, limit)
	}
	return b, nil
}

// label names a file in an error.
func label(name string) string {
	if name == "-" {
		return "standard input"
	}
	return strconv.Quote(name)
}

// of says which file an error is of, where it is no fault of the arguments.
func of(name string, err error) error {
	if _, ok := isUsage(err); ok || err == nil {
		return err
	}
	return fmt.Errorf("%s: %w", label(name), err)
}

// A hinted error has another next step than its kind.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

// tooLarge gives the error of a file that is over its limit the next step for
// what the file should have been.
func tooLarge(err error, hint string) error {
	if !errors.Is(err, proof.ErrTooLarge) {
		return err
	}
	return &hinted{err, hint}
}

// readPassage reads the file given with --text.
func readPassage(name string, stdin io.Reader) ([]byte, error) {
	b, err := readFile(name, proof.MaxPassage, stdin)
	return b, tooLarge(err, fmt.Sprintf("--text takes the passage alone, of at most %d bytes, not the document that it stands in", proof.MaxPassage))
}

// readRotations reads a rotations file. Its errors name the file, so that its
// faults are not taken for the proof's.
func readRotations(name string) ([]proof.Rotation, error) {
	b, err := readFile(name, proof.MaxRotationFile, nil)
	if err != nil {
		return nil, tooLarge(err, "this is not a rotations file: its publisher writes one with arborist corpus rotations NAME")
	}
	chain, err := proof.ParseRotations(b)
	if err != nil {
		err = fmt.Errorf("read %s: %w: %w", label(name), errRotationFile, err)
		return nil, wrongKind(err, "rotations", b)
	}
	return chain, nil
}
