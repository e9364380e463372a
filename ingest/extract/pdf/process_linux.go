package pdf

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// apart puts a worker out of the reach of Ctrl-C, which goes to the group of the
// terminal, and has the kernel end it when this process dies.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// cpuTime returns the processor time of a process, and false where it is not
// known.
func cpuTime(pid int) (time.Duration, bool) {
	const scheduled = 2 // CPUCLOCK_SCHED: what all threads of the process have had
	var t unix.Timespec
	if unix.ClockGettime(int32(^pid<<3|scheduled), &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
