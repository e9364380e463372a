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

// A part is a running child of the test: it is asked by lines and answers so.
type part struct {
	t     *testing.T
	in    io.WriteCloser
	lines *bufio.Scanner
}

func startPart(t *testing.T, space netns.Space, role string) *part {
	t.Helper()
	cmd := space.Run("TestAFloodInANamespace", floodChild+"="+role)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(4*time.Minute, func() { cmd.Process.Kill() })
	t.Cleanup(func() { kill.Stop(); in.Close(); cmd.Wait() })
	return &part{t, in, bufio.NewScanner(out)}
}

// says returns what follows a word in the child's next line that starts with it.
func (p *part) says(word string) string {
	p.t.Helper()
	var seen []string
	for p.lines.Scan() {
		if rest, ok := strings.CutPrefix(p.lines.Text(), word); ok {
			return strings.TrimSpace(rest)
		}
		seen = append(seen, p.lines.Text())
	}
	p.t.Fatalf("the child ended without %q: %q", word, seen)
	return ""
}

func TestTwoHundredDialsOfOneAddressHoldFew(t *testing.T) {
	spaces := netns.Make(t, 3)
	node := startPart(t, spaces[0], "node")
	addr := "/ip4/" + spaces[0].IP + "/tcp/4707/p2p/" + node.says("id ")
	startPart(t, spaces[1], "flooder "+addr).says("flooding")
	fmt.Fprintln(node.in)
	var held int
	if _, err := fmt.Sscan(node.says("held "), &held); err != nil || held > connsPerIP || held == 0 {
		t.Errorf("%d connections of one address are held, want at most %d", held, connsPerIP)
	}
	startPart(t, spaces[2], "honest "+addr).says("synced")
}
