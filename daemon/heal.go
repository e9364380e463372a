package daemon

import (
	"context"
	"errors"
	"fmt"

	"arborist/document"
	"arborist/peer"
	"arborist/shard"
)

// A healer brings back documents that logs list and that are not stored, from
// peers that have them.
type healer struct {
	node *Node
	from []string // sources that the owner named
	dry  bool
	did  func(format string, args ...any)

	net     *peer.Peer
	missing map[document.Root]shard.Missing // until it is back
}

// One step of putting back takes at most this many documents, or this many
// bytes and one document more.
const (
	healDocuments = 256
	healBytes     = 8 << 20
)

// run heals what it can. A source that fails is said, and the next one is asked:
// only what is wrong at home is an error.
func (h *healer) run(ctx context.Context) error {
	infos, err := h.node.shared.Corpora().List(ctx)
	if err != nil {
		return err
	}
	h.missing = make(map[document.Root]shard.Missing)
	perCorpus := make(map[string][]peer.Listed)
	for _, info := range infos {
		missing, err := h.node.shared.Missing(ctx, info)
		if err != nil {
			return err
		}
		for _, m := range missing {
			h.missing[m.Header.Root] = m
			perCorpus[info.Origin] = append(perCorpus[info.Origin], peer.Listed{Header: m.Header, Index: m.Index})
		}
	}
	if len(h.missing) == 0 {
		return nil
	}
	sources, err := h.sources(ctx)
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		h.did("%d documents are missing and no peer is connected to ask: arborist peer join MULTIADDR while the daemon runs, or name a source with --from", len(h.missing))
		return nil
	}
	for _, from := range sources {
		for _, info := range infos {
			if err := h.ask(ctx, from, info.Origin, perCorpus[info.Origin]); err != nil {
				return err
			}
		}
	}
	if n := len(h.missing); n > 0 && !h.dry {
		h.did("%d documents are still missing: nobody who was asked has them", n)
	}
	return nil
}

// sources returns whom to ask: those that were named, or else all connected peers.
func (h *healer) sources(ctx context.Context) ([]string, error) {
	if len(h.from) > 0 {
		return h.from, nil
	}
	peers, err := h.node.ListPeers(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, p := range peers.Peers {
		ids = append(ids, p.PeerID)
	}
	return ids, nil
}

// ask asks one source for what is missing of one corpus.
func (h *healer) ask(ctx context.Context, from, origin string, listed []peer.Listed) error {
	var wanted []peer.Listed
	for _, l := range listed {
		if _, still := h.missing[l.Header.Root]; still {
			wanted = append(wanted, l)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	if h.dry {
		h.did("ask %s for %d documents of corpus %s", from, len(wanted), origin)
		return nil
	}
	if h.net == nil {
		net, err := h.node.network()
		if err != nil {
			return err
		}
		h.net = net
	}
	var batch []*document.Document
	var size uint64
	var broken error // here, and not at the source
	flush := func() error {
		broken = h.putBack(ctx, from, batch)
		batch, size = nil, 0
		return broken
	}
	err := h.net.Documents(ctx, from, origin, wanted, func(d *document.Document) error {
		batch, size = append(batch, d), size+d.Header().Bytes
		if len(batch) < healDocuments && size < healBytes {
			return nil
		}
		return flush()
	})
	if broken == nil && len(batch) > 0 {
		err = errors.Join(err, flush()) // what came before a fault was verified
	}
	switch {
	case broken != nil:
		return broken
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, peer.ErrNoCorpus):
		h.did("%s does not serve corpus %s", from, origin)
	case err != nil:
		h.did("%s could not be asked further: %v", from, err)
	}
	return nil
}

func (h *healer) putBack(ctx context.Context, from string, docs []*document.Document) error {
	returns, err := h.node.shared.PutBack(ctx, docs)
	if err != nil {
		return err
	}
	for _, r := range returns {
		m := h.missing[r.Root]
		delete(h.missing, r.Root)
		state := "as an older version"
		if r.Current > 0 {
			state = "current"
		}
		h.did("document %s at %s of corpus %s is back from %s, verified, %s", r.Root, m.URI, m.Origin, from, state)
		if r.Lost > 0 {
			h.did("document %s: %d of its places in the log could not be given back", r.Root, r.Lost)
		}
	}
	return nil
}

// heal is what a check runs between mending files and comparing logs.
func (n *Node) heal(from []string, dry bool, did *[]string) func(context.Context) error {
	return func(ctx context.Context) error {
		h := &healer{node: n, from: from, dry: dry, did: func(format string, args ...any) {
			line := "heal: " + fmt.Sprintf(format, args...)
			if dry {
				line = "would do: " + line
			}
			*did = append(*did, line)
		}}
		return h.run(ctx)
	}
}
