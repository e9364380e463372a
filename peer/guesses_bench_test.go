package peer

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"arborist/internal/arbtest/realtext"
)

const guesserChild = "ARBORIST_TEST_GUESSER_CHILD"

// TestAGuesserAsAChild is a part of the benchmark below: it asks a node for random
// roots over ten streams as fast as it can for as long as it lives, and comes back
// as somebody else when it is cut off, as often as one address may: loopback is
// exempt from that limit.
func TestAGuesserAsAChild(t *testing.T) {
	addr, origin, _ := strings.Cut(os.Getenv(guesserChild), " ")
	if addr == "" {
		t.Skip("runs as a child of BenchmarkAddBesideAFloodOfGuesses")
	}
	for seed := 0; ; seed++ {
		h, id := rawHostTo(t, addr)
		var asking sync.WaitGroup
		for i := range 10 {
			asking.Go(func() {
				for range guesses(t, h, id, origin, 10*seed+i, 1<<20) {
				}
			})
		}
		asking.Wait()
		h.Close()
		time.Sleep(2 * time.Second)
	}
}

// BenchmarkAddBesideAFloodOfGuesses reports how much of the speed of adding
// documents is left while another process asks for random roots:
// by the processor time of the node, alone over beside it.
func BenchmarkAddBesideAFloodOfGuesses(b *testing.B) {
	a := newNode(b).up(listenTCP)
	a.publish("main", entriesOf(b, "doc:/first", 3, 300)...)
	add := func(name string) (used time.Duration) {
		began := realtext.CPU()
		for i := range 80 {
			a.publish("main", entriesOf(b, "doc:/"+name+strconv.Itoa(i), 100, 4000)...)
		}
		return realtext.CPU() - began
	}
	var alone, beside time.Duration
	for i := 0; b.Loop(); i++ {
		name := strings.Repeat("x", i+1)
		alone += add("alone" + name)
		child := exec.Command(os.Args[0], "-test.run=^TestAGuesserAsAChild$")
		child.Env = append(os.Environ(), guesserChild+"="+a.addr()+" "+a.origin("main"))
		if err := child.Start(); err != nil {
			b.Fatal(err)
		}
		await(b, "the guesser has begun", func() bool { return len(a.peer.Peers()) > 0 })
		beside += add("beside" + name)
		child.Process.Kill()
		child.Wait()
	}
	b.ReportMetric(alone.Seconds()/beside.Seconds(), "kept")
}
