//go:build linux

package peer

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	ma "github.com/multiformats/go-multiaddr"

	"arborist/internal/arbtest/netns"
)

const reachChild = "ARBORIST_TEST_REACH_CHILD"

// TestReachInANamespace is a part of the test below: a node that tells others
// which of their addresses it can reach, or one that asks.
func TestReachInANamespace(t *testing.T) {
	role, rest, _ := strings.Cut(os.Getenv(reachChild), " ")
	if role == "" {
		t.Skip("runs as a child of TestANodeLearnsWhichOfItsAddressesAreReached")
	}
	// By QUIC nobody is dialled back before dials by it have worked.
	n := newNode(t).up([]string{"/ip4/0.0.0.0/tcp/4707"}, func(c *Config) { c.Reach.HolePunching = true })
	if role == "tells" {
		fmt.Println("id", n.id)
		io.Copy(io.Discard, os.Stdin)
		return
	}
	own, others, _ := strings.Cut(rest, " ")
	for _, other := range strings.Fields(others) {
		if _, err := n.peer.Join(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	host, ok := n.peer.host.(interface {
		ConfirmedAddrs() (reachable, unreachable, unknown []ma.Multiaddr)
	})
	if !ok {
		t.Fatalf("a %T does not say which addresses were tried", n.peer.host)
	}
	has := func(list []ma.Multiaddr) bool {
		return slices.ContainsFunc(list, func(a ma.Multiaddr) bool { return strings.HasPrefix(a.String(), "/ip4/"+own+"/") })
	}
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		switch yes, no, _ := host.ConfirmedAddrs(); {
		case has(yes):
			fmt.Println("reached: yes")
			return
		case has(no):
			fmt.Println("reached: no")
			return
		}
	}
	fmt.Println("reached: nobody says")
}

func TestANodeLearnsWhichOfItsAddressesAreReached(t *testing.T) {
	if !netns.Inside(t, "nft") {
		return
	}
	internet := netns.NewInternet(t)
	start := func(s netns.Space, role string) *netns.Part {
		return s.Start(t, "TestReachInANamespace", reachChild+"="+role)
	}
	var tellers string // libp2p believes no single one
	for i := range 3 {
		ip := fmt.Sprintf("20.0.0.%d", 1+i)
		part := start(internet.Host(fmt.Sprintf("tells%d", i), ip), "tells")
		tellers += " /ip4/" + ip + "/tcp/4707/p2p/" + part.Says("id ")
	}
	open, shut := internet.Host("open", "20.0.0.8"), internet.Firewalled("shut", "20.0.0.9")
	asks := map[string]*netns.Part{"yes": start(open, "asks 20.0.0.8"+tellers), "no": start(shut, "asks 20.0.0.9"+tellers)}
	for want, part := range asks {
		if got := part.Says("reached: "); got != want {
			t.Errorf("a node that others reach: %s, says %s", want, got)
		}
	}
}
