package pdf

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// lookEvery is how often a process is looked after.
const lookEvery = 100 * time.Millisecond

// A watch ends a process that takes too much, or whose work nobody wants any more.
type watch struct {
	process *process
	pages   atomic.Int64 // signs of life
	quit    chan struct{}
	over    chan error // what the process was ended for, or nil
}

// watch looks after the process until stop is called.
func (p *process) watch(ctx context.Context, limits Limits) *watch {
	w := &watch{process: p, quit: make(chan struct{}), over: make(chan error, 1)}
	go func() { w.over <- w.look(ctx, limits) }()
	return w
}

// heard notes a sign of life.
func (w *watch) heard() { w.pages.Add(1) }

// stop ends the watch. It returns why the process was ended, else err, the
// error of what was done meanwhile, with how the process ended.
func (w *watch) stop(err error) error {
	close(w.quit)
	if over := <-w.over; over != nil {
		return over
	}
	if err == nil || errors.Is(err, errFrame) {
		return err
	}
	return w.process.dying(err)
}

func (w *watch) look(ctx context.Context, limits Limits) error {
	cpu, _ := cpuTime(w.process.cmd.Process.Pid)
	m := newMeter(limits, time.Now(), cpu)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.quit:
			return nil
		case <-ctx.Done():
			w.process.cmd.Process.Kill()
			return context.Cause(ctx)
		case now := <-tick.C:
			cpu, known := cpuTime(w.process.cmd.Process.Pid)
			if err := m.over(now, cpu, known, w.pages.Load()); err != nil {
				w.process.cmd.Process.Kill()
				return err
			}
		}
	}
}

// A meter compares what a process has taken with what it may take.
type meter struct {
	limits      Limits
	begun, page time.Duration // processor time at the start, and at the last sign of life
	heard       time.Time     // when the last sign of life came
	pages       int64
}

func newMeter(limits Limits, now time.Time, cpu time.Duration) *meter {
	return &meter{limits: limits, begun: cpu, page: cpu, heard: now}
}

// over returns [ErrLimit] where a limit is exceeded. Where the system does not
// know the processor time of another process, the wall clock alone counts.
func (m *meter) over(now time.Time, cpu time.Duration, known bool, pages int64) error {
	if pages > m.pages {
		m.pages, m.page, m.heard = pages, cpu, now
	}
	switch {
	case known && cpu-m.page > m.limits.Page:
		return fmt.Errorf("%w: one page takes over %s of processor time", ErrLimit, m.limits.Page)
	case known && cpu-m.begun > m.limits.Total:
		return fmt.Errorf("%w: it takes over %s of processor time", ErrLimit, m.limits.Total)
	case now.Sub(m.heard) > m.limits.Silence:
		return fmt.Errorf("%w: nothing was heard of the worker for %s", ErrLimit, m.limits.Silence)
	}
	return nil
}
