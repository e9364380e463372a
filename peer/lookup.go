package peer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"arborist/document"
	"arborist/proof"
)

const (
	// lookTime is how long it may take to find out which corpora may have a root.
	lookTime = 20 * time.Second
	// maxAround is how many corpora are looked at.
	maxAround = 256
	// lookFilters is how many filters are asked for at a time.
	lookFilters = 8
)

// A holder is a corpus that connected peers serve.
type holder struct {
	id      CorpusID
	size    uint64    // of its log, the largest that one of them claims
	sources []*source // the peers
	chance  chance
}

// A chance says what the filter of a corpus says of a root.
type chance int

const (
	likely  chance = iota // it may hold the root
	unknown               // there is no filter, or it is of fewer records than there are
	denied                // certainly not
)

// askAround has fn ask the connected peers' corpora that may have a root, the
// likely ones first, until one has it.
func (p *Peer) askAround(ctx context.Context, corpusName string, root document.Root, fn asker) error {
	peers := p.toAsk()
	holders, err := p.survey(ctx, peers, corpusName)
	defer func() {
		for _, h := range holders {
			for _, src := range h.sources {
				src.close()
			}
		}
	}()
	if len(holders) == 0 {
		return errors.Join(fmt.Errorf("%w: %d peers are connected, none serves a corpus that could have it", ErrNoProvider, len(peers)), err)
	}
	p.sift(ctx, holders, root)
	var asked int
	var failed error
	for _, h := range holders {
		if h.chance == denied || asked == maxAsked {
			break
		}
		asked++
		err := h.ask(ctx, fn)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if !errors.Is(err, ErrMissing) {
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil {
		return failed
	}
	return fmt.Errorf("%w: of %d corpora %d were asked, the filters of the others deny it", ErrMissing, len(holders), asked)
}

// ask has fn ask one source after the other until one has it.
func (h *holder) ask(ctx context.Context, fn asker) (err error) {
	for _, src := range h.sources {
		if err = fn(ctx, src, h.id); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// survey lists the corpora of peers: those with a name or origin, all where it is
// empty. Failed is what went wrong with those that did not answer.
func (p *Peer) survey(ctx context.Context, peers []string, corpusName string) (holders []*holder, failed error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTime, ErrTooSlow)
	defer cancel()
	var mu sync.Mutex
	byOrigin := make(map[string]*holder)
	var asked sync.WaitGroup
	for _, peer := range peers {
		asked.Go(func() {
			list, err := p.corpora(ctx, peer)
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
			for _, c := range list[:min(len(list), maxAsked)] {
				if corpusName != "" && corpusName != c.Name && corpusName != c.Origin {
					continue
				}
				h := byOrigin[c.Origin]
				if h == nil {
					id, err := ParseCorpusID(c.Origin)
					if err != nil || len(holders) == maxAround {
						continue
					}
					h = &holder{id: id}
					byOrigin[c.Origin] = h
					holders = append(holders, h)
				}
				src, err := p.connected(peer)
				if err != nil {
					continue
				}
				src.limit = p.download
				h.size, h.sources = max(h.size, c.Size), append(h.sources, src)
			}
		})
	}
	asked.Wait()
	return holders, failed
}

// sift has the filters of the holders looked at, and puts the likely ones first.
func (p *Peer) sift(ctx context.Context, holders []*holder, root document.Root) {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTime, ErrTooSlow)
	defer cancel()
	var looks sync.WaitGroup
	free := make(chan struct{}, lookFilters)
	for _, h := range holders {
		free <- struct{}{}
		looks.Go(func() {
			defer func() { <-free }()
			h.chance = p.chanceOf(ctx, h, root)
		})
	}
	looks.Wait()
	slices.SortStableFunc(holders, func(a, b *holder) int {
		if a.chance != b.chance {
			return int(a.chance - b.chance)
		}
		return strings.Compare(a.id.String(), b.id.String())
	})
}

// chanceOf says what the filter of a corpus says of a root. Whatever goes wrong,
// the chance is unknown: the filter only saves asking.
func (p *Peer) chanceOf(ctx context.Context, h *holder, root document.Root) chance {
	for _, src := range h.sources {
		v, err := p.keyOf(ctx, src, h.id)
		if err != nil {
			continue
		}
		head, _, err := src.filterNote(ctx, h.id, v)
		if err != nil {
			continue
		}
		f, err := p.filters.get(ctx, src, h.id, head.Sum)
		switch {
		case err != nil:
			continue
		case f.MayHold(root):
			return likely
		case head.Head.Size >= h.size:
			return denied
		}
	}
	return unknown
}

// keyOf returns the key of a corpus: the pinned one, or the one that its publisher
// has certified, as a source has it.
func (p *Peer) keyOf(ctx context.Context, src *source, id CorpusID) (*proof.Verifier, error) {
	pinned, err := p.pinned(ctx, id)
	if err != nil {
		return nil, err
	}
	if pinned != "" {
		return proof.ParseVerifier(pinned)
	}
	at := resource{kind: kindKey, corpus: id}
	statement, err := src.get(ctx, at, maxStatement)
	if err != nil {
		return nil, err
	}
	v, err := openStatement(statement, id)
	return v, src.fail(ctx, at, err)
}
