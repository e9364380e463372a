package peer

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"golang.org/x/time/rate"

	"arborist/proof"
)

// openPool opens the sources of a sync and finds the corpus that is meant. It
// fails with the fault of the last one where none can be used.
func (p *Peer) openPool(ctx context.Context, req SyncRequest) (_ *pool, id CorpusID, err error) {
	limit := p.download
	if req.MaxRate > 0 {
		limit = newLimit(req.MaxRate)
	}
	pool := new(pool)
	var last error
	for _, from := range req.From {
		src, err := p.open(ctx, from)
		if err == nil {
			src.limit = limit
			if id == (CorpusID{}) {
				id, err = src.resolve(ctx, req.Corpus)
			}
		}
		if err != nil && (len(req.From) == 1 || ctx.Err() != nil) {
			if src != nil {
				src.close()
			}
			pool.close()
			return nil, id, err
		}
		if src == nil {
			src = closedSource(from)
		}
		if err != nil {
			last = err
		}
		pool.members = append(pool.members, &member{source: src, failed: err})
	}
	if pool.alive() == 0 {
		pool.close()
		return nil, id, last
	}
	return pool, id, nil
}

// newLimit returns a limiter of bytes a second, nil for none.
func newLimit(perSecond int64) *rate.Limiter {
	if perSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), int(min(max(perSecond/4, 4<<10), writeSize)))
}

// lead has the head of the corpus verified: of the source with the largest
// one, and where that source fails, of the next. The others are asked for
// nothing but the bytes that this head signs.
func (s *syncer) lead() (note []byte, head proof.Checkpoint, err error) {
	var last error
	for _, m := range s.largestFirst() {
		s.src = m.source
		note, head, err = s.head()
		if err == nil || s.ctx.Err() != nil || !isFault(err) || ofPublisher(err) {
			if s.tree != nil {
				s.tree.pool = s.pool
			}
			return note, head, err
		}
		s.pool.fault(m.source, err)
		s.tree, last = nil, err
	}
	return nil, head, s.pool.none(last)
}

// ofPublisher reports whether a fault is the publisher's own: no other source makes
// it good.
func ofPublisher(err error) bool {
	return errors.Is(err, ErrEquivocation) || errors.Is(err, ErrFrozen) || errors.Is(err, ErrOwn)
}

// largestFirst returns the sources that can be used, by the size of the head
// that each one claims. A claim that nobody signed costs its source nothing
// but the first turn.
func (s *syncer) largestFirst() []*member {
	var usable []*member
	for _, m := range s.pool.members {
		if m.failed == nil {
			usable = append(usable, m)
		}
	}
	if len(usable) < 2 {
		return usable
	}
	claimed := make(map[*member]uint64)
	for _, m := range usable {
		note, err := m.get(s.ctx, resource{kind: kindCheckpoint, corpus: s.corpus}, maxCheckpoint)
		if err != nil {
			s.pool.fault(m.source, err)
			continue
		}
		if head, err := proof.ReadCheckpoint(note); err == nil {
			claimed[m] = head.Size
		}
	}
	usable = slices.DeleteFunc(usable, func(m *member) bool { return m.failed != nil })
	slices.SortStableFunc(usable, func(a, b *member) int { return cmp.Compare(claimed[b], claimed[a]) })
	return usable
}
