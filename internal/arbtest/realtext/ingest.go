package realtext

import (
	"context"
	"fmt"
	"time"

	"arborist/document"
)

// batchBytes is how much text is stored in one call, as by a sync.
const batchBytes = 8 << 20

// An Ingest is what it took to ingest texts.
type Ingest struct {
	Took, CPU time.Duration
	Passages  int
}

// Documents makes documents of texts, those without text left out.
func Documents(texts [][]byte) (docs []*document.Document) {
	for _, text := range texts {
		if d, err := document.New(text); err == nil {
			docs = append(docs, d)
		}
	}
	return docs
}

// A Set is what texts go into: a shard.Shared.
type Set interface {
	Store(context.Context, []document.Entry) ([]document.Outcome, error)
	Index(ctx context.Context, report func(left int)) error
}

// Into normalises, cuts, hashes, stores and indexes texts. Documents are made
// while others are stored, and forgotten, as wherever the program ingests: where
// all are kept, page faults of a heap that grows are a sixth of the time.
func Into(ctx context.Context, s Set, texts [][]byte) (in Ingest, err error) {
	start, startCPU := time.Now(), CPU()
	batches := make(chan []document.Entry, 1)
	go func() {
		defer close(batches)
		makeBatches(texts, batches)
	}()
	for batch := range batches {
		if err == nil {
			_, err = s.Store(ctx, batch)
		}
		for _, e := range batch {
			in.Passages += e.Document.Chunks()
		}
	}
	if err == nil {
		err = s.Index(ctx, nil)
	}
	in.Took, in.CPU = time.Since(start), CPU()-startCPU
	return in, err
}

func makeBatches(texts [][]byte, to chan<- []document.Entry) {
	var batch []document.Entry
	pending := 0
	for i, text := range texts {
		d, err := document.New(text)
		if err != nil {
			continue // without text
		}
		batch = append(batch, document.Entry{Document: d, Location: document.Location{
			URI: fmt.Sprintf("test:%d", i), Source: "test", FetchedAt: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
		}})
		if pending += len(text); pending >= batchBytes {
			to <- batch
			batch, pending = nil, 0
		}
	}
	to <- batch
}
