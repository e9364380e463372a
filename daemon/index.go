package daemon

import (
	"context"
	"errors"
	"sync"

	"arborist/shard"
)

// An indexer brings into the search index, beside everything else, what was
// stored and not indexed: by what was cut, or by a process that died.
type indexer struct {
	wake chan struct{} // holds at most one wish
	end  context.CancelFunc
	done sync.WaitGroup
}

// startIndexing starts the indexer with what is there already.
func (n *Node) startIndexing() {
	ctx, cancel := context.WithCancel(context.Background())
	n.indexer = &indexer{wake: make(chan struct{}, 1), end: cancel}
	n.indexer.done.Go(func() {
		for {
			select {
			case <-n.indexer.wake:
			case <-ctx.Done():
				return
			}
			if err := n.indexStored(ctx); err != nil && ctx.Err() == nil {
				n.log.Error("stored documents are not found yet", "err", err)
			}
		}
	})
	n.wakeIndexer()
}

func (n *Node) indexStored(ctx context.Context) error {
	err := n.shared.Index(ctx, nil)
	if file := n.private.File(); file.Broken() == nil {
		err = errors.Join(err, file.Index(ctx))
	}
	return err
}

// CatchUp returns once everything that is stored is in the search index. A node
// that lives for one query calls it first: what its indexer has begun beside a
// query ends with the node and is lost. Begin is told how many documents wait,
// where there are any.
func (n *Node) CatchUp(ctx context.Context, begin func(pending int)) error {
	pending, err := n.pending(ctx)
	if err != nil || pending == 0 {
		return explain(err)
	}
	begin(pending)
	return explain(n.indexStored(ctx))
}

// pending counts the stored documents that searches do not find yet.
func (n *Node) pending(ctx context.Context) (int, error) {
	shared, err := n.shared.Pending(ctx)
	if err != nil {
		return 0, err
	}
	private, err := n.private.File().Pending(ctx)
	if errors.Is(err, shard.ErrCorrupt) { // damage says it
		err = nil
	}
	return shared + private, err
}

// wakeIndexer has it look again. It never blocks, and after stopIndexing it does
// nothing: a call that was cut off may end after its node.
func (n *Node) wakeIndexer() {
	select {
	case n.indexer.wake <- struct{}{}:
	default:
	}
}

// stopIndexing returns when nothing is indexed any more; what is left waits for the next start.
func (n *Node) stopIndexing() {
	if n.indexer != nil {
		n.indexer.end()
		n.indexer.done.Wait()
	}
}
