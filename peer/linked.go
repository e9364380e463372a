package peer

import (
	"time"

	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"golang.org/x/time/rate"
)

// How often a peer is asked again because the talk with it has begun anew.
const (
	linkEvery = time.Minute
	linkBurst = 4 // at once: a line that goes and comes
)

// linked are the peers with which the talk about a corpus has just begun, and
// when they are to be asked for their heads.
type linked map[libpeer.ID]*link

type link struct {
	ask  time.Time // zero: not
	rate *rate.Limiter
}

// Trace implements [pubsub.EventTracer]: it hears of each peer with which this
// node begins to pass on the messages of a topic, at a heartbeat after the two
// have connected. A head that either announced before has not reached the other,
// and is not said again; the heads were asked for when the connection was made,
// so one that came in between would be missed until the next round.
func (g *gossip) Trace(e *pb.TraceEvent) {
	if e.GetType() != pb.TraceEvent_GRAFT {
		return
	}
	id, err := libpeer.IDFromBytes(e.GetGraft().GetPeerID())
	if err != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.linked.began(id, time.Now())
}

// began notes that the talk with a peer about some corpus begins now.
func (l linked) began(id libpeer.ID, now time.Time) {
	k := l[id]
	if k == nil {
		if len(l) >= maxGossipFrom {
			clear(l)
		}
		k = &link{rate: rate.NewLimiter(rate.Every(linkEvery), linkBurst)}
		l[id] = k
	}
	if k.ask.IsZero() { // once for all corpora
		k.ask = now.Add(gossipSettle + k.rate.ReserveN(now, 1).DelayFrom(now))
	}
}

// due returns the peers to ask now, each once.
func (l linked) due(now time.Time) (ids []string) {
	for id, k := range l {
		switch {
		case !k.ask.IsZero() && now.After(k.ask):
			k.ask = time.Time{}
			ids = append(ids, id.String())
		case k.ask.IsZero() && k.rate.TokensAt(now) >= linkBurst:
			delete(l, id) // as one that was never there
		}
	}
	return ids
}
