package peer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"arborist/merkle"
	"arborist/proof"
	"arborist/shard/corpus"
)

const (
	// headTime is how long peers have to tell their heads, all of them together.
	headTime = 5 * time.Second
	// weighTime is how long one peer has to prove a head that is larger than ours.
	weighTime = 20 * time.Second
	// headPeers is how many peers are asked for one head, each over a stream of
	// its own at the same time, so that one that hangs holds up no other.
	headPeers = 32
)

// A PeerHead is the head of a corpus as one peer serves it. Nothing about the
// note is verified but its size, at most [proof.MaxNote] bytes: see [Peer.Weigh].
type PeerHead struct {
	Peer   string // peer ID
	Origin string // of the corpus
	Note   []byte // signed note
	Err    error  // why there is no note
}

// Heads asks the connected peers for the head of a corpus, at once and for at
// most 5 s, and dials nobody. Peers that do not have the corpus are left out.
// Of more than 32 peers those are asked first that this node dialled, because
// their number is the owner's choice, and then others by lot.
func (p *Peer) Heads(ctx context.Context, origin string) ([]PeerHead, error) {
	ctx, leave, err := p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	id, err := ParseCorpusID(origin)
	if err != nil {
		return nil, fmt.Errorf("ask for heads: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, headTime)
	defer cancel()
	peers := p.toAsk()
	heads := make([]PeerHead, len(peers))
	var asked sync.WaitGroup
	for i, peer := range peers {
		asked.Go(func() { heads[i] = p.askHeads(ctx, peer, []CorpusID{id})[0] })
	}
	asked.Wait()
	return slices.DeleteFunc(heads, isMissing), nil
}

// HeadsOf asks one connected peer for the heads of corpora, one after the
// other and for at most 5 s in all. Corpora that it does not have are left out.
func (p *Peer) HeadsOf(ctx context.Context, peer string, origins []string) ([]PeerHead, error) {
	ctx, leave, err := p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	ids := make([]CorpusID, len(origins))
	for i, origin := range origins {
		if ids[i], err = ParseCorpusID(origin); err != nil {
			return nil, fmt.Errorf("ask for heads: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, headTime)
	defer cancel()
	return slices.DeleteFunc(p.askHeads(ctx, peer, ids), isMissing), nil
}

func isMissing(h PeerHead) bool { return errors.Is(h.Err, ErrMissing) }

// toAsk chooses the peers to ask.
func (p *Peer) toAsk() []string {
	var dialled, others []string
	for _, info := range p.Peers() {
		if info.Direction == "out" {
			dialled = append(dialled, info.ID)
		} else {
			others = append(others, info.ID)
		}
	}
	for _, ids := range [][]string{dialled, others} {
		rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	}
	peers := append(dialled, others...)
	return peers[:min(len(peers), headPeers)]
}

// askHeads asks one peer over one stream, for as long as ctx lasts. After a
// fault it asks for nothing more.
func (p *Peer) askHeads(ctx context.Context, peer string, ids []CorpusID) []PeerHead {
	heads := make([]PeerHead, len(ids))
	src, err := p.connected(peer)
	if err == nil {
		defer src.close()
	}
	for i, id := range ids {
		heads[i] = PeerHead{Peer: peer, Origin: id.String(), Err: err}
		if err != nil {
			continue
		}
		h := &heads[i]
		h.Note, h.Err = src.get(ctx, resource{kind: kindCheckpoint, corpus: id}, maxCheckpoint)
		if who, idErr := parsePeerID(peer); idErr == nil && h.Err == nil {
			p.table.serving(who, h.Origin)
		}
		switch {
		case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
			h.Err = fmt.Errorf("ask %s for its heads: %w", peer, ErrTooSlow)
			err = h.Err
		case h.Err != nil && !isMissing(*h):
			err = h.Err
		}
	}
	return heads
}

// connected returns the source of a peer that is connected.
func (p *Peer) connected(peer string) (*source, error) {
	id, err := parsePeerID(peer)
	if err != nil {
		return nil, fmt.Errorf("%w: %q is not a peer ID", ErrAddress, peer)
	}
	return p.openPeer(id), nil
}

// Weigh verifies the head that a peer serves with the pinned key of the corpus
// and has the store weigh it against all that it knows of the log. Where the
// head is larger, the peer is asked for the tiles that prove that it continues
// the log, and the head is remembered: no smaller one counts from then on, and
// an own corpus takes no more records until what it lacks is back ([Peer.Sync]).
// A head that contradicts the log freezes the corpus, with the evidence kept. A
// smaller head of the same log is a peer that lags, and nothing is wrong. A head
// with a signature of the corpus by a key that is not known here may tell that the
// pinned one was replaced: the peer is asked, and [Config.Rekeyed] told.
//
// It returns what the head says where the corpus's key signed it. Nothing that
// a peer can make up without that key changes anything.
func (p *Peer) Weigh(ctx context.Context, h PeerHead) (head proof.Checkpoint, err error) {
	if h.Err != nil {
		return head, h.Err
	}
	ctx, leave, err := p.enter(ctx)
	if err != nil {
		return head, err
	}
	defer leave()
	ctx, cancel := context.WithTimeoutCause(ctx, weighTime, ErrTooSlow)
	defer cancel()
	id, err := ParseCorpusID(h.Origin)
	if err != nil {
		return head, err
	}
	src, err := p.connected(h.Peer)
	if err != nil {
		return head, err
	}
	who, err := parsePeerID(h.Peer)
	if err != nil {
		return head, err
	}
	defer src.close()
	src.faulted = func(err error) {
		// A follower that lags behind a change of the key serves a head by the old
		// one, and one that is ahead by the new one: nobody's fault.
		if !errors.Is(err, ErrTampered) && !errors.Is(err, ErrKey) {
			p.blame(who, weight(err))
		}
	}
	s := &syncer{ctx: ctx, src: src, corpus: id, store: p.shared.Corpora()}
	at := resource{kind: kindCheckpoint, corpus: id}
	if s.known, err = s.store.Lookup(ctx, h.Origin); err != nil {
		return head, err
	}
	v, err := proof.ParseVerifier(s.known.Key)
	if err != nil {
		return head, err
	}
	p.hearKey(s, who, h.Note)
	if head, err = proof.OpenCheckpoint(h.Note, v); err != nil {
		if s.known.Own {
			if lost := s.lostKey(); lost != nil {
				return head, lost
			}
		}
		if errors.Is(err, proof.ErrUnknownKey) && len(s.known.Older) > 0 && !s.known.Frozen {
			if replaced := s.weighReplaced(h.Note); replaced != nil {
				return head, replaced
			}
		}
		return head, src.fail(ctx, at, blameNote(err))
	}
	return head, s.weigh(at, h.Note, head)
}

// lostKey tells, where a head of an own corpus is not by its key, whether the
// peer has a statement of this very node for a key that is not known here: then
// the store is from before the key was changed. Nobody else can sign that.
func (s *syncer) lostKey() error {
	statement, err := s.src.get(s.ctx, resource{kind: kindKey, corpus: s.corpus}, maxStatement)
	if err != nil {
		return nil
	}
	v, err := openStatement(statement, s.corpus)
	if err != nil || v.String() == s.known.Key || slices.Contains(s.known.Older, v.String()) {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrOtherKey, v)
}

// weigh is [syncer.remember] for a head that nobody wants to follow up to now.
func (s *syncer) weigh(at resource, note []byte, head proof.Checkpoint) error {
	origin := s.corpus.String()
	if s.known.Frozen {
		return nil // it takes no more heads, and what it has proves enough
	}
	if head.Size == s.known.Size && head.Root == s.known.Root && head.Size == s.known.Seen {
		return nil // agreement, the usual case, costs the store nothing
	}
	if head.Size < s.known.Seen {
		lags, err := s.lags(head)
		if lags || err != nil {
			return err
		}
	}
	err := s.remember(at, note, head)
	if err == nil || !s.known.Own || head.Size <= s.known.Size || errors.Is(err, ErrEquivocation) {
		return err
	}
	// Our own key has signed it: that it is larger counts, whatever becomes of
	// the peer that tells us.
	_, err = s.store.RememberHead(context.WithoutCancel(s.ctx), origin, note, nil)
	return s.blame(at, err)
}

// weighReplaced is [syncer.replaced] for a head that nobody wants to follow up
// to now: a peer that lags behind the change of a key is no evidence.
func (s *syncer) weighReplaced(note []byte) error {
	head, err := proof.ReadCheckpoint(note)
	if err != nil {
		return nil
	}
	if head.Size < s.known.Seen {
		if lags, err := s.lags(head); lags || err != nil {
			return nil
		}
	}
	return s.replaced(note)
}

// lags reports whether a head that is smaller than the last one known may be
// of the same log. Where its records are here, that shows; where they are not,
// nothing can be said against it.
func (s *syncer) lags(head proof.Checkpoint) (bool, error) {
	if head.Size > s.known.Size {
		return true, nil
	}
	var root merkle.Hash
	root, err := s.store.RootAt(s.ctx, s.corpus.String(), head.Size)
	if errors.Is(err, corpus.ErrNotFound) {
		return true, nil // nothing is stored yet
	}
	return root == head.Root, err
}
