package ingest

import "time"

// An unindexed is what was stored and is not indexed. Only the collector has it.
type unindexed struct {
	bytes int64 // of text
	some  bool  // there may be documents
	timer *time.Timer
}

// stored notes that so much text was stored, and has it indexed when it is time to.
func (r *run) stored(bytes int64) {
	u := &r.unindexed
	if !u.some {
		u.some = true
		u.timer.Reset(r.cfg.IndexWait)
	}
	if u.bytes += bytes; u.bytes >= r.cfg.IndexBytes {
		r.index()
	}
}

// index has the sink index what was stored. A sink error ends the run.
func (r *run) index() {
	u := &r.unindexed
	if !u.some || r.ctx.Err() != nil {
		return
	}
	u.timer.Stop()
	u.bytes, u.some = 0, false
	if err := r.sink.Index(r.ctx); err != nil {
		r.sinkFailed(err)
	}
}
