package peer

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	libpeer "github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"

	"arborist/internal/arbtest/netns"
)

const lanChild = "ARBORIST_TEST_LAN_CHILD"

// TestANodeInANamespace is a node of the test below: it says whom it meets until
// its input ends.
func TestANodeInANamespace(t *testing.T) {
	mode := os.Getenv(lanChild)
	if mode == "" {
		t.Skip("runs as a child of TestNodesInOneNetworkFindEachOther")
	}
	n := newNode(t)
	met := make(chan string, 16)
	n.up([]string{"/ip4/0.0.0.0/tcp/0"}, func(c *Config) {
		c.LAN = mode == "on"
		c.Arrived = func(id string) { met <- id }
	})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(met)
	}()
	os.Stdout.WriteString("id " + n.id + "\n")
	for id := range met {
		os.Stdout.WriteString("met " + id + "\n")
	}
}

// startChild runs the node above, and returns its peer ID and the IDs it meets.
func startChild(t *testing.T, space netns.Space, mode string) (id string, met <-chan string) {
	t.Helper()
	node := space.Start(t, "TestANodeInANamespace", lanChild+"="+mode)
	id = node.Says("id ")
	found := make(chan string, 16)
	go func() {
		defer close(found)
		for node.Lines.Scan() {
			if s, ok := strings.CutPrefix(node.Lines.Text(), "met "); ok {
				found <- s
			}
		}
	}()
	return id, found
}

func TestNodesInOneNetworkFindEachOther(t *testing.T) {
	spaces := netns.Make(t, 3)
	silent, metSilent := startChild(t, spaces[2], "off")
	a, metA := startChild(t, spaces[0], "on")
	b, metB := startChild(t, spaces[1], "on")
	for who, c := range map[string]struct {
		met  <-chan string
		want string
	}{"the first": {metA, b}, "the second": {metB, a}} {
		select {
		case got := <-c.met:
			if got != c.want {
				t.Errorf("%s met %s, want %s", who, got, c.want)
			}
		case <-time.After(60 * time.Second):
			t.Errorf("%s found nobody in a minute", who)
		}
	}
	// The one that was not asked to is not announced and looks for nobody. The
	// others may have met twice: both dial.
	for _, c := range []<-chan string{metA, metB, metSilent} {
		for {
			select {
			case got := <-c:
				if got == silent || c == metSilent {
					t.Errorf("somebody met %s; %s takes no part", got, silent)
				}
				continue
			default:
			}
			break
		}
	}
}

func TestAnnouncementsSendUsNowhereElse(t *testing.T) {
	n := newNode(t).up(nil)
	l := &lan{peer: n.peer, free: make(chan struct{}, lanDials), tried: make(map[libpeer.ID]time.Time)}
	ids := someIDs(t, 4*lanPeers)
	for _, addr := range []string{"/ip4/8.8.8.8/tcp/1", "/ip4/8.8.8.8/tcp/1/p2p/" + testPeer + "/p2p-circuit", "/dns4/example.org/tcp/1"} {
		l.HandlePeerFound(libpeer.AddrInfo{ID: ids[0], Addrs: []ma.Multiaddr{ma.StringCast(addr)}})
		if len(l.tried) > 0 {
			t.Errorf("%s is dialled", addr)
		}
	}
	dialled := 0
	for _, id := range ids { // each with an address of its own, none of them there
		if l.due(id) {
			dialled++
		}
		if l.due(id) {
			t.Fatal("the same peer is dialled twice in a moment")
		}
	}
	if dialled != lanPeers {
		t.Errorf("%d of %d announced peers are dialled within a minute, want %d", dialled, len(ids), lanPeers)
	}
}
