package shard

import (
	"context"
	"fmt"
	"time"

	"arborist/document"
	"arborist/proof"
)

// A Publisher puts documents into the shared set and lists them in one corpus
// of this node's own. Safe for concurrent use.
type Publisher struct {
	shared *Shared
	origin string
	signer *proof.Signer
	old    []*proof.Signer // signs beside, at most one
}

// Publisher returns a publisher for the corpus with this origin, which must
// exist and be pinned to the signer's key. Old is the key that it replaced
// last, where that one still signs beside it.
func (s *Shared) Publisher(origin string, signer *proof.Signer, old ...*proof.Signer) *Publisher {
	return &Publisher{shared: s, origin: origin, signer: signer, old: old}
}

// Put stores documents and lists them, and returns when both are durable. The
// documents come first, so that the log never names what is not there. After a
// crash between the two, the same Put again lists what was only stored. Entries
// take the publisher's origin as their corpus; theirs must be empty or the same.
//
// Outcomes are those of the shards: an entry is unchanged also where only its
// record was missing.
func (p *Publisher) Put(ctx context.Context, entries []document.Entry) ([]document.Outcome, error) {
	return p.put(ctx, entries, p.shared.Put)
}

// Store is Put of documents that are found once Index was called.
func (p *Publisher) Store(ctx context.Context, entries []document.Entry) ([]document.Outcome, error) {
	return p.put(ctx, entries, p.shared.Store)
}

// Index is [Shared.Index].
func (p *Publisher) Index(ctx context.Context) error { return p.shared.Index(ctx, nil) }

func (p *Publisher) put(ctx context.Context, entries []document.Entry, store func(context.Context, []document.Entry) ([]document.Outcome, error)) ([]document.Outcome, error) {
	entries = append([]document.Entry(nil), entries...)
	records := make([]proof.Record, len(entries))
	for i := range entries {
		e := &entries[i]
		if e.Document == nil {
			return nil, fmt.Errorf("publish %.80q: no document", e.Location.URI)
		}
		if e.Location.Corpus != "" && e.Location.Corpus != p.origin {
			return nil, fmt.Errorf("publish %.80q in corpus %s: %w: it says that it is in %s", e.Location.URI, p.origin, ErrLocation, e.Location.Corpus)
		}
		e.Location.Corpus = p.origin
		// The log itself makes a supersede of an add, and nothing of what it has.
		records[i] = proof.NewRecord(e.Document.Header(), e.Location, document.ID{})
		// Before anything is stored: whatever cannot be listed is not stored.
		if _, err := records[i].Line(); err != nil {
			return nil, fmt.Errorf("publish %.80q: %w: %w", e.Location.URI, ErrLocation, err)
		}
	}
	// The order of the shards and that of the log must not differ where two
	// calls put the same URI, so the logs are written in turn.
	select {
	case <-p.shared.publishing:
	case <-ctx.Done():
		return nil, fmt.Errorf("publish: %w", ctx.Err())
	}
	defer func() { p.shared.publishing <- struct{}{} }()
	if err := p.shared.whole(); err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	// A log that takes no records leaves no documents behind that it does not list.
	if err := p.shared.corpora.MayAppend(ctx, p.origin, p.signer); err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	outcomes, err := store(ctx, entries)
	if err != nil {
		return nil, err
	}
	listed := records[:0]
	for i, o := range outcomes {
		if !o.Older {
			listed = append(listed, records[i])
		}
	}
	// What is stored is listed, whoever stops the call meanwhile.
	if _, err := p.shared.corpora.Append(context.WithoutCancel(ctx), p.origin, p.signer, listed, p.old...); err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	return outcomes, nil
}

// Withdraw takes whatever the corpus lists at these URIs off its list, in the
// log and in the shards, and returns when both are durable. The log goes first:
// it is what others read. After a crash between the two, the same Withdraw again
// ends it. Where nothing is listed at a URI, nothing happens.
func (p *Publisher) Withdraw(ctx context.Context, uris []string, at time.Time) error {
	records := make([]proof.Record, len(uris))
	for i, uri := range uris {
		records[i] = proof.Record{Op: proof.OpWithdraw, URI: uri, FetchedAt: at.UTC().Truncate(time.Second)}
	}
	select {
	case <-p.shared.publishing:
	case <-ctx.Done():
		return fmt.Errorf("withdraw: %w", ctx.Err())
	}
	defer func() { p.shared.publishing <- struct{}{} }()
	if err := p.shared.whole(); err != nil {
		return fmt.Errorf("withdraw: %w", err)
	}
	if _, err := p.shared.corpora.Append(ctx, p.origin, p.signer, records, p.old...); err != nil {
		return fmt.Errorf("withdraw: %w", err)
	}
	for _, uri := range uris {
		if err := p.shared.Withdraw(ctx, p.origin, uri); err != nil {
			return err
		}
	}
	return nil
}
