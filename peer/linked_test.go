package peer

import (
	"testing"
	"time"

	libpeer "github.com/libp2p/go-libp2p/core/peer"
)

// A head that is announced between the moment two nodes connect again and the
// one at which they pass on messages to each other reaches nobody: so the heads
// are asked for once more after that.
func TestWhoComesBackIsAskedForWhatWasSaidMeanwhile(t *testing.T) {
	missed := make(chan string, 64)
	a := newNode(t).up(listenTCP, gossiping(make(chan [2]string, 64)))
	b := newNode(t).up(nil, func(c *Config) {
		c.Gossip, c.Missed = true, func(peer string) { missed <- peer }
	})
	a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
	origin := a.origin("main")
	b.sync(a.addr(), origin)
	next := func(when string) {
		t.Helper()
		select {
		case id := <-missed:
			if id != a.id {
				t.Errorf("%s %s is asked, want %s", when, id, a.id)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s nobody is asked within a minute", when)
		}
	}
	next("after the topic was joined")
	awaitTopic(t, origin, a, b)
	await(t, "all that the first connection brings is done", func() bool {
		b.peer.gossip.mu.Lock()
		defer b.peer.gossip.mu.Unlock()
		k := b.peer.gossip.linked[a.peer.id.id]
		return k != nil && k.ask.IsZero()
	})
	for len(missed) > 0 {
		<-missed
	}
	if err := b.peer.host.Network().ClosePeer(a.peer.id.id); err != nil {
		t.Fatal(err)
	}
	await(t, "both know that it is gone", func() bool { return len(a.peer.Peers())+len(b.peer.Peers()) == 0 })
	if _, err := b.peer.Join(t.Context(), a.addr()); err != nil {
		t.Fatal(err)
	}
	next("after the connection came back")
}

func TestAPeerWhoseLineComesAndGoesIsAskedNowAndThen(t *testing.T) {
	l, now := make(linked), time.Unix(1, 0)
	ids := someIDs(t, 2)
	asked := func(long time.Duration, begin ...libpeer.ID) (times int) {
		for end := now.Add(long); now.Before(end); now = now.Add(time.Second) {
			for _, id := range begin {
				l.began(id, now)
			}
			times += len(l.due(now))
		}
		return times
	}
	l.began(ids[1], now)
	l.began(ids[1], now) // for another corpus
	if n := asked(10 * time.Second); n != 1 {
		t.Errorf("one that begins once was asked %d times, want once", n)
	}
	if n := asked(10*time.Minute, ids[0]); n < 10 || n > linkBurst+11 {
		t.Errorf("one that begins anew each second was asked %d times in 10 minutes", n)
	}
	if asked(time.Hour); len(l) != 0 {
		t.Errorf("after an hour %d peers are remembered", len(l))
	}
}
