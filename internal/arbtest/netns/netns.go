// Package netns gives tests network namespaces of their own. Loopback has no
// multicast and is exempt from limits per address; in a namespace nothing is.
package netns

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A Space is a namespace with one interface, eth0, that reaches the other
// spaces of the same test and nothing else. It has no IPv6, which speaks by
// itself.
type Space struct{ Name, IP string }

// Make makes n spaces. Where that is not permitted the test is skipped.
func Make(t *testing.T, n int) []Space {
	t.Helper()
	tag := fmt.Sprintf("ab%d", os.Getpid()%100000)
	hub := tag + "h"
	if err := run("netns", "add", hub); err != nil {
		t.Skipf("network namespaces are not permitted here: %v", err)
	}
	t.Cleanup(func() { run("netns", "del", hub) })
	steps := [][]string{{"-n", hub, "link", "add", "name", "hub0", "type", "bridge"}, {"-n", hub, "link", "set", "hub0", "up"}}
	all := make([]Space, n)
	for i := range all {
		s, port := Space{fmt.Sprintf("%s%d", tag, i), fmt.Sprintf("10.99.0.%d", i+1)}, fmt.Sprintf("p%d", i)
		all[i] = s
		steps = append(steps,
			[]string{"netns", "add", s.Name},
			[]string{"link", "add", port, "netns", hub, "type", "veth", "peer", "name", "eth0", "netns", s.Name},
			[]string{"netns", "exec", s.Name, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6 || true"},
			[]string{"-n", hub, "link", "set", port, "master", "hub0", "up"},
			[]string{"-n", s.Name, "addr", "add", s.IP + "/24", "dev", "eth0"},
			[]string{"-n", s.Name, "link", "set", "lo", "up"},
			[]string{"-n", s.Name, "link", "set", "eth0", "up", "multicast", "on"},
			[]string{"-n", s.Name, "route", "add", "default", "dev", "eth0"},
		)
		t.Cleanup(func() { run("netns", "del", s.Name) })
	}
	for _, s := range steps {
		if err := run(s...); err != nil {
			t.Skipf("network namespaces are not permitted here: %v", err)
		}
	}
	return all
}

func run(args ...string) error {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// Run returns a run of one test of the running test binary inside the space.
func (s Space) Run(test string, env ...string) *exec.Cmd {
	cmd := s.Command(os.Args[0], "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), env...)
	return cmd
}
