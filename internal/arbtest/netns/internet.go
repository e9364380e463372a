package netns

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// A NAT is how a router gives its host a port of its public address.
type NAT string

const (
	// Cone keeps the host's port where it is free, for whoever is talked to.
	Cone NAT = ""
	// Symmetric takes another port for each far side: nobody can guess it.
	Symmetric NAT = "random,fully-random"
)

// An Internet is a network of public addresses, as libp2p and everybody else
// takes them, for a test that runs [Inside].
type Internet struct {
	t   *testing.T
	hub string
}

// NewInternet makes one that is empty.
func NewInternet(t *testing.T) Internet {
	i := Internet{t, "internet"}
	i.space(i.hub)
	do(t, "ip", "-n", i.hub, "link", "add", "name", "hub", "type", "bridge")
	do(t, "ip", "-n", i.hub, "link", "set", "hub", "up")
	return i
}

// Host adds a host with a public address, 20.0.0.0/24.
func (i Internet) Host(name, ip string) Space {
	i.space(name)
	i.plug(name, ip)
	return Space{name, ip}
}

// Home adds a host behind a router that has the public address, and lets in what
// answers the host alone.
func (i Internet) Home(name, public string, nat NAT) Space {
	router := name + "-router"
	i.space(router)
	i.space(name)
	i.plug(router, public)
	do(i.t, "ip", "link", "add", "lan", "netns", router, "type", "veth", "peer", "name", "eth0", "netns", name)
	for _, s := range [][]string{
		{"-n", router, "addr", "add", "192.168.1.1/24", "dev", "lan"}, {"-n", router, "link", "set", "lan", "up"},
		{"-n", name, "addr", "add", "192.168.1.2/24", "dev", "eth0"}, {"-n", name, "link", "set", "eth0", "up"},
		{"-n", name, "route", "add", "default", "via", "192.168.1.1"},
	} {
		do(i.t, "ip", s...)
	}
	i.filter(router, fmt.Sprintf(`
table ip nat {
	chain out { type nat hook postrouting priority 100; oifname "wan" masquerade %s
	}
}
table ip filter {
	chain through { type filter hook forward priority 0; policy drop; ct state established,related accept; iifname "lan" accept; }
}`+inwardRules, nat))
	do(i.t, "nsenter", "--net=/run/netns/"+router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
	return Space{name, "192.168.1.2"}
}

// inwardRules let in what answers alone.
const inwardRules = `
table ip inward {
	chain inward { type filter hook input priority 0; policy drop; ct state established,related accept; iifname { "lan", "lo" } accept; }
}`

// Firewalled adds a host with a public address that lets in what answers it alone.
func (i Internet) Firewalled(name, ip string) Space {
	s := i.Host(name, ip)
	i.filter(name, inwardRules)
	return s
}

func (i Internet) filter(name, rules string) {
	cmd := Space{Name: name}.Command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader(rules)
	if out, err := cmd.CombinedOutput(); err != nil {
		i.t.Fatalf("filter at %s: %v: %s", name, err, out)
	}
}

// space makes a namespace without IPv6, which speaks by itself.
func (i Internet) space(name string) {
	do(i.t, "ip", "netns", "add", name)
	do(i.t, "ip", "-n", name, "link", "set", "lo", "up")
	Space{Name: name}.Command("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6").Run() // a kernel may be without
}

func (i Internet) plug(name, ip string) {
	port := "to-" + name
	do(i.t, "ip", "link", "add", port[:min(len(port), 15)], "netns", i.hub, "type", "veth", "peer", "name", "wan", "netns", name)
	do(i.t, "ip", "-n", i.hub, "link", "set", port[:min(len(port), 15)], "master", "hub", "up")
	do(i.t, "ip", "-n", name, "addr", "add", ip+"/24", "dev", "wan")
	do(i.t, "ip", "-n", name, "link", "set", "wan", "up")
}

// Command returns a command that runs inside the space.
func (s Space) Command(name string, args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--net=/run/netns/" + s.Name, name}, args...)...)
}

// Sent returns how many bytes the space's interface to the others has sent.
func (s Space) Sent(t *testing.T) int64 {
	t.Helper()
	table, err := s.Command("cat", "/proc/self/net/dev").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(table), "\n") {
		if dev, counters, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(dev) == "wan" {
			n, err := strconv.ParseInt(strings.Fields(counters)[8], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no interface wan in %s", s.Name)
	return 0
}
