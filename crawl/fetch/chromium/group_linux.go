package chromium

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// ownGroup puts the browser into a process group of its own, so that all of it
// can be killed together, and has the kernel kill it when we die.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup kills every process of the group and waits, for a bounded time,
// until none is left.
func killGroup(group int) {
	if group <= 1 {
		return
	}
	for range 500 {
		if syscall.Kill(-group, syscall.SIGKILL) != nil || len(members(group)) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// members gives the living processes of a group. Zombies do not count: they
// are dead, and only wait for their parent to hear of it.
func members(group int) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if state, of := stat(pid); of == group && state != 'Z' && state != 'X' {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stat reads state and process group of a process from /proc (proc(5)).
func stat(pid int) (state byte, group int) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0
	}
	// The name in parentheses may hold anything, parentheses included.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 3 {
		return 0, 0
	}
	group, _ = strconv.Atoi(string(fields[2]))
	return fields[0][0], group
}

// groupMemory gives the private memory of a group in bytes: what would be free
// without it.
func groupMemory(group int) (total int64) {
	for _, pid := range members(group) {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		_, rest, ok := bytes.Cut(b, []byte("RssAnon:"))
		if !ok {
			continue
		}
		if f := bytes.Fields(rest); len(f) > 0 {
			kib, _ := strconv.ParseInt(string(f[0]), 10, 64)
			total += kib << 10
		}
	}
	return total
}
