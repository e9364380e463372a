package peer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"

	"arborist/internal/arbtest/netns"
)

const floodChild = "ARBORIST_TEST_FLOOD_CHILD"

// TestAFloodInANamespace is a part of the test below: the node that is flooded,
// the flooder, or an honest peer.
func TestAFloodInANamespace(t *testing.T) {
	role, addr, _ := strings.Cut(os.Getenv(floodChild), " ")
	switch role {
	case "node":
		n := newNode(t).up([]string{"/ip4/0.0.0.0/tcp/4707"})
		n.publish("main", entriesOf(t, "doc:/x", 5, 300)...)
		fmt.Println("id", n.id)
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); { // each asks how many are held
			fmt.Println("held", len(n.peer.host.Network().Conns()))
		}
	case "flooder":
		flood(t, addr, 200)
		fmt.Println("flooding")
		io.Copy(io.Discard, os.Stdin)
	case "honest":
		if res := newNode(t).up(nil).sync(addr, "main"); res.Documents != 5 {
			t.Errorf("sync beside the flood = %+v", res)
		}
		fmt.Println("synced")
	default:
		t.Skip("runs as a child of TestTwoHundredDialsOfOneAddressHoldFew")
	}
}

// flood dials n times, each time as somebody else, and holds on to what it gets.
func flood(t *testing.T, addr string, n int) {
	t.Helper()
	to, err := libpeer.AddrInfoFromString(addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	var dials sync.WaitGroup
	hosts := make(chan host.Host, n)
	for range 20 {
		dials.Go(func() {
			for range n / 20 {
				h, err := libp2p.New(libp2p.NoListenAddrs, libp2p.DisableRelay(), libp2p.DisableMetrics(),
					libp2p.ForceReachabilityPrivate(), libp2p.ResourceManager(&network.NullResourceManager{}))
				if err != nil {
					t.Error(err)
					return
				}
				hosts <- h
				h.Connect(ctx, *to)
			}
		})
	}
	dials.Wait()
	close(hosts)
	t.Cleanup(func() {
		for h := range hosts {
			h.Close()
		}
	})
}

func TestTwoHundredDialsOfOneAddressHoldFew(t *testing.T) {
	spaces := netns.Make(t, 3)
	start := func(space netns.Space, role string) *netns.Part {
		return space.Start(t, "TestAFloodInANamespace", floodChild+"="+role)
	}
	node := start(spaces[0], "node")
	addr := "/ip4/" + spaces[0].IP + "/tcp/4707/p2p/" + node.Says("id ")
	start(spaces[1], "flooder "+addr).Says("flooding")
	fmt.Fprintln(node.In)
	const most = 8 // as docs/threats.md has it
	var held int
	if _, err := fmt.Sscan(node.Says("held "), &held); err != nil || held > most || held == 0 {
		t.Errorf("%d connections of one address are held, want at most %d", held, most)
	}
	start(spaces[2], "honest "+addr).Says("synced")
}
