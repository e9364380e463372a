package peer

import (
	"slices"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	libpeer "github.com/libp2p/go-libp2p/core/peer"

	"arborist/proof"
	"arborist/shard/corpus"
)

// keyPause is how long changes of one key are counted together: gossipSame of
// them are passed on meanwhile.
const keyPause = 10 * time.Minute

// tellKey announces that a corpus has changed its key: its rotations, which the
// old key has signed, so that whoever has pinned that one can check it.
func (g *gossip) tellKey(t *topic, c corpus.Info) {
	file, err := g.peer.shared.Corpora().Rotations(g.peer.ctx, c.Origin)
	if err != nil || len(file) > maxHeadline {
		return // a follower takes them with the next head
	}
	chain, err := proof.ParseRotations(file)
	if err != nil || chain[len(chain)-1].New.String() != c.Key {
		return // it is not served yet: its records have not come
	}
	t.key = c.Key
	if err := t.topic.Publish(g.peer.ctx, file); err != nil && g.peer.ctx.Err() == nil {
		g.peer.log.Debug("change of a key not announced", "corpus", c.Origin, "error", err)
	}
}

// weighKey decides whether what a peer says of the key of a corpus is passed on:
// where the pinned key has signed that another one follows it. That moves nothing
// here: a sync asks for all that a change of the key takes.
func (g *gossip) weighKey(known corpus.Info, from libpeer.ID, file []byte) pubsub.ValidationResult {
	chain, err := proof.ParseRotations(file)
	if err != nil {
		g.peer.blame(from, faultSlow)
		return pubsub.ValidationReject
	}
	var ours, older bool
	for _, r := range chain {
		ours = ours || r.Old.String() == known.Key
		older = older || r.New.String() == known.Key || slices.Contains(known.Older, r.Old.String())
	}
	switch {
	case !ours && !older: // of keys that have nothing to do with the corpus
		g.peer.blame(from, faultSlow)
		return pubsub.ValidationReject
	case !ours || known.Frozen || !g.newsOfKey(known.Origin, known.Key):
		return pubsub.ValidationIgnore
	}
	if g.peer.cfg.Rekeyed != nil {
		g.peer.cfg.Rekeyed(known.Origin, from.String(), known.Key)
	}
	return pubsub.ValidationAccept
}

// hearKey tells of a change of the pinned key of a followed corpus, where the head of
// a peer has a signature that looks like one: whoever was not connected when that was
// announced hears of it so. It moves nothing here, as for [gossip.weighKey].
func (p *Peer) hearKey(s *syncer, from libpeer.ID, note []byte) {
	if p.cfg.Rekeyed == nil || s.known.Own || s.known.Frozen {
		return
	}
	var known []*proof.Verifier
	for _, key := range append([]string{s.known.Key}, s.known.Older...) {
		if v, err := proof.ParseVerifier(key); err == nil {
			known = append(known, v)
		}
	}
	if !proof.HasOtherKey(note, known...) {
		return
	}
	file, err := s.src.get(s.ctx, resource{kind: kindRotations, corpus: s.corpus}, maxRotations)
	if err != nil {
		return
	}
	chain, err := proof.ParseRotations(file)
	if err == nil && slices.ContainsFunc(chain, func(r proof.Rotation) bool { return r.Old.String() == s.known.Key }) {
		p.cfg.Rekeyed(s.known.Origin, from.String(), s.known.Key)
	}
}

// newsOfKey reports whether a change of a pinned key is to be passed on, and notes
// that it is. Whoever holds the key can make any number of them.
func (g *gossip) newsOfKey(origin, key string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.heard[origin]
	if now := time.Now(); h.key != key || now.Sub(h.since) > keyPause {
		h.key, h.since, h.changes = key, now, 0
	}
	h.changes++
	g.heard[origin] = h
	return h.changes <= gossipSame
}
