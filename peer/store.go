package peer

import (
	"cmp"
	"context"
	"errors"
	"time"

	"arborist/document"
	"arborist/proof"
	"arborist/shard"
)

// One step of storing takes at most this many documents, or this many bytes
// and one document more.
const (
	batchDocuments = 4096
	batchBytes     = 32 << 20
)

// A step that has this much, or is this old, ends where the next document has
// not come yet: what a slow source brings is durable soon, what a fast one
// brings is stored in large steps, which cost less.
const (
	waitDocuments = 256
	waitBytes     = 4 << 20
	waitTime      = time.Second
)

// keepTime bounds how long a sync that was called off stores what has come.
const keepTime = 5 * time.Second

// maxPending is how much text of one sync is stored before it goes into the search
// index: what is stored and not found yet stays small beside what is found.
const maxPending = 1 << 30

// reportEvery is how many documents come between two reports of progress, reportWait
// how long nothing is said while one is on its way.
const (
	reportEvery = 64
	reportWait  = time.Second
)

// A storer takes verified documents in the order of the log, puts them into
// the shards, and then gives the records to the log, which takes those of one
// step while the next one is stored.
type storer struct {
	*syncer
	ctx     context.Context
	fetcher *fetcher
	durable chan<- [][]byte // records of documents that are in the shards
	done    int             // records given to the log, this time and before

	entries []shard.Arrival
	lines   [][]byte
	bytes   int
	began   time.Time // when the first entry came

	stored, storedBytes int // by earlier steps
	pending             int // bytes stored and not indexed
}

// run stores everything that the fetcher brings. What came before a fault, or
// before the sync was called off, is kept: it was verified, and the next sync
// need not fetch it again.
func (st *storer) run() error {
	err := st.each()
	if st.ctx.Err() == nil {
		return errors.Join(err, st.flush())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(st.ctx), keepTime)
	defer cancel()
	return errors.Join(err, st.keep(ctx))
}

func (st *storer) each() error {
	for {
		b, more, err := receive(st, st.fetcher.order)
		if err != nil || !more {
			return cmp.Or(err, context.Cause(st.ctx))
		}
		if err := st.bundle(b); err != nil {
			return err
		}
		st.fetcher.budget.advance()
	}
}

func (st *storer) bundle(b *bundle) error {
	for {
		it, more, err := receive(st, b.items)
		if err != nil {
			return err
		}
		if !more {
			return b.err
		}
		if _, _, err := receive(st, it.ready); err != nil {
			return err
		}
		if it.err != nil {
			return it.err
		}
		if it.held {
			st.fetcher.budget.release(b.index, int64(it.record.Header.Bytes))
		}
		if err := st.take(it); err != nil {
			return err
		}
	}
}

// receive takes the next value of a channel, and ends the step where it has to
// wait for that and the step is worth it or becomes old meanwhile.
func receive[T any](st *storer, c <-chan T) (v T, more bool, err error) {
	select {
	case v, more = <-c:
		return v, more, nil
	default:
	}
	var old <-chan time.Time
	if len(st.entries) >= waitDocuments || st.bytes >= waitBytes {
		err = st.flush()
	} else if len(st.entries) > 0 {
		timer := time.NewTimer(waitTime - time.Since(st.began))
		defer timer.Stop()
		old = timer.C
	}
	wait := time.NewTicker(reportWait)
	defer wait.Stop()
	for err == nil {
		select {
		case v, more = <-c:
			return v, more, nil
		case <-wait.C:
			st.report()
		case <-old:
			err = st.flush()
		case <-st.ctx.Done():
			err = context.Cause(st.ctx)
		}
	}
	return v, false, err
}

// report tells how many records have come, and how much of what is on its way.
func (st *storer) report() {
	st.progress(Progress{
		Stage: "fetch", Documents: st.done + len(st.lines), Total: int(st.tree.size - st.known.Size),
		Bytes: st.result.Bytes + st.fetcher.arriving.Load(),
	})
}

// take adds an item to the step, and ends the step where it is full.
func (st *storer) take(it *item) error {
	if it.record.Op == proof.OpWithdraw {
		return st.withdraw(it)
	}
	header := it.record.Header
	if it.fetched {
		st.result.Verified++
		st.result.Bytes += it.received
		st.fetcher.arriving.Add(-it.received)
	} else {
		st.result.Resumed++
	}
	// The bundle keeps its items to its end, but not their documents.
	doc, came := it.doc, it.came
	it.doc, it.came = nil, nil
	st.lines = append(st.lines, it.line)
	if len(st.entries) == 0 {
		st.began = time.Now()
	}
	location := document.Location{
		Corpus: st.corpus.String(), URI: it.record.URI, Title: it.record.Title,
		Source: it.record.Source, FetchedAt: it.record.FetchedAt,
	}
	st.entries = append(st.entries, shard.Arrival{Entry: document.Entry{Document: doc, Location: location}, Frames: came})
	st.bytes += int(header.Bytes)
	if len(st.entries)%reportEvery == 0 {
		st.report()
	}
	// Steps grow with what is stored: a kill never loses much more than that.
	documents := min(max(st.stored, waitDocuments), batchDocuments)
	if len(st.entries) >= documents || st.bytes >= min(max(st.storedBytes, waitBytes), batchBytes) {
		return st.flush()
	}
	return nil
}

// withdraw takes a document off its URI, after everything before it.
func (st *storer) withdraw(it *item) error {
	if err := st.flush(); err != nil {
		return err
	}
	if err := st.shared.Withdraw(st.ctx, st.corpus.String(), it.record.URI); err != nil {
		return err
	}
	st.lines = append(st.lines, it.line)
	return st.give()
}

// flush puts the documents of the step into the shards, durable, and then
// gives its records to the log.
func (st *storer) flush() error {
	if err := st.keep(st.ctx); err != nil {
		return err
	}
	if err := st.give(); err != nil || st.pending < maxPending {
		return err
	}
	st.pending = 0
	return st.index(st.ctx)
}

// keep puts the documents of the step into the shards, durable.
func (st *storer) keep(ctx context.Context) error {
	if len(st.entries) == 0 {
		return nil
	}
	outcomes, err := st.shared.Receive(ctx, st.entries)
	if err != nil {
		return err
	}
	for i, o := range outcomes {
		if o.New {
			st.result.Documents++
			st.result.Chunks += st.entries[i].Document.Chunks()
		}
	}
	st.stored, st.storedBytes = st.stored+len(st.entries), st.storedBytes+st.bytes
	st.pending += st.bytes
	clear(st.entries)
	st.entries, st.bytes = st.entries[:0], 0
	return nil
}

func (st *storer) give() error {
	if len(st.lines) == 0 {
		return nil
	}
	select {
	case st.durable <- st.lines:
	case <-st.ctx.Done():
		return context.Cause(st.ctx)
	}
	st.done += len(st.lines)
	st.lines = nil
	st.report()
	return nil
}
