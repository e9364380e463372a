package peer

import (
	"context"
	"errors"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"

	"arborist/document"
	"arborist/proof"
	"arborist/shard"
	"arborist/shard/corpus"
)

const (
	maxAnswers = 20      // hits in an answer
	maxAnswer  = 1 << 20 // bytes of an answer
	// searchTime bounds one search, its wait for a free place included.
	searchTime = 4 * time.Second
)

// A searchDesk lets few searches run at a time, so that the queries of others
// never take all of the machine.
type searchDesk struct{ places *semaphore.Weighted }

func newSearchDesk(cfg ServeConfig) *searchDesk {
	if !cfg.Search {
		return nil
	}
	return &searchDesk{semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)/2)))}
}

// serveSearch answers a query with a bundle of the best passages that corpora
// list, or with nothing where there is none. It looks at shared shards alone,
// and ranks with their statistics alone.
func (h *handler) serveSearch(ctx context.Context, out *reply, res resource, g *guest) error {
	if h.desk == nil {
		return errNothing
	}
	g.searched()
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	if h.desk.places.Acquire(ctx, 1) != nil {
		return errBusy
	}
	defer h.desk.places.Release(1)
	found, err := h.shared.Search(ctx, shard.Query{Text: res.query, Limit: res.limit})
	var refused *shard.QueryError
	switch {
	case errors.As(err, &refused), errors.Is(err, shard.ErrNoWords):
		return errNothing // the asker could have known
	case err != nil:
		return err
	}
	proofs, err := h.listedHits(ctx, found.Hits)
	if err != nil {
		return err
	}
	var text []byte
	for len(proofs) > 0 {
		b, err := proof.NewBundle(proofs)
		if err != nil {
			return err
		}
		if text, err = b.MarshalText(); err != nil {
			return err
		}
		if len(text) <= maxAnswer {
			break
		}
		proofs, text = proofs[:len(proofs)/2], nil
	}
	return out.whole(typeText, text, false)
}

// listedHits returns the proofs of those hits that a corpus lists whose
// statement is here: all others could not be asked for by their root either.
func (h *handler) listedHits(ctx context.Context, hits []shard.Hit) ([]*proof.Proof, error) {
	roots := make(map[string][]document.Root)
	for _, hit := range hits {
		roots[hit.Location.Corpus] = append(roots[hit.Location.Corpus], hit.Root)
	}
	type key struct {
		origin string
		root   document.Root
	}
	parts := make(map[key]*proof.LogPart)
	for origin, listed := range roots {
		_, err := certified(ctx, h.shared.Corpora(), h.id, origin)
		if errors.Is(err, corpus.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found, err := h.shared.Corpora().ProveMany(ctx, origin, listed)
		if errors.Is(err, corpus.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for i, root := range listed {
			if err := found[i].Err; err != nil {
				h.log.Error("a listed document cannot be proven: run check", "root", root, "error", err)
			}
			parts[key{origin, root}] = found[i].Part
		}
	}
	var proofs []*proof.Proof
	for _, hit := range hits {
		part := parts[key{hit.Location.Corpus, hit.Root}]
		if part == nil {
			continue
		}
		p := hit.Passage
		proofs = append(proofs, &proof.Proof{Chunk: proof.Inclusion{Index: p.Index, Path: p.Path}, Header: p.Header, Log: part, Text: p.Text})
	}
	return proofs, nil
}
