// Package harden gives every SQLite connection of the process the function
// arborist_harden(), which switches off, on its connection, whatever a hostile
// schema could use. The Go driver has no binding for sqlite3_db_config.
package harden

// #cgo CFLAGS: -std=c99 -O2 -Wall -Wextra
// #include "harden.h"
import "C"

import "fmt"

// Register makes the function known to every SQLite connection that this
// process opens from now on. Calling it again changes nothing.
func Register() error {
	if rc := C.arborist_register(); rc != 0 {
		return fmt.Errorf("register arborist_harden: SQLite error %d", int(rc))
	}
	return nil
}
