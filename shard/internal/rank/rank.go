// Package rank computes exact BM25 inside SQLite: C functions for FTS5, and
// the Go side that writes their parameters and reads their results.
package rank

// Strict C99 forbids the compiler to fuse a multiplication with an addition,
// which gcc does in its GNU modes and which would change scores between
// machines. (The flag -ffp-contract=off is not among those that cgo allows.)

// #cgo CFLAGS: -std=c99 -O2 -Wall -Wextra
// #include "rank.h"
import "C"

import "fmt"

// Register makes the functions known to every SQLite connection that this
// process opens from now on. Calling it again changes nothing.
func Register() error {
	if rc := C.arborist_register(); rc != 0 {
		return fmt.Errorf("register search functions: SQLite error %d", int(rc))
	}
	return nil
}
