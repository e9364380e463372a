package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// overhead is what a document in flight is taken to hold beside its bytes.
const overhead = 1 << 10

var errEnded = errors.New("ingest: run has ended")

// Run ingests everything that src finds into sink. progress may be nil; it is
// called after each batch that the sink acknowledged, and each second in which
// one document is waited for, never concurrently.
//
// The report is valid with every error. The error is the context's cause, the
// sink's error or the source's error; failures of single documents are in the
// report and are no error.
func Run(ctx context.Context, src Source, sink Sink, cfg Config, progress func(Progress)) (Report, error) {
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cfg = cfg.withDefaults()
	r := &run{
		ctx: ctx, cancel: cancel, cfg: cfg, sink: sink, progress: progress, begun: time.Now(),
		budget: newBudget(cfg.InFlight),
		queue:  make(chan *job, cfg.Queue),
		work:   make(chan *job, cfg.Queue),
	}
	srcErr := r.feed(src)
	switch {
	case outer.Err() != nil && isStop(r.sinkErr, outer):
		return r.result(), context.Cause(outer)
	case r.sinkErr != nil:
		return r.result(), fmt.Errorf("store documents: %w", r.sinkErr)
	case outer.Err() != nil:
		return r.result(), context.Cause(outer)
	case srcErr != nil:
		return r.result(), fmt.Errorf("read source: %w", srcErr)
	}
	return r.result(), nil
}

// isStop reports whether a sink's error says that it was stopped, not that it
// failed.
func isStop(err error, ctx context.Context) bool {
	return errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))
}

// A job is one document on its way: workers fill it in, the collector takes
// jobs in the order of the queue.
type job struct {
	raw  Raw
	held int64 // bytes of the budget
	done chan struct{}
	// set before done is closed
	result
}

type run struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	cfg      Config
	sink     Sink
	progress func(Progress)
	begun    time.Time
	budget   *budget

	queue chan *job // in order, for the collector
	work  chan *job // the same jobs, for any worker

	emitMu sync.Mutex
	ended  bool // under emitMu: queue and work are closed

	reportMu sync.Mutex
	report   Report // under reportMu

	sinkErr   error // the collector's; read after it has ended
	unindexed unindexed
}

// feed runs the source with workers and collector around it, and returns when
// all of them have ended. It cleans up even where the source panics.
func (r *run) feed(src Source) error {
	var workers, collector sync.WaitGroup
	for range r.cfg.Workers {
		workers.Go(r.extractAll)
	}
	collector.Go(r.collect)
	finished := false
	defer func() {
		if !finished {
			r.cancel(errEnded)
		}
		r.emitMu.Lock()
		r.ended = true
		close(r.queue)
		close(r.work)
		r.emitMu.Unlock()
		workers.Wait()
		collector.Wait()
	}()
	err := src.Documents(r.ctx, r.emit, r.fail)
	finished = true
	return err
}

// emit queues one document, waiting for room.
func (r *run) emit(raw Raw) error {
	r.emitMu.Lock()
	defer r.emitMu.Unlock()
	switch {
	case r.ended:
		return errEnded
	case r.ctx.Err() != nil:
		return context.Cause(r.ctx)
	}
	size := int64(len(raw.Body))
	if size > r.cfg.MaxRaw {
		r.fail(raw.Location.URI, tooLarge(size, r.cfg.MaxRaw))
		return nil
	}
	j := &job{raw: raw, held: size + overhead, done: make(chan struct{})}
	if err := r.budget.acquire(r.ctx, j.held); err != nil {
		return err
	}
	for _, c := range []chan *job{r.queue, r.work} {
		select {
		case c <- j:
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
	}
	return nil
}

// fail records a document that could not be ingested.
func (r *run) fail(uri string, err error) {
	r.reportMu.Lock()
	defer r.reportMu.Unlock()
	if len(r.report.Failed) >= r.cfg.MaxFailures {
		r.report.Unlisted++
		return
	}
	r.report.Failed = append(r.report.Failed, Failure{URI: uri, Err: err})
}

func (r *run) result() Report {
	r.reportMu.Lock()
	defer r.reportMu.Unlock()
	return r.report
}
