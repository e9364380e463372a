//go:build !linux

package main

import "syscall"

// endWithParent has no counterpart here: a demo that is killed with SIGKILL
// leaves its daemons to be stopped by hand.
func endWithParent() *syscall.SysProcAttr { return nil }
