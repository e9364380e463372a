package netns

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

const (
	userChild = "ARBORIST_TEST_USER_NAMESPACE"
	// needed makes what is missing here a failure: CI sets it where user
	// namespaces are permitted.
	needed = "ARBORIST_NEED_NAMESPACES"
)

// Inside runs the test that calls it again in user, network, mount and process
// namespaces of its own, where it may make networks and what it starts ends with
// it. It reports whether this is that run; the other one returns when that has
// ended, and fails where it did. Where user namespaces are not permitted, or one
// of the programs that the test needs is missing, the test is skipped.
func Inside(t *testing.T, programs ...string) bool {
	t.Helper()
	if os.Getenv(userChild) != "" {
		// Names of namespaces are files in /run/netns.
		do(t, "mount", "-t", "tmpfs", "tmpfs", "/run")
		return true
	}
	if out, err := exec.Command("unshare", "-Urn", "true").CombinedOutput(); err != nil {
		t.Skipf("user namespaces are not permitted here: %v: %s", err, out)
	}
	for _, p := range append(programs, "ip", "nsenter", "mount") {
		if _, err := exec.LookPath(p); err != nil && os.Getenv(needed) == "" {
			t.Skipf("needs %s: %v", p, err)
		}
	}
	cmd := exec.Command("unshare", "-Urnm", "--pid", "--fork", "--kill-child", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), userChild+"=1")
	kill := time.AfterFunc(partTime, func() { cmd.Process.Kill() })
	defer kill.Stop()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("in namespaces of its own: %v\n%s", err, out)
	}
	t.Logf("%s", out)
	return false
}

func do(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
}
