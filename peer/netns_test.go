package peer

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A netns is a network namespace with one interface in a network of its own
// test. Loopback is exempt from some limits, and has no multicast; here nothing
// is.
type netns struct{ name, ip string }

// namespaces makes n namespaces that reach each other through a bridge, and
// nothing else. Without the permission to make them the test is skipped.
func namespaces(t *testing.T, n int) []netns {
	t.Helper()
	run := func(args ...string) error {
		out, err := exec.Command("ip", args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	tag := fmt.Sprintf("ab%d", os.Getpid()%100000)
	hub := tag + "h"
	if err := run("netns", "add", hub); err != nil {
		t.Skipf("network namespaces are not permitted here: %v", err)
	}
	t.Cleanup(func() { run("netns", "del", hub) })
	steps := [][]string{{"-n", hub, "link", "add", "name", "hub0", "type", "bridge"}, {"-n", hub, "link", "set", "hub0", "up"}}
	all := make([]netns, n)
	for i := range all {
		ns, port := netns{fmt.Sprintf("%s%d", tag, i), fmt.Sprintf("10.99.0.%d", i+1)}, fmt.Sprintf("p%d", i)
		all[i] = ns
		steps = append(steps,
			[]string{"netns", "add", ns.name},
			[]string{"link", "add", port, "netns", hub, "type", "veth", "peer", "name", "eth0", "netns", ns.name},
			[]string{"-n", hub, "link", "set", port, "master", "hub0", "up"},
			[]string{"-n", ns.name, "addr", "add", ns.ip + "/24", "dev", "eth0"},
			[]string{"-n", ns.name, "link", "set", "lo", "up"},
			[]string{"-n", ns.name, "link", "set", "eth0", "up", "multicast", "on"},
			[]string{"-n", ns.name, "route", "add", "default", "dev", "eth0"},
		)
		t.Cleanup(func() { run("netns", "del", ns.name) })
	}
	for _, s := range steps {
		if err := run(s...); err != nil {
			t.Skipf("network namespaces are not permitted here: %v", err)
		}
	}
	return all
}

// child returns a run of one test of this binary inside the namespace.
func (ns netns) child(test string, env ...string) *exec.Cmd {
	cmd := exec.Command("ip", "netns", "exec", ns.name, os.Args[0], "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), env...)
	return cmd
}
