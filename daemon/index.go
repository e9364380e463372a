package daemon

import (
	"context"
	"sync"
)

// An indexer brings into the search index, beside everything else, what was
// stored and not indexed: by a sync that was cut, or by a process that died.
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
			if err := n.shared.Index(ctx, nil); err != nil && ctx.Err() == nil {
				n.log.Error("stored documents are not found yet", "err", err)
			}
		}
	})
	n.wakeIndexer()
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
