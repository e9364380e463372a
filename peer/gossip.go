package peer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"golang.org/x/time/rate"

	"arborist/proof"
	"arborist/shard/corpus"
)

// topicPrefix starts the name of each topic; the corpus's origin follows. The
// number is the version of what is said there.
const topicPrefix = "/arborist/head/1/"

const (
	maxHeadline   = 16 << 10               // bytes of a head that is announced; larger ones are only fetched
	maxTopics     = 1024                   // corpora that are gossiped about
	gossipLook    = 250 * time.Millisecond // between looks whether a head of ours has changed
	gossipSettle  = 2 * time.Second        // until peers know that a topic was joined
	gossipRate    = 2                      // announcements a second that one peer may pass on …
	gossipBurst   = 64                     // … and at once
	gossipCheck   = 5 * time.Second        // for one announcement
	gossipQueue   = 256                    // of them wait
	gossipSame    = 3                      // notes of one head that are passed on
	maxGossipFrom = 1024                   // peers whose rate is known
)

// A gossip tells connected peers of new heads, and hears of those of others.
// What is said is a signed note as it is served, or a corpus's rotations. It is passed on only with the
// signature of the pinned key and when it is news here; and nothing is believed
// of it but that it is worth asking for the head: see [Config.Announced].
type gossip struct {
	peer   *Peer
	pubsub *pubsub.PubSub

	topics map[string]*topic // by origin; of the goroutine of run alone

	mu     sync.Mutex
	rates  map[libpeer.ID]*rate.Limiter
	heard  map[string]heard // by origin
	linked linked
}

// heard is the largest head of a corpus that was passed on, and how often: the
// same head can come with other lines of witnesses, or with lines of nobody. The
// rest is of changes of its key: see newkey.go.
type heard struct {
	size  uint64
	times int

	key     string
	since   time.Time
	changes int
}

// A topic is where one corpus is spoken of.
type topic struct {
	topic *pubsub.Topic
	leave pubsub.RelayCancelFunc
	size  uint64 // of the head that was announced last
	key   string // of the corpus, when its last change was announced
	// missed is when to ask for what was announced before peers knew that this
	// node is in the topic; zero: not, or not again.
	missed time.Time
}

func (p *Peer) openGossip() (*gossip, error) {
	g := &gossip{peer: p, rates: make(map[libpeer.ID]*rate.Limiter), linked: make(linked), heard: make(map[string]heard), topics: make(map[string]*topic)}
	var err error
	g.pubsub, err = pubsub.NewGossipSub(p.ctx, p.host,
		// The note is signed by the corpus's key. Who passes it on first is
		// nobody's business.
		pubsub.WithMessageSignaturePolicy(pubsub.StrictNoSign), pubsub.WithNoAuthor(),
		pubsub.WithMessageIdFn(func(m *pb.Message) string {
			sum := sha256.Sum256([]byte(m.GetTopic() + "\n" + string(m.GetData())))
			return string(sum[:])
		}),
		pubsub.WithMaxMessageSize(4*maxHeadline), pubsub.WithValidateQueueSize(gossipQueue),
		pubsub.WithPeerExchange(false), pubsub.WithEventTracer(g),
		pubsub.WithSubscriptionFilter(pubsub.WrapLimitSubscriptionFilter(ourTopics{}, 2*maxTopics)),
	)
	if err != nil {
		return nil, fmt.Errorf("start gossip: %w", err)
	}
	return g, nil
}

// ourTopics is a [pubsub.SubscriptionFilter] of topics that can be a corpus's.
type ourTopics struct{}

// CanSubscribe implements [pubsub.SubscriptionFilter].
func (ourTopics) CanSubscribe(name string) bool {
	if len(name) < len(topicPrefix) || name[:len(topicPrefix)] != topicPrefix {
		return false
	}
	_, err := ParseCorpusID(name[len(topicPrefix):])
	return err == nil
}

// FilterIncomingSubscriptions implements [pubsub.SubscriptionFilter].
func (f ourTopics) FilterIncomingSubscriptions(_ libpeer.ID, subs []*pb.RPC_SubOpts) ([]*pb.RPC_SubOpts, error) {
	return pubsub.FilterSubscriptions(subs, f.CanSubscribe), nil
}

// run takes part in the talk about each corpus that is here, and tells of each
// head that changes here, until the peer is closed.
func (g *gossip) run() {
	look := time.NewTicker(gossipLook)
	defer look.Stop()
	store := g.peer.shared.Corpora()
	for last, first := uint64(0), true; ; first = false {
		if now := store.Changes(); first || now != last {
			last = now
			infos, err := store.List(g.peer.ctx)
			if err != nil && g.peer.ctx.Err() == nil {
				g.peer.log.Warn("cannot list corpora to gossip about", "error", err)
			}
			for _, c := range infos[:min(len(infos), maxTopics)] {
				g.attend(c)
			}
		}
		g.askForMissed(time.Now())
		select {
		case <-g.peer.ctx.Done():
			return
		case <-look.C:
		}
	}
}

