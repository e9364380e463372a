//go:build !linux

package pdf

import (
	"syscall"
	"time"
)

// apart puts a worker out of the reach of Ctrl-C. When this process dies it ends
// at the end of its stdin.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func cpuTime(int) (time.Duration, bool) { return 0, false }
