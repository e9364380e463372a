package ingest

import (
	"fmt"
	"time"

	"arborist/document"
)

// A batch is what waits to be stored.
type batch struct {
	entries []document.Entry
	bytes   int64 // of text
	held    int64 // of the budget
	timer   *time.Timer
}

// collect takes finished jobs in order, and stores and indexes them. It ends
// when the queue is closed and empty, or when the run is cancelled.
func (r *run) collect() {
	b := &batch{timer: stopped()}
	r.unindexed.timer = stopped()
	defer b.timer.Stop()
	defer r.unindexed.timer.Stop()
	for {
		j, open := r.next(b)
		if !open {
			break
		}
		if !r.await(b, j) {
			return
		}
		r.add(b, j)
	}
	r.store(b)
	r.index()
}

func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// next takes a job from the queue; meanwhile a waiting batch is stored, and what
// is stored indexed, when its time has come. It returns false at the end.
func (r *run) next(b *batch) (*job, bool) {
	for {
		select {
		case j, open := <-r.queue:
			return j, open
		case <-b.timer.C:
			r.store(b)
		case <-r.unindexed.timer.C:
			r.index()
		case <-r.budget.starved:
			r.feedBudget(b)
		case <-r.ctx.Done():
			return nil, false
		}
	}
}

// slow is after how long a document that is being read is told, and told again.
const slow = time.Second

// await waits until a job is done, or returns false when the run is over.
func (r *run) await(b *batch, j *job) bool {
	select {
	case <-j.done:
		return r.ctx.Err() == nil
	default:
	}
	telling := time.NewTicker(slow)
	defer telling.Stop()
	for {
		select {
		case <-j.done:
			return r.ctx.Err() == nil
		case <-telling.C:
			r.tell(j.raw.Location.URI, true)
		case <-b.timer.C:
			r.store(b)
		case <-r.unindexed.timer.C:
			r.index()
		case <-r.budget.starved:
			r.feedBudget(b)
		case <-r.ctx.Done():
			return false
		}
	}
}

func (r *run) add(b *batch, j *job) {
	if j.err != nil {
		r.budget.resize(-j.held)
		r.fail(j.raw.Location.URI, j.err)
		return
	}
	if len(b.entries) == 0 {
		b.timer.Reset(r.cfg.BatchWait)
	}
	b.entries = append(b.entries, j.entry)
	b.bytes += int64(len(j.entry.Document.Text()))
	b.held += j.held
	if len(b.entries) >= r.cfg.Batch || b.bytes >= r.cfg.BatchBytes {
		r.store(b)
		return
	}
	r.feedBudget(b)
}

// feedBudget stores the batch early where the source waits for its bytes.
func (r *run) feedBudget(b *batch) {
	if r.budget.starves(b.held) {
		r.store(b)
	}
}

// store hands the batch to the sink and counts what it acknowledged. A sink
// error ends the run.
func (r *run) store(b *batch) {
	b.timer.Stop()
	if len(b.entries) == 0 || r.ctx.Err() != nil {
		return
	}
	outcomes, err := r.sink.Store(r.ctx, b.entries)
	if err == nil && len(outcomes) != len(b.entries) {
		err = fmt.Errorf("%w: %d for %d documents", ErrSink, len(outcomes), len(b.entries))
	}
	if err != nil {
		r.sinkFailed(err)
		return
	}
	r.acknowledge(b, outcomes)
	r.budget.resize(-b.held)
	stored := b.bytes
	clear(b.entries)
	*b = batch{entries: b.entries[:0], timer: b.timer}
	r.stored(stored)
}

func (r *run) sinkFailed(err error) {
	r.sinkErr = err
	r.cancel(err)
}

func (r *run) acknowledge(b *batch, outcomes []document.Outcome) {
	r.reportMu.Lock()
	for i, o := range outcomes {
		r.report.count(b.entries[i], o)
	}
	r.reportMu.Unlock()
	r.tell(b.entries[len(b.entries)-1].Location.URI, false)
}

// tell says how far the run has come.
func (r *run) tell(uri string, reading bool) {
	if r.progress == nil {
		return
	}
	r.reportMu.Lock()
	p := r.report.progress()
	r.reportMu.Unlock()
	p.URI, p.Reading = uri, reading
	r.progress(p)
}

func (r *Report) count(e document.Entry, o document.Outcome) {
	r.Documents++
	r.Chunks += e.Document.Chunks()
	r.Bytes += int64(len(e.Document.Text()))
	if o.New {
		r.New++
	}
	if o.Unchanged {
		r.Unchanged++
	}
	switch {
	case o.Older:
		r.Older++
	case o.Superseded != (document.Root{}):
		r.Superseded++
	case !o.New && !o.Unchanged:
		r.Known++
	}
}

func (r *Report) progress() Progress {
	return Progress{
		Documents: r.Documents, Chunks: r.Chunks, New: r.New, Unchanged: r.Unchanged,
		Superseded: r.Superseded, Bytes: r.Bytes, Failed: len(r.Failed) + r.Unlisted,
	}
}