// attend joins the topic of a corpus, and announces its head where it is newer
// than the one announced last.
func (g *gossip) attend(c corpus.Info) {
	t := g.topics[c.Origin]
	if t == nil {
		var err error
		if t, err = g.join(c.Origin); err != nil {
			g.peer.log.Warn("no gossip about a corpus", "corpus", c.Origin, "error", err)
			return
		}
		t.size, t.key = c.Size, c.Key // it is not news
		if !c.Own {
			t.missed = time.Now().Add(gossipSettle)
		}
		g.topics[c.Origin] = t
		return
	}
	if c.Frozen {
		return
	}
	if c.Key != t.key {
		g.tellKey(t, c)
	}
	if c.Size <= t.size {
		return
	}
	note, err := g.peer.shared.Corpora().Note(g.peer.ctx, c.Origin)
	if err != nil || len(note) > maxHeadline {
		return
	}
	t.size = c.Size
	if err := t.topic.Publish(g.peer.ctx, note); err != nil && g.peer.ctx.Err() == nil {
		g.peer.log.Debug("head not announced", "corpus", c.Origin, "error", err)
	}
}

// askForMissed has the connected peers asked for their heads once after topics
// were joined: what was announced between the sync of a corpus and the moment at
// which its peers knew of the new member was not heard, and is not said again.
// So it is between two nodes that have just connected: see [gossip.Trace].
func (g *gossip) askForMissed(now time.Time) {
	due := false
	for _, t := range g.topics {
		if !t.missed.IsZero() && now.After(t.missed) {
			t.missed, due = time.Time{}, true
		}
	}
	g.mu.Lock()
	ids := g.linked.due(now)
	g.mu.Unlock()
	if due {
		ids = ids[:0] // all are asked
		for _, p := range g.peer.Peers() {
			ids = append(ids, p.ID)
		}
	}
	for _, id := range ids {
		if g.peer.cfg.Missed != nil {
			g.peer.cfg.Missed(id)
		}
	}
}

func (g *gossip) join(origin string) (*topic, error) {
	name := topicPrefix + origin
	weigh := func(ctx context.Context, from libpeer.ID, m *pubsub.Message) pubsub.ValidationResult {
		return g.weigh(ctx, origin, from, m.GetData())
	}
	if err := g.pubsub.RegisterTopicValidator(name, weigh, pubsub.WithValidatorTimeout(gossipCheck), pubsub.WithValidatorConcurrency(4)); err != nil {
		return nil, err
	}
	t, err := g.pubsub.Join(name)
	if err != nil {
		return nil, errors.Join(err, g.pubsub.UnregisterTopicValidator(name))
	}
	// Relay and not subscribe: what is heard is taken in weigh, once.
	leave, err := t.Relay()
	if err != nil {
		return nil, errors.Join(err, t.Close(), g.pubsub.UnregisterTopicValidator(name))
	}
	return &topic{topic: t, leave: leave}, nil
}

// weigh decides whether what a peer says of a corpus is passed on.
func (g *gossip) weigh(ctx context.Context, origin string, from libpeer.ID, note []byte) pubsub.ValidationResult {
	if from == g.peer.id.id {
		return pubsub.ValidationAccept
	}
	if !g.allow(from) {
		g.peer.blame(from, faultFlood)
		return pubsub.ValidationIgnore
	}
	if len(note) > maxHeadline {
		g.peer.blame(from, faultBytes)
		return pubsub.ValidationReject
	}
	known, err := g.peer.shared.Corpora().Lookup(ctx, origin)
	if err != nil {
		return pubsub.ValidationIgnore
	}
	if proof.IsRotations(note) {
		return g.weighKey(known, from, note)
	}
	v, err := proof.ParseVerifier(known.Key)
	if err != nil {
		return pubsub.ValidationIgnore
	}
	head, err := proof.OpenCheckpoint(note, v)
	if err != nil {
		// A key that was changed, which the peer knows of and this node does
		// not, looks the same as a bad signature; so it costs little.
		g.peer.blame(from, faultSlow)
		return pubsub.ValidationReject
	}
	if head.Size <= known.Size || !g.news(origin, head.Size) {
		return pubsub.ValidationIgnore
	}
	if g.peer.cfg.Announced != nil {
		g.peer.cfg.Announced(origin, from.String(), head.Size)
	}
	return pubsub.ValidationAccept
}

// news reports whether a head is to be passed on, and notes that it is.
func (g *gossip) news(origin string, size uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.heard[origin]
	if size > h.size {
		h.size, h.times = size, 0
	}
	h.times++
	g.heard[origin] = h
	return size == h.size && h.times <= gossipSame
}

// allow reports whether a peer does not say too much.
func (g *gossip) allow(from libpeer.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.rates[from]
	if l == nil {
		if len(g.rates) >= maxGossipFrom {
			clear(g.rates)
		}
		l = rate.NewLimiter(gossipRate, gossipBurst)
		g.rates[from] = l
	}
	return l.Allow()
}
