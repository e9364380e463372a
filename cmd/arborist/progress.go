package main

import (
	"fmt"
	"time"

	"arborist/daemon/api"
)

// progress returns a function that shows how far a long call has come, on a
// terminal and once it has taken a second. done clears the line.
func (a *app) progress() (fn api.ProgressFunc, done func()) {
	if !a.terminal || a.quiet {
		return nil, func() {}
	}
	const every = 100 * time.Millisecond
	next := time.Now().Add(time.Second)
	shown := false
	var m meter
	fn = func(p api.Progress) {
		m.see(p, time.Now())
		if time.Now().Before(next) {
			return
		}
		next, shown = time.Now().Add(every), true
		fmt.Fprintf(a.err, "\r\x1b[K%s %d", p.Stage, p.Done)
		if p.Total > 0 {
			fmt.Fprintf(a.err, " of %d", p.Total)
		}
		if p.Bytes > 0 {
			fmt.Fprintf(a.err, ", %s", byteSize(p.Bytes))
		}
		fmt.Fprint(a.err, m.String())
		if p.Item != "" {
			fmt.Fprintf(a.err, "  %.60s", clean(p.Item))
		}
	}
	return fn, func() {
		if shown {
			fmt.Fprint(a.err, "\r\x1b[K")
		}
	}
}

// spaceThenProgress is progress for what writes files anew: the first report of
// such a call is how many bytes that takes, and is said to everybody.
func (a *app) spaceThenProgress() (fn api.ProgressFunc, done func()) {
	show, done := a.progress()
	first := true
	return func(p api.Progress) {
		if first && !a.quiet && !a.json {
			fmt.Fprintf(a.err, "this takes up to %s of free space for a while\n", byteSize(p.Bytes))
		}
		first = false
		if show != nil {
			show(p)
		}
	}, done
}
