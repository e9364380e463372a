package daemon

import (
	"context"

	"arborist/shard/corpus"
)

// makeFilters brings the filters of the own corpora up to their heads: at the end
// of a job that may have appended to one, because each reads a whole log. A corpus
// is good without its filter, so what goes wrong is only logged; the next job, or
// the next start of the daemon, does it again.
func (n *Node) makeFilters(ctx context.Context) {
	if n.writable() != nil {
		return
	}
	infos, err := n.shared.Corpora().List(ctx)
	if err != nil {
		n.log.Info("the filters of corpora are not brought up to date", "error", err)
	}
	for _, info := range infos {
		if err := n.makeFilter(ctx, info); err != nil && ctx.Err() == nil {
			n.log.Info("the filter of a corpus is not brought up to date", "corpus", info.Origin, "error", err)
		}
	}
}

func (n *Node) makeFilter(ctx context.Context, info corpus.Info) error {
	if !info.Own || info.Size == 0 {
		return nil
	}
	signer, _, err := corpusSigners(n.home, info)
	if err != nil {
		return err
	}
	return n.shared.Corpora().MakeFilter(ctx, info.Origin, signer)
}
