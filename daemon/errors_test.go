package daemon

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"arborist/daemon/api"
)

// What a disk refuses comes with what to do about it, wherever it is met.
func TestWhatADiskRefusesSaysWhatToDo(t *testing.T) {
	for _, refused := range []error{syscall.ENOSPC, syscall.EROFS, syscall.EACCES, syscall.EPERM, syscall.ENOTDIR, syscall.EDQUOT} {
		err := explain(fmt.Errorf("lock home: %w", &fs.PathError{Op: "open", Path: "home/lock", Err: refused}))
		if e := api.AsError(err); e.Code != api.CodeFailed || e.Hint == "" {
			t.Errorf("%v: code %q, hint %q", refused, e.Code, e.Hint)
		}
	}
}
