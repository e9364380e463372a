package daemon

import (
	"context"
	"errors"

	"arborist/document"
	"arborist/ingest"
	"arborist/shard"
)

// A wallWatch counts the documents that go into a corpus while the private
// store holds them too, so that their owner can be told. Nothing else changes:
// what is shared never depends on what is private.
type wallWatch struct {
	ingest.Sink
	private *shard.File
	count   *int
}

// Store implements [ingest.Sink].
func (w *wallWatch) Store(ctx context.Context, entries []document.Entry) ([]document.Outcome, error) {
	outcomes, err := w.Sink.Store(ctx, entries)
	if err != nil {
		return outcomes, err
	}
	roots := make([]document.Root, len(entries))
	for i, e := range entries {
		roots[i] = e.Document.Root()
	}
	has, err := w.private.Has(ctx, roots)
	if err != nil && !errors.Is(err, shard.ErrCorrupt) { // status says what is wrong with it
		return outcomes, err
	}
	for i, also := range has {
		if also && !outcomes[i].Unchanged && !outcomes[i].Older {
			*w.count++
		}
	}
	return outcomes, nil
}
