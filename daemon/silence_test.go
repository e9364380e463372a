package daemon

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"arborist/daemon/api"
	"arborist/internal/arbtest/netns"
)

const silenceChild = "ARBORIST_TEST_SILENCE_CHILD"

// TestAQueryInANamespace is a part of the test below: a publisher, or a node
// that is connected to it and searches what it has fetched.
func TestAQueryInANamespace(t *testing.T) {
	role, addr, _ := strings.Cut(os.Getenv(silenceChild), " ")
	listen := []string{"/ip4/0.0.0.0/tcp/4707"}
	switch role {
	case "publisher":
		home := newHome(t)
		addPages(t, home, "shared", 5)
		n, err := Open(t.Context(), Options{Home: home, Listen: listen})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		if err := n.listenForPeers(); err != nil {
			t.Fatal(err)
		}
		fmt.Println("id", n.id)
		io.Copy(io.Discard, os.Stdin)
	case "reader":
		n, err := Open(t.Context(), Options{Home: newHome(t), Listen: listen})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		if err := n.listenForPeers(); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Join(t.Context(), addr); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Sync(t.Context(), api.SyncRequest{From: addr, Corpus: MainCorpus}, nil); err != nil {
			t.Fatal(err)
		}
		fmt.Println("quietest", quietest(t, n))
	default:
		t.Skip("runs as a child of TestADefaultQuerySendsNoPacket")
	}
}

// quietest searches in several spans of time, and returns how many packets the
// machine sent in the one with the fewest: a connection has its own keep-alive
// and acknowledgements, which are in some spans and not in all.
func quietest(t *testing.T, n *Node) int {
	t.Helper()
	least := int(^uint(0) >> 1)
	for range 20 {
		time.Sleep(250 * time.Millisecond)
		before := sent(t)
		for _, text := range []string{"granite", "shared", "nowhere"} {
			if _, err := n.Query(t.Context(), api.QueryRequest{Text: text, Limit: 10}); err != nil {
				t.Fatal(err)
			}
		}
		least = min(least, sent(t)-before)
	}
	return least
}

// sent returns how many packets all interfaces of this namespace have sent.
func sent(t *testing.T) (total int) {
	t.Helper()
	table, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(table), "\n") {
		if _, counters, ok := strings.Cut(line, ":"); ok {
			n, err := strconv.Atoi(strings.Fields(counters)[9])
			if err != nil {
				t.Fatal(err)
			}
			total += n
		}
	}
	return total
}

func TestADefaultQuerySendsNoPacket(t *testing.T) {
	spaces := netns.Make(t, 2)
	start := func(space netns.Space, role string) *netns.Part {
		return space.Start(t, "TestAQueryInANamespace", silenceChild+"="+role)
	}
	publisher := start(spaces[0], "publisher")
	addr := "/ip4/" + spaces[0].IP + "/tcp/4707/p2p/" + publisher.Says("id ")
	reader := start(spaces[1], "reader "+addr)
	if got := reader.Says("quietest "); got != "0" {
		t.Errorf("a query sent %s packets, want none", got)
	}
}
