package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

// A ready is what a daemon says with --json once it serves.
type ready struct {
	ID    string   `json:"peer_id"`
	Addrs []string `json:"addrs"`
}

// startDaemon runs a daemon until the end of the test, and waits until it is ready.
func startDaemon(t *testing.T, daemon *exec.Cmd) (r ready) {
	t.Helper()
	daemon.Stderr = os.Stderr
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { daemon.Process.Kill(); daemon.Wait() })
	if err := json.NewDecoder(out).Decode(&r); err != nil {
		t.Fatalf("the daemon says it is ready: %v", err)
	}
	return r
}
