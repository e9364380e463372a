package index

import (
	"errors"
	"fmt"
)

// ErrFormat: bytes that are no segment as this package writes it.
var ErrFormat = errors.New("index is damaged")

func formatErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
}
