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
