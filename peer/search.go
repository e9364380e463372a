package peer

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"arborist/proof"
	"arborist/shard"
	"arborist/shard/corpus"
)

const (
	// MaxAskedPeers is how many peers one query goes to at most.
	MaxAskedPeers = 64
	// askTime is how long all peers together have for their answers.
	askTime = 10 * time.Second
	// maxSentQuery is the longest query that is sent, in bytes: a path has room
	// for no more.
	maxSentQuery = 360
)

// An Answer is what one peer found. Its hits were verified: each is a passage
// of a document that the corpus named lists, under a head that the corpus's key
// has signed, and it has words of the query.
type Answer struct {
	Peer    string // as it was named
	Hits    []FoundHit
	Refused int // hits that do not have what was asked for
	// OtherKey are followed corpora that the peer has another key of than the one
	// that is pinned here: hits of those are left out. See [ErrKeyDiffers].
	OtherKey []string
	Took     time.Duration
	Err      error // why there is no answer; nil where there is one, if an empty one
	Unsent   bool  // it was not reached: the query has not left for it
}

// A FoundHit is one passage of an answer, in the order that the peer gave.
type FoundHit struct {
	Proof *proof.Proof // with the passage
	Claim proof.Claim
	Match shard.Match
	Known bool   // the corpus is followed here, or our own
	Key   string // verifier key of the corpus, which its publisher has certified
}

// Search sends a query to peers, in parallel, and returns what each of them
// says, in the order of the peers. Nothing but the text and the number of hits
// wanted is sent. Peers are named as for [Peer.Sync]. It fails as a whole only
// where the query cannot be sent: then with a [*shard.QueryError] or
// [shard.ErrNoWords].
func (p *Peer) Search(ctx context.Context, peers []string, text string, limit int) ([]Answer, error) {
	ctx, leave, err := p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if _, err := shard.NewMatcher(text); err != nil {
		return nil, fmt.Errorf("ask peers: %w", err)
	}
	if len(text) > maxSentQuery {
		return nil, fmt.Errorf("ask peers: %w", &shard.QueryError{Reason: fmt.Sprintf("%d bytes; at most %d are sent to peers", len(text), maxSentQuery), Next: "ask with fewer or shorter words"})
	}
	if len(peers) > MaxAskedPeers {
		return nil, fmt.Errorf("ask peers: %d of them, at most %d", len(peers), MaxAskedPeers)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, askTime, ErrTooSlow)
	defer cancel()
	answers := make([]Answer, len(peers))
	var wg sync.WaitGroup
	for i, name := range peers {
		wg.Go(func() {
			start := time.Now()
			a := p.ask(ctx, name, text, min(max(limit, 1), maxAnswers))
			a.Peer, a.Took = name, time.Since(start)
			answers[i] = a
		})
	}
	wg.Wait()
	return answers, nil
}

func (p *Peer) ask(ctx context.Context, from, text string, limit int) Answer {
	src, err := p.open(ctx, from)
	if err != nil {
		return Answer{Err: err, Unsent: true}
	}
	defer src.close()
	// A URL is connected to as it is asked, and may be asked more than once.
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	a := p.askSource(ctx, src, text, limit)
	a.Unsent = !sent.Load()
	return a
}

func (p *Peer) askSource(ctx context.Context, src *source, text string, limit int) (a Answer) {
	res := resource{kind: kindSearch, limit: limit, query: text}
	raw, err := src.get(ctx, res, maxAnswer)
	switch {
	case errors.Is(err, ErrMissing):
		return Answer{Err: src.fail(ctx, res, ErrNoAnswers)}
	case err != nil:
		return Answer{Err: err}
	case len(raw) == 0:
		return Answer{}
	}
	bundle, err := proof.ParseBundle(raw)
	if err != nil {
		return Answer{Err: src.fail(ctx, res, fmt.Errorf("%w: %w", ErrMalformed, err))}
	}
	if len(bundle.Hits) > limit || len(bundle.Documents) > 0 {
		return Answer{Err: src.fail(ctx, res, fmt.Errorf("%w: %d hits, asked for %d; %d documents of no corpus", ErrMalformed, len(bundle.Hits), limit, len(bundle.Documents)))}
	}
	keys, known, other, err := p.keysOf(ctx, src, res, bundle)
	if err != nil {
		return Answer{Err: err}
	}
	claims, err := proof.VerifyBundle(bundle, proof.ExpectBundle{Keys: keys})
	if err != nil {
		return Answer{Err: src.fail(ctx, res, fmt.Errorf("%w: %w", ErrTampered, err))}
	}
	proofs, err := bundle.Proofs()
	if err != nil {
		return Answer{Err: src.fail(ctx, res, fmt.Errorf("%w: %w", ErrTampered, err))}
	}
	m, err := shard.NewMatcher(text)
	if err != nil {
		return Answer{Err: err}
	}
	a.OtherKey = other
	for i, claim := range claims.Hits {
		if !claim.SignatureChecked { // of a corpus under another key
			continue
		}
		r := claim.Record
		match := m.Match(proofs[i].Text, claim.Origin, r.URI, r.FetchedAt)
		if match == shard.MatchNone {
			a.Refused++
			continue
		}
		hit := FoundHit{Proof: proofs[i], Claim: claim, Match: match, Known: known[claim.Origin]}
		for _, key := range keys {
			if key.Name() == claim.Origin {
				hit.Key = key.String()
			}
		}
		a.Hits = append(a.Hits, hit)
	}
	return a
}

// keysOf returns the keys of the corpora of a bundle: pinned ones, and for
// corpora that are not followed here those that their publishers have certified.
// Other are the origins of which the bundle has another key than the pinned one:
// there is none of those.
func (p *Peer) keysOf(ctx context.Context, src *source, res resource, b *proof.Bundle) (keys []*proof.Verifier, known map[string]bool, other []string, err error) {
	// Without a key this checks everything but signatures, and tells the names.
	claims, err := proof.VerifyBundle(b, proof.ExpectBundle{})
	if err != nil {
		return nil, nil, nil, src.fail(ctx, res, fmt.Errorf("%w: %w", ErrTampered, err))
	}
	known = make(map[string]bool)
	for i, c := range claims.Corpora {
		id, err := ParseCorpusID(c.Origin)
		if err != nil {
			return nil, nil, nil, src.fail(ctx, res, fmt.Errorf("%w: %w", ErrMalformed, err))
		}
		info, err := p.shared.Corpora().Lookup(ctx, c.Origin)
		if err == nil {
			key, err := proof.ParseVerifier(info.Key)
			if err != nil {
				return nil, nil, nil, err
			}
			if _, err := proof.OpenCheckpoint(b.Logs[i].Note, key); errors.Is(err, proof.ErrOtherKey) {
				other = append(other, c.Origin)
				continue
			}
			keys, known[c.Origin] = append(keys, key), true
			continue
		}
		if !errors.Is(err, corpus.ErrNotFound) {
			return nil, nil, nil, err
		}
		at := resource{kind: kindKey, corpus: id}
		statement, err := src.get(ctx, at, maxStatement)
		if err != nil {
			return nil, nil, nil, err
		}
		key, err := openStatement(statement, id)
		if err != nil {
			return nil, nil, nil, src.fail(ctx, at, err)
		}
		keys = append(keys, key)
	}
	return keys, known, other, nil
}
