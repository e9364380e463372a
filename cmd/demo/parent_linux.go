package main

import "syscall"

// endWithParent has the kernel end a child when this process dies.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
